//! `fairway olm check`: bundles of a catalog that support a cluster version.

use std::fmt;

use fairway_api::Version;
use fairway_compat::olm::catalog::{Bundle, CatalogFile, Catalogs, Package, UnquotedVersion};
use fairway_compat::olm::install::{InstallDecision, decide_for};
use fairway_compat::olm::{MaximumVersion, MinorVersion};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::release::lint::LintSeverity;
use super::files;
use crate::args::olm::OlmCheckArgs;
use crate::errors::CannotTell;
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;
use crate::output::{self, TypedReport};
use crate::printer::Printer;

impl TypedReport for Report {
    const KIND: &'static str = "CatalogCheck";
}

pub(crate) fn run(args: &OlmCheckArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let files = files::read(&args.catalog)?;
    let report = Report::new(&args.catalog.display().to_string(), files, args)?;
    output::report(printer.stdout(), args.output.output, &report)?;
    Ok(report.status())
}

/// Bundles of a catalog that the OLM guard allows on a cluster version.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// Minor version of the cluster.
    #[schemars(with = "String")]
    cluster_version: MinorVersion,
    /// Packages of the catalog.
    packages: Vec<CheckedPackage>,
    /// Invalid or ambiguous maximum versions.
    findings: Vec<CatalogFinding>,
}

/// Package of a catalog.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Checked")]
struct CheckedPackage {
    /// Name of the package.
    name: String,
    /// Bundles, latest first.
    bundles: Vec<Row>,
}

/// Bundle of a package.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Row {
    /// Name of the bundle.
    name: String,
    /// Version of the bundle.
    version: Option<Version>,
    /// Maximum cluster version that the bundle declares.
    #[schemars(with = "Option<String>")]
    maximum: Option<MinorVersion>,
    /// Whether the OLM guard allows its installation.
    installable: bool,
    /// Channels whose head is this bundle.
    head_channels: Vec<String>,
}

/// Invalid or ambiguous maximum version of a bundle.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CatalogFinding {
    /// Name of the bundle.
    bundle: String,
    /// File, line and column, if known.
    location: Option<String>,
    /// Description of the problem.
    message: String,
    /// `error` if the catalog must not be published with this finding.
    severity: LintSeverity,
}

impl Report {
    fn new(catalog: &str, files: Vec<CatalogFile>, args: &OlmCheckArgs) -> anyhow::Result<Self> {
        let wanted = |name: &str| args.package.as_deref().is_none_or(|wanted| wanted == name);
        let unquoted: Vec<UnquotedVersion> =
            files.iter().flat_map(|file| file.unquoted.clone()).collect();
        let catalogs = Catalogs::from_files(catalog, files)?;
        let packages: Vec<&Package> =
            catalogs.packages().iter().filter(|package| wanted(&package.name)).collect();
        if packages.is_empty() {
            return Err(CannotTell::new(
                match &args.package {
                    Some(name) => format!("cannot find package {name} in {catalog}"),
                    None => format!("no packages in {catalog}"),
                },
                "specify the directory of a file-based catalog",
            )
            .into());
        }
        let has =
            |bundle: &str| packages.iter().any(|package| package.bundles.contains_key(bundle));
        let unquoted = unquoted.iter().filter(|it| has(&it.bundle)).map(CatalogFinding::unquoted);
        let invalid = packages.iter().flat_map(|package| &package.bundles);
        let invalid = invalid.filter_map(|(name, bundle)| CatalogFinding::invalid(name, bundle));
        let findings = unquoted.chain(invalid).collect();
        let packages = packages
            .iter()
            .map(|package| CheckedPackage::new(package, args.cluster_version))
            .collect();
        Ok(Self { cluster_version: args.cluster_version, packages, findings })
    }

    fn status(&self) -> ExitStatus {
        let mut bundles = self.packages.iter().flat_map(|package| &package.bundles);
        let is_refused = bundles.any(|it| !it.head_channels.is_empty() && !it.installable);
        if is_refused || self.findings.iter().any(|finding| finding.severity == LintSeverity::Error)
        {
            ExitStatus::Refused
        } else {
            ExitStatus::Success
        }
    }
}

impl CheckedPackage {
    fn new(package: &Package, cluster: MinorVersion) -> Self {
        let head_channels = |bundle: &str| -> Vec<String> {
            let channels = package.channels.keys();
            channels.filter(|it| package.head(it) == Some(bundle)).cloned().collect()
        };
        let bundles = package.bundles.iter().map(|(name, bundle)| {
            let declared = bundle.declared.as_ref().unwrap_or(&MaximumVersion::Missing);
            Row {
                name: name.clone(),
                version: bundle.version.clone(),
                maximum: declared.maximum(),
                installable: decide_for(declared, cluster) == InstallDecision::Allowed,
                head_channels: head_channels(name),
            }
        });
        let mut bundles: Vec<Row> = bundles.collect();
        bundles.sort_by(|one, other| other.version.cmp(&one.version));
        Self { name: package.name.clone(), bundles }
    }
}

impl CatalogFinding {
    fn unquoted(unquoted: &UnquotedVersion) -> Self {
        let UnquotedVersion { bundle, place, text, changes } = unquoted;
        let message = if *changes {
            format!(
                "the maximum version {text} is a number and loses trailing zeros: quote it as \
                 \"{text}\""
            )
        } else {
            format!("the maximum version {text} is a number: quote it as \"{text}\"")
        };
        let location = Some(place.to_string());
        let severity = if *changes { LintSeverity::Error } else { LintSeverity::Warning };
        Self { bundle: bundle.clone(), location, message, severity }
    }

    fn invalid(name: &str, bundle: &Bundle) -> Option<Self> {
        let Some(MaximumVersion::Invalid(why)) = &bundle.declared else { return None };
        let (bundle, message) = (name.to_owned(), why.to_string());
        Some(Self { bundle, location: None, message, severity: LintSeverity::Error })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cluster_version, packages, findings } = self;
        write!(f, "Platform {cluster_version}:")?;
        for CheckedPackage { name, bundles } in packages {
            write!(f, "\n\n{}", OneLine(name))?;
            for row in bundles {
                write!(f, "\n  {row}")?;
            }
        }
        if !findings.is_empty() {
            f.write_str("\n")?;
        }
        for CatalogFinding { bundle, location, message, severity } in findings {
            let severity = match severity {
                LintSeverity::Error => "error",
                LintSeverity::Warning => "warning",
            };
            let location = location.as_ref().map(|it| format!("{it}: ")).unwrap_or_default();
            write!(f, "\n{severity}: {location}{}: {}", OneLine(bundle), OneLine(message))?;
        }
        Ok(())
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, version: _, maximum, installable, head_channels } = self;
        write!(f, "{}: ", OneLine(name))?;
        f.write_str(if *installable { "installable" } else { "refused" })?;
        match maximum {
            Some(maximum) => write!(f, ", supports up to {maximum}")?,
            None => f.write_str(", declares no valid maximum version")?,
        }
        if !head_channels.is_empty() {
            write!(f, "; newest of {}", OneLine(&head_channels.join(", ")))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::args::report::{ReportArgs, ReportFormat};

    const CATALOG: &str = r#"---
schema: olm.channel
package: etcd
name: stable
entries: [{name: etcd.v1.0.0}, {name: etcd.v1.1.0}]
---
schema: olm.channel
package: etcd
name: old
entries: [{name: etcd.v1.0.0}]
---
schema: olm.bundle
package: etcd
name: etcd.v1.0.0
properties:
- {type: olm.package, value: {version: 1.0.0}}
- {type: olm.maxOpenShiftVersion, value: "4.8"}
---
schema: olm.bundle
package: etcd
name: etcd.v1.1.0
properties:
- {type: olm.package, value: {version: 1.1.0}}
- {type: olm.maxOpenShiftVersion, value: 4.10}
---
schema: olm.bundle
package: kafka
name: kafka.v1.0.0
properties:
- {type: olm.maxOpenShiftVersion, value: "4.x"}
---
schema: olm.bundle
package: vault
name: vault.v1.0.0
"#;

    fn check(cluster: &str, package: Option<&str>) -> anyhow::Result<Report> {
        let file = CatalogFile::read("catalog.yaml", CATALOG.as_bytes())?;
        let args = OlmCheckArgs {
            catalog: PathBuf::from("catalog"),
            cluster_version: MinorVersion::parse(cluster).unwrap(),
            package: package.map(str::to_owned),
            output: ReportArgs { output: ReportFormat::Text },
        };
        Report::new("catalog", vec![file], &args)
    }

    #[test]
    fn check_lists_every_bundle() {
        insta::assert_snapshot!(check("4.9", None).unwrap(), @r#"
        Platform 4.9:

        etcd
          etcd.v1.1.0: installable, supports up to 4.10; newest of stable
          etcd.v1.0.0: refused, supports up to 4.8; newest of old

        kafka
          kafka.v1.0.0: installable, declares no valid maximum version

        vault
          vault.v1.0.0: installable, declares no valid maximum version

        error: catalog.yaml:24:42: etcd.v1.1.0: the maximum version 4.10 is a number and loses trailing zeros: quote it as "4.10"
        error: kafka.v1.0.0: failed to parse "4.x" as semver: unexpected character 'x' while parsing minor version number
        "#);
    }

    #[test]
    fn findings_decide_the_exit_code() {
        let status = |cluster, package| check(cluster, Some(package)).unwrap().status();
        assert_eq!(
            status("4.9", "etcd"),
            ExitStatus::Refused,
            "a channel leads to what is refused"
        );
        assert_eq!(status("4.8", "etcd"), ExitStatus::Refused, "a number loses its zero");
        assert_eq!(status("4.9", "kafka"), ExitStatus::Refused, "a maximum version is none");
        assert_eq!(status("4.9", "vault"), ExitStatus::Success);
        let error = check("4.9", Some("redis")).err().unwrap();
        assert!(error.is::<CannotTell>());
        insta::assert_snapshot!(error, @"cannot find package redis in catalog");
    }
}
