//! Small releases for tests.

use fairway_release::Release;
use fairway_release::payload::{Files, PayloadError};

/// The annotation that puts a manifest into the profile of most clusters.
pub(crate) const INCLUDED: &str = "include.release.openshift.io/self-managed-high-availability";

/// The required files of a release, and some more.
pub(crate) fn files(more: &[(&str, &str)]) -> Files {
    let always = [
        (
            "release-manifests/release-metadata",
            r#"{"kind": "cincinnati-metadata-v0", "version": "5.0.0"}"#,
        ),
        (
            "release-manifests/image-references",
            r#"{"apiVersion": "image.openshift.io/v1", "kind": "ImageStream", "metadata": {"name": "5.0.0"},
                "spec": {"tags": [{"name": "network", "from": {"kind": "DockerImage", "name": "registry.example/network@1"}}]}}"#,
        ),
    ];
    let all = always.iter().chain(more);
    all.map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
}

pub(crate) fn load(files: &Files) -> Result<Release, PayloadError> {
    Release::load(files, "registry.example/release@1", "self-managed-high-availability")
}

/// A ConfigMap in YAML.
pub(crate) fn config_map(name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: platform\n  annotations:\n    {INCLUDED}: \"true\"\n"
    )
}
