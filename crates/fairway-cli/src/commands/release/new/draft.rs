//! What the release is made of, and what is wrong with it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use fairway_operator::manifests::{
    TextFiles, monitoring_manifests, openshift_manifests, own_manifests,
};
use fairway_release::draft::PLACEHOLDERS;
use fairway_release::inclusion::is_for_no_cluster;
use fairway_release::metadata::key;
use fairway_release::payload::{Files, is_manifest_name};
use fairway_release::{Draft, Manifest, Release, ReleaseMetadata, Verification};

use crate::args::release::{MetadataArgs, NewArgs};
use crate::commands::release::directory;
use crate::commands::release::info::for_no_cluster;
use crate::errors::{WithHint, WrongUsage};

/// The kinds that the operator's monitoring needs.
const MONITORING: [&str; 2] =
    ["prometheusrules.monitoring.coreos.com", "servicemonitors.monitoring.coreos.com"];

/// The kind without which OpenShift lets no Pod in.
const OPENSHIFT: [&str; 1] = ["securitycontextconstraints.security.openshift.io"];

/// The files of the release, and what they mean.
pub(super) fn finished(args: &NewArgs) -> anyhow::Result<(Files, Release)> {
    let mut draft = Draft::new(metadata(args)?, images(&args.image)?, args.metadata.created);
    add(&mut draft, own_manifests());
    for directory in &args.manifests {
        add_operator(&mut draft, directory)?;
    }
    let refused = || WithHint {
        message: format!("cannot make release {}", args.version),
        hint: "`fairway release new --help` says what manifests and images it takes".to_owned(),
    };
    let (mut files, mut release) = draft.clone().finish().with_context(refused)?;
    let optional = [
        (args.monitoring || defines(&release, &MONITORING), monitoring_manifests()),
        (defines(&release, &OPENSHIFT), openshift_manifests()),
    ];
    let mut wanted = optional.into_iter().filter(|(is_wanted, _)| *is_wanted).peekable();
    if wanted.peek().is_some() {
        wanted.for_each(|(_, files)| add(&mut draft, files));
        (files, release) = draft.finish().with_context(refused)?;
    }
    Verification::of(&release.manifests).with_context(refused)?;
    Ok((files, release))
}

/// What is no mistake for sure, and probably not meant.
pub(super) fn doubts(release: &Release) -> Vec<String> {
    let useless = release.manifests.iter().filter(|manifest| is_for_no_cluster(manifest));
    let mut doubts: Vec<String> = useless.map(for_no_cluster).collect();
    if Verification::of(&release.manifests).is_ok_and(|trust| trust.is_none()) {
        doubts.push(
            "no ConfigMap says whose signatures count: without --force, clusters with this release \
             refuse every other"
                .to_owned(),
        );
    }
    if !release.manifests.iter().any(|manifest| manifest.id.kind == "PrometheusRule") {
        doubts.push(
            "there are no alerts, because no manifest defines PrometheusRule and ServiceMonitor; \
             --monitoring adds them"
                .to_owned(),
        );
    }
    doubts
}

fn add(draft: &mut Draft, files: TextFiles) {
    for (path, text) in files {
        draft.add(&path, &path, text.into_bytes());
    }
}

fn add_operator(draft: &mut Draft, directory: &Path) -> anyhow::Result<()> {
    let hint = || WithHint {
        message: format!("there are no manifests in {}", directory.display()),
        hint: "name a directory with files such as 0000_50_COMPONENT_01_deployment.yaml".to_owned(),
    };
    let is_wanted = |name: &str| name == PLACEHOLDERS || is_manifest_name(name);
    let files = directory::files(directory, is_wanted).with_context(hint)?;
    if !files.keys().any(|name| is_manifest_name(name)) {
        return Err(hint().into());
    }
    draft.add_operator(&directory.display().to_string(), &files);
    Ok(())
}

fn images(named: &[(String, String)]) -> Result<BTreeMap<String, String>, WrongUsage> {
    unique(named, |name| format!("--image: {name} is named twice"))
}

fn metadata(args: &NewArgs) -> Result<ReleaseMetadata, WrongUsage> {
    let MetadataArgs { previous, next, channels, url, metadata, created: _ } = &args.metadata;
    let channels = (!channels.is_empty()).then(|| (key::CHANNELS.to_owned(), channels.join(",")));
    let url = url.iter().map(|url| (key::URL.to_owned(), url.clone()));
    let said: Vec<(String, String)> = metadata.iter().cloned().chain(channels).chain(url).collect();
    Ok(ReleaseMetadata {
        previous: previous.clone(),
        next: next.clone(),
        metadata: unique(&said, |key| format!("--metadata: {key} is said twice"))?,
        ..ReleaseMetadata::new(args.version.clone())
    })
}

fn unique(
    pairs: &[(String, String)],
    twice: impl Fn(&str) -> String,
) -> Result<BTreeMap<String, String>, WrongUsage> {
    let mut found = BTreeMap::new();
    for (key, value) in pairs {
        if found.insert(key.clone(), value.clone()).is_some() {
            return Err(WrongUsage(twice(key)));
        }
    }
    Ok(found)
}

/// Whether a release brings all of these kinds.
fn defines(release: &Release, kinds: &[&str]) -> bool {
    let is_definition = |manifest: &&Manifest| manifest.id.kind == "CustomResourceDefinition";
    let definitions = || release.manifests.iter().filter(is_definition);
    kinds.iter().all(|name| definitions().any(|manifest| manifest.id.name == *name))
}
