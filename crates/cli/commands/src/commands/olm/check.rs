//! `fairway olm check`: which bundles of a catalog can be installed on a version of the platform.

use std::fmt;

use fairway_api::Version;
use fairway_compat::olm::catalog::{Bundle, Catalogs, File, Package, Unquoted};
use fairway_compat::olm::install::{Decision, decide_for};
use fairway_compat::olm::{Declaration, Stream};
use schemars::JsonSchema;
use serde::Serialize;

use super::files;
use crate::args::olm::OlmCheckArgs;
use crate::errors::CannotTell;
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;
use crate::output;
use crate::printer::Printer;
use crate::schema::{self, Shape};

/// What documents of it are called.
const KIND: &str = "CatalogCheck";

/// The shape of those documents.
pub(super) fn shape() -> Shape {
    schema::of::<Report>(KIND)
}

pub(crate) fn run(args: &OlmCheckArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let files = files::read(&args.catalog)?;
    let report = Report::new(&args.catalog.display().to_string(), files, args)?;
    output::report(printer.stdout(), args.output.output, KIND, &report)?;
    Ok(report.status())
}

/// What can be installed of a catalog.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Report {
    #[schemars(with = "String")]
    cluster_version: Stream,
    packages: Vec<Checked>,
    /// Maximum versions that are not written as they should be.
    problems: Vec<Problem>,
}

#[derive(Serialize, JsonSchema)]
struct Checked {
    name: String,
    bundles: Vec<Row>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: String,
    version: Option<Version>,
    #[schemars(with = "Option<String>")]
    maximum: Option<Stream>,
    installable: bool,
    /// The channels of which it is the newest bundle.
    newest_of: Vec<String>,
}

/// Something that is wrong with a maximum version.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Problem {
    bundle: String,
    /// The place in a file, where it is known.
    place: Option<String>,
    message: String,
    /// Whether the catalog must not be published with it.
    is_error: bool,
}

impl Report {
    fn new(catalog: &str, files: Vec<File>, args: &OlmCheckArgs) -> anyhow::Result<Self> {
        let wanted = |name: &str| args.package.as_deref().is_none_or(|wanted| wanted == name);
        let unquoted: Vec<Unquoted> = files.iter().flat_map(|file| file.unquoted.clone()).collect();
        let catalogs = Catalogs::of_files(catalog, files)?;
        let packages: Vec<&Package> =
            catalogs.packages().iter().filter(|package| wanted(&package.name)).collect();
        if packages.is_empty() {
            return Err(CannotTell {
                message: match &args.package {
                    Some(name) => format!("cannot find package {name} in {catalog}"),
                    None => format!("no packages in {catalog}"),
                },
                hint: "specify the directory of a file-based catalog".to_owned(),
            }
            .into());
        }
        let has =
            |bundle: &str| packages.iter().any(|package| package.bundles.contains_key(bundle));
        let unquoted = unquoted.iter().filter(|it| has(&it.bundle)).map(Problem::unquoted);
        let invalid = packages.iter().flat_map(|package| &package.bundles);
        let invalid = invalid.filter_map(|(name, bundle)| Problem::invalid(name, bundle));
        let problems = unquoted.chain(invalid).collect();
        let packages =
            packages.iter().map(|package| Checked::new(package, args.cluster_version)).collect();
        Ok(Self { cluster_version: args.cluster_version, packages, problems })
    }

    fn status(&self) -> ExitStatus {
        let mut bundles = self.packages.iter().flat_map(|package| &package.bundles);
        let is_refused = bundles.any(|it| !it.newest_of.is_empty() && !it.installable);
        if is_refused || self.problems.iter().any(|problem| problem.is_error) {
            ExitStatus::No
        } else {
            ExitStatus::Yes
        }
    }
}

impl Checked {
    fn new(package: &Package, cluster: Stream) -> Self {
        let newest_of = |bundle: &str| -> Vec<String> {
            let channels = package.channels.keys();
            channels.filter(|it| package.head(it) == Some(bundle)).cloned().collect()
        };
        let bundles = package.bundles.iter().map(|(name, bundle)| {
            let declared = bundle.declared.as_ref().unwrap_or(&Declaration::Missing);
            Row {
                name: name.clone(),
                version: bundle.version.clone(),
                maximum: declared.maximum(),
                installable: decide_for(declared, cluster) == Decision::Allowed,
                newest_of: newest_of(name),
            }
        });
        let mut bundles: Vec<Row> = bundles.collect();
        bundles.sort_by(|one, other| other.version.cmp(&one.version));
        Self { name: package.name.clone(), bundles }
    }
}

impl Problem {
    fn unquoted(unquoted: &Unquoted) -> Self {
        let Unquoted { bundle, place, text, changes } = unquoted;
        let message = if *changes {
            format!(
                "the maximum version {text} is a number and loses trailing zeros: quote it as \
                 \"{text}\""
            )
        } else {
            format!("the maximum version {text} is a number: quote it as \"{text}\"")
        };
        let place = Some(place.to_string());
        Self { bundle: bundle.clone(), place, message, is_error: *changes }
    }

    fn invalid(name: &str, bundle: &Bundle) -> Option<Self> {
        let Some(Declaration::Invalid(why)) = &bundle.declared else { return None };
        let (bundle, message) = (name.to_owned(), why.to_string());
        Some(Self { bundle, place: None, message, is_error: true })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cluster_version, packages, problems } = self;
        write!(f, "Platform {cluster_version}:")?;
        for Checked { name, bundles } in packages {
            write!(f, "\n\n{}", OneLine(name))?;
            for row in bundles {
                write!(f, "\n  {row}")?;
            }
        }
        if !problems.is_empty() {
            f.write_str("\n")?;
        }
        for Problem { bundle, place, message, is_error } in problems {
            let severity = if *is_error { "error" } else { "warning" };
            let place = place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
            write!(f, "\n{severity}: {place}{}: {}", OneLine(bundle), OneLine(message))?;
        }
        Ok(())
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, version: _, maximum, installable, newest_of } = self;
        write!(f, "{}: ", OneLine(name))?;
        f.write_str(if *installable { "installable" } else { "refused" })?;
        match maximum {
            Some(maximum) => write!(f, ", supports up to {maximum}")?,
            None => f.write_str(", declares no valid maximum version")?,
        }
        if !newest_of.is_empty() {
            write!(f, "; newest of {}", OneLine(&newest_of.join(", ")))?;
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
        let file = File::read("catalog.yaml", CATALOG.as_bytes())?;
        let args = OlmCheckArgs {
            catalog: PathBuf::from("catalog"),
            cluster_version: Stream::parse(cluster).unwrap(),
            package: package.map(str::to_owned),
            output: ReportArgs { output: ReportFormat::Text },
        };
        Report::new("catalog", vec![file], &args)
    }

    #[test]
    fn every_bundle_is_looked_at() {
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
    fn what_is_wrong_decides_how_it_ends() {
        let status = |cluster, package| check(cluster, Some(package)).unwrap().status();
        assert_eq!(status("4.9", "etcd"), ExitStatus::No, "a channel leads to what is refused");
        assert_eq!(status("4.8", "etcd"), ExitStatus::No, "a number loses its zero");
        assert_eq!(status("4.9", "kafka"), ExitStatus::No, "a maximum version is none");
        assert_eq!(status("4.9", "vault"), ExitStatus::Yes);
        let error = check("4.9", Some("redis")).err().unwrap();
        assert!(error.is::<CannotTell>());
        insta::assert_snapshot!(error, @"cannot find package redis in catalog");
    }
}
