//! Files of a release image.

use std::collections::BTreeMap;

use fairway_api::Version;
use fairway_release::ReleaseMetadata;
use fairway_release::builder::{BuildError, ReleaseBuilder};
use fairway_release::metadata::MetadataKind;
use fairway_release::payload::Files;

use crate::Release;

/// Name of the operators image in a release.
const OPERATORS: &str = "platform-operators";

/// The files of a release whose operators run an image. `operator_manifests` contains the manifests
/// of the cluster-version operator, by path. The platform is installed on an existing Kubernetes;
/// its releases declare that version, if known.
pub fn files(
    release: &Release,
    operators: &str,
    operator_manifests: &BTreeMap<String, String>,
    kubernetes: Option<&str>,
) -> Result<Files, BuildError> {
    let images = BTreeMap::from([(OPERATORS.to_owned(), operators.to_owned())]);
    let mut draft = ReleaseBuilder::new(metadata(release), images, Some(release.created()));
    if let Some(version) = kubernetes {
        draft.set_version("kubernetes", version);
    }
    for (path, text) in operator_manifests {
        draft.add(path, path, text.clone().into_bytes());
    }
    for (name, text) in release.manifests(operators) {
        draft.add(&format!("release-manifests/{name}"), &name, text.into_bytes());
    }
    Ok(draft.finish()?.files)
}

/// Minimum kernel version of the binary, as release metadata.
const KERNEL: (&str, &str) = ("fairway.dev/minimum-kernel", "4.18");

/// The metadata of a release.
pub fn metadata(release: &Release) -> ReleaseMetadata {
    let version = |text: &str| Version::parse(text).expect("the table has versions");
    let url = format!("https://platform.example/releases/{}", release.version);
    ReleaseMetadata {
        kind: MetadataKind::CincinnatiMetadataV0,
        version: version(release.version),
        previous: release.previous.iter().map(|previous| version(previous)).collect(),
        next: Vec::new(),
        metadata: [("url".to_owned(), url), (KERNEL.0.to_owned(), KERNEL.1.to_owned())].into(),
    }
}
