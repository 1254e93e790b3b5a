//! The release that the arguments describe, its errors and its warnings.

use std::collections::BTreeSet;

use anyhow::Context;
use fairway_install::manifests::{
    TextFiles, monitoring_manifests, openshift_manifests, own_manifests,
};
use fairway_release::builder::{BuildError, BuildProblem, BuildWarning, Operator};
use fairway_release::inclusion::is_for_no_cluster;
use fairway_release::metadata::key;
use fairway_release::{
    BuiltRelease, ImageReferences, Manifest, Release, ReleaseBuilder, ReleaseMetadata, Verification,
};
use tokio::runtime::Runtime;

use super::component_versions;
use super::inputs::{self, unique};
use crate::args::release::{MetadataArgs, NewArgs};
use crate::commands::release::info::not_included_warning;
use crate::errors::{WithHint, WrongUsage};
use crate::printer::Printer;

/// The CRDs for the alerts of the operator.
const MONITORING: [&str; 2] =
    ["prometheusrules.monitoring.coreos.com", "servicemonitors.monitoring.coreos.com"];

/// The CRD of OpenShift's pod admission.
const OPENSHIFT: [&str; 1] = ["securitycontextconstraints.security.openshift.io"];

/// Builds the release.
pub(super) fn finished(
    args: &NewArgs,
    runtime: &Runtime,
    printer: &Printer,
) -> anyhow::Result<BuiltRelease> {
    let ImageReferences { images, versions, default_versions, .. } = inputs::images(args)?;
    let draft = ReleaseBuilder::new(metadata(args)?, images, args.metadata.created);
    let mut draft = draft.allow_unresolved(args.allow_unresolved);
    for (image, versions) in versions {
        draft.declare(&image, versions);
    }
    for (component, version) in &default_versions {
        draft.set_default_version(component, version);
    }
    for (component, version) in &unique(&args.component_version, "--component-version")? {
        draft.set_version(component, version);
    }
    add(&mut draft, own_manifests());
    let operators: Vec<Operator> = inputs::operators(args, printer)?;
    component_versions::complete(&operators, &mut draft, args, runtime, printer)?;
    for operator in &operators {
        draft.add_operator(operator);
    }
    let drafted = finish(draft.clone(), args, printer)?;
    let optional = [
        (args.monitoring || defines(&drafted.release, &MONITORING), monitoring_manifests()),
        (defines(&drafted.release, &OPENSHIFT), openshift_manifests()),
    ];
    let mut wanted = optional.into_iter().filter(|(is_wanted, _)| *is_wanted).peekable();
    let drafted = if wanted.peek().is_some() {
        wanted.for_each(|(_, files)| add(&mut draft, files));
        finish(draft, args, printer)?
    } else {
        drafted
    };
    let unusable = |_: &_| printer.warnings(&warnings(&drafted));
    let trust = Verification::from_manifests(&drafted.release.manifests).inspect_err(unusable);
    trust.with_context(|| refused(args, general_hint()))?;
    Ok(drafted)
}

fn finish(
    draft: ReleaseBuilder,
    args: &NewArgs,
    printer: &Printer,
) -> anyhow::Result<BuiltRelease> {
    draft.finish().map_err(|error| {
        let (warnings, oddities) = texts(&error.warnings);
        printer.warnings(&[warnings, oddities].concat());
        let hint = hint(&error);
        anyhow::Error::from(error).context(refused(args, hint))
    })
}

fn refused(args: &NewArgs, hint: String) -> WithHint {
    WithHint::new(format!("cannot create release {}", args.version), hint)
}

fn general_hint() -> String {
    "run `fairway release new --help` for the format of manifests and images".to_owned()
}

/// The options that resolve the errors.
fn hint(error: &BuildError) -> String {
    let mut images = BTreeSet::new();
    let mut components = BTreeSet::new();
    for problem in &error.problems {
        match problem {
            BuildProblem::NoImage { name, .. } => {
                images.insert(name.as_str());
            }
            BuildProblem::NoVersion { component, .. } => {
                components.insert(component.clone());
            }
            _ => {}
        }
    }
    let mut hints = Vec::new();
    if !images.is_empty() {
        let options: Vec<String> =
            images.iter().map(|name| format!("--image {name}=IMAGE")).collect();
        hints.push(format!("add images with {}", options.join(" ")));
    }
    if !components.is_empty() {
        hints.push(component_versions::options(&components));
    }
    if error.problems.iter().all(BuildProblem::is_unresolved) {
        hints.push("create the release anyway with --allow-unresolved".to_owned());
    }
    if hints.is_empty() { general_hint() } else { hints.join("; ") }
}

/// Warnings about properties that are probably mistakes.
pub(super) fn warnings(drafted: &BuiltRelease) -> Vec<String> {
    let BuiltRelease { release, warnings, .. } = drafted;
    let (mut warnings, oddities) = texts(warnings);
    let useless = release.manifests.iter().filter(|manifest| is_for_no_cluster(manifest));
    warnings.extend(useless.map(not_included_warning));
    if Verification::from_manifests(&release.manifests).is_ok_and(|trust| trust.is_none()) {
        warnings.push(
            "no ConfigMap configures signature verification: without --force, clusters with this \
             release refuse all other releases"
                .to_owned(),
        );
    }
    if !release.manifests.iter().any(|manifest| manifest.id.kind == "PrometheusRule") {
        warnings.push(
            "the release has no alerts, because no manifest contains the CRDs PrometheusRule and \
             ServiceMonitor; to add alerts anyway, use --monitoring"
                .to_owned(),
        );
    }
    warnings.extend(oddities);
    warnings
}

/// Texts of warnings: those about the release, and those about the text of files. The printer shows
/// the first few, so the latter come last.
fn texts(warnings: &[BuildWarning]) -> (Vec<String>, Vec<String>) {
    let (oddities, others): (Vec<_>, Vec<_>) =
        warnings.iter().partition(|warning| matches!(warning, BuildWarning::Payload(_)));
    let texts = |warnings: Vec<&BuildWarning>| warnings.iter().map(ToString::to_string).collect();
    (texts(others), texts(oddities))
}

fn add(draft: &mut ReleaseBuilder, files: TextFiles) {
    for (path, text) in files {
        draft.add(&path, &path, text.into_bytes());
    }
}

fn metadata(args: &NewArgs) -> Result<ReleaseMetadata, WrongUsage> {
    let MetadataArgs { previous, next, channels, url, metadata, created: _ } = &args.metadata;
    let channels = (!channels.is_empty()).then(|| (key::CHANNELS.to_owned(), channels.join(",")));
    let url = url.iter().map(|url| (key::URL.to_owned(), url.clone()));
    let said: Vec<(String, String)> = metadata.iter().cloned().chain(channels).chain(url).collect();
    Ok(ReleaseMetadata {
        previous: previous.clone(),
        next: next.clone(),
        metadata: unique(&said, "--metadata")?,
        ..ReleaseMetadata::new(args.version.clone())
    })
}

/// Whether a release has all of these CRDs.
fn defines(release: &Release, kinds: &[&str]) -> bool {
    let is_definition = |manifest: &&Manifest| manifest.id.kind == "CustomResourceDefinition";
    let definitions = || release.manifests.iter().filter(is_definition);
    kinds.iter().all(|name| definitions().any(|manifest| manifest.id.name == *name))
}

#[cfg(test)]
mod tests {
    use fairway_api::read::InputLocation;

    use super::*;

    #[test]
    fn hint_names_the_options_that_resolve_errors() {
        let place = || InputLocation { source: "a.yaml".to_owned(), position: None };
        let image = |name: &str| BuildProblem::NoImage {
            place: place(),
            word: "example/a".to_owned(),
            name: name.to_owned(),
        };
        let version =
            BuildProblem::NoVersion { place: place(), component: "kubernetes".to_owned() };
        let other = BuildProblem::Payload("a.yaml: invalid".to_owned());
        let hints = [
            vec![other.clone()],
            vec![version.clone()],
            vec![image("b"), version, image("a"), image("b"), other],
        ]
        .map(|problems| hint(&BuildError { problems, warnings: Vec::new() }));
        insta::assert_snapshot!(hints.join("\n"), @"
        run `fairway release new --help` for the format of manifests and images
        set versions with --component-version kubernetes=VERSION; create the release anyway with --allow-unresolved
        add images with --image a=IMAGE --image b=IMAGE; set versions with --component-version kubernetes=VERSION
        ");
    }
}
