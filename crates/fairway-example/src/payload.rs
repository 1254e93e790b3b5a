//! The files that make an image a release image.

use fairway_api::Version;
use fairway_release::metadata::{self, Kind};
use fairway_release::payload::Files;
use fairway_release::{ReleaseMetadata, image_references};
use serde_json::json;

use crate::Release;

/// What the image of the operators is called in a release.
pub const OPERATORS: &str = "platform-operators";

/// The files of a release whose operators run an image. What else belongs to it, such as the
/// manifests of the operator that applies it, is `more`.
pub fn files(release: &Release, operators: &str, more: &Files) -> Files {
    let mut files = more.clone();
    for (name, text) in release.manifests(operators) {
        files.insert(format!("release-manifests/{name}"), text.into_bytes());
    }
    files.insert(metadata::PATH.to_owned(), pretty(&json!(release_metadata(release))));
    let references = json!({
        "apiVersion": "image.openshift.io/v1",
        "kind": "ImageStream",
        "metadata": { "name": release.version, "creationTimestamp": release.created },
        "spec": { "tags": [
            { "name": OPERATORS, "from": { "kind": "DockerImage", "name": operators } },
        ] },
    });
    files.insert(image_references::PATH.to_owned(), pretty(&references));
    files
}

/// What a release says about itself.
pub fn release_metadata(release: &Release) -> ReleaseMetadata {
    let version = |text: &str| Version::parse(text).expect("the table has versions");
    let url = format!("https://platform.example/releases/{}", release.version);
    ReleaseMetadata {
        kind: Kind::CincinnatiMetadataV0,
        version: version(release.version),
        previous: release.previous.iter().map(|previous| version(previous)).collect(),
        next: Vec::new(),
        metadata: [("url".to_owned(), url)].into(),
    }
}

fn pretty(document: &serde_json::Value) -> Vec<u8> {
    format!("{document:#}\n").into_bytes()
}
