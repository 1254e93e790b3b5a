//! The release that the operator belongs to, read from the payload in its own image.

use std::env::consts;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use fairway_api::cluster_version::{Architecture, Release};
use fairway_cincinnati::response::ResponseProblem;
use fairway_registry::payload::{UnreadableDirectory, read_unpacked};
use fairway_release::metadata::{self, MetadataError};
use fairway_release::payload::PayloadError;
use fairway_release::{ImageReferences, ReleaseMetadata, architecture, image_references};
use jiff::Timestamp;

use crate::payload;

/// The release that the operator belongs to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnRelease {
    /// The release in the form of the status.
    pub release: Release,
    /// Architecture for requests to the update service.
    pub architecture: String,
    /// Creation time of the release; `None` if `image-references` does not have it.
    pub created: Option<Timestamp>,
}

/// Errors while reading the own release.
#[derive(Debug, thiserror::Error)]
pub enum OwnReleaseError {
    /// A file of the payload cannot be read.
    #[error("cannot read {}", path.display())]
    UnreadableDirectory {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The release metadata is invalid.
    #[error(transparent)]
    Malformed(#[from] MetadataError),
    /// The manifests are invalid.
    #[error(transparent)]
    Content(#[from] PayloadError),
}

impl OwnRelease {
    /// Reads the payload of the release image from a directory.
    pub fn read(payload: &Path, image: &str) -> Result<Self, OwnReleaseError> {
        let path = payload.join(metadata::PATH);
        let bytes = read(&path, metadata::MAX_BYTES).map_err(|source| {
            OwnReleaseError::UnreadableDirectory { path: path.clone(), source }
        })?;
        let metadata = ReleaseMetadata::read(&path.display().to_string(), &bytes)?;
        let created = read(&payload.join(image_references::PATH), metadata::MAX_BYTES)
            .ok()
            .and_then(|bytes| ImageReferences::read(image_references::PATH, &bytes).ok()?.created);
        let mut problems = Vec::new();
        let own = Self::new(&metadata, image, consts::ARCH, &mut problems);
        for problem in problems {
            tracing::warn!(error = %problem, "invalid metadata in the release of this operator");
        }
        Ok(Self { created, ..own })
    }

    /// Creates the release from its metadata, with the same limits as for releases of a graph.
    fn new(
        metadata: &ReleaseMetadata,
        image: &str,
        machine: &str,
        problems: &mut Vec<ResponseProblem>,
    ) -> Self {
        let release = payload::described(metadata, image, problems);
        let is_multi = release.architecture == Some(Architecture::Multi);
        let architecture = if is_multi { "multi" } else { architecture::of_machine(machine) };
        Self { release, architecture: architecture.to_owned(), created: None }
    }
}

/// Reads the manifests of the release for a cluster profile.
pub fn content(
    payload: &Path,
    image: &str,
    profile: &str,
) -> Result<fairway_release::Release, OwnReleaseError> {
    let files = read_unpacked(payload).map_err(|UnreadableDirectory { path, source }| {
        OwnReleaseError::UnreadableDirectory { path, source }
    })?;
    Ok(fairway_release::Release::load(&files, image, profile)?)
}

/// Reads at most one byte more than the limit; the parser refuses files above it.
fn read(path: &Path, limit: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(metadata: &str, machine: &str) -> OwnRelease {
        let (own, problems) = own_with_problems(metadata, machine);
        assert_eq!(problems, []);
        own
    }

    fn own_with_problems(metadata: &str, machine: &str) -> (OwnRelease, Vec<ResponseProblem>) {
        let text = format!(
            r#"{{"kind": "cincinnati-metadata-v0", "version": "5.0.1", "metadata": {metadata}}}"#
        );
        let metadata = ReleaseMetadata::read("metadata", text.as_bytes()).unwrap();
        let mut problems = Vec::new();
        let image = "registry.example/release@sha256:1";
        (OwnRelease::new(&metadata, image, machine, &mut problems), problems)
    }

    #[test]
    fn own_release_has_metadata_of_payload() {
        let own = own(
            r#"{"url": "https://errata.example/1",
                "io.openshift.upgrades.graph.release.channels": "stable-5.0, fast-5.0,,fast-5.0"}"#,
            "aarch64",
        );
        assert_eq!(own.architecture, "arm64");
        assert_eq!(own.release.version, "5.0.1");
        assert_eq!(own.release.image, "registry.example/release@sha256:1");
        assert_eq!(own.release.url.as_deref(), Some("https://errata.example/1"));
        assert_eq!(own.release.channels, ["fast-5.0", "stable-5.0"]);
        assert_eq!(own.release.architecture, None);
    }

    #[test]
    fn own_release_omits_invalid_metadata() {
        let metadata = serde_json::json!({
            "url": "javascript:alert(1)",
            "io.openshift.upgrades.graph.release.channels": "stable-5.0,".repeat(1000),
        });
        let (own, problems) = own_with_problems(&metadata.to_string(), "x86_64");
        assert_eq!((own.release.url, own.release.channels), (None, Vec::new()));
        let listed: Vec<String> = problems.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(listed.join("\n"), @r#"
        ignoring the URL of 5.0.1: not an http or https URL: "javascript:alert(1)"
        ignoring the channels of 5.0.1: too large (11000 bytes)
        "#);
    }

    #[test]
    fn own_release_multi_has_multi_architecture() {
        let own = own(r#"{"release.openshift.io/architecture": "multi"}"#, "x86_64");
        assert_eq!(
            (own.architecture.as_str(), own.release.architecture),
            ("multi", Some(Architecture::Multi))
        );
    }

    #[test]
    fn read_takes_creation_time_of_image_references() {
        let payload = tempfile::tempdir().unwrap();
        let manifests = payload.path().join("release-manifests");
        std::fs::create_dir(&manifests).unwrap();
        let write = |file: &str, text: &str| std::fs::write(manifests.join(file), text).unwrap();
        let created = || OwnRelease::read(payload.path(), "image").unwrap().created;
        write("release-metadata", r#"{"kind": "cincinnati-metadata-v0", "version": "5.0.1"}"#);
        assert_eq!(created(), None);
        write(
            "image-references",
            "apiVersion: image.openshift.io/v1\nkind: ImageStream\n\
             metadata: {name: 5.0.1, creationTimestamp: \"2026-01-01T00:00:00Z\"}\n",
        );
        assert_eq!(created(), Some("2026-01-01T00:00:00Z".parse().unwrap()));
        write("image-references", "{");
        assert_eq!(created(), None, "a release without creation time is valid");
    }

    #[test]
    fn read_without_payload_names_file() {
        let error = OwnRelease::read(Path::new("/nowhere"), "image").unwrap_err();
        insta::assert_snapshot!(error, @"cannot read /nowhere/release-manifests/release-metadata");
    }
}
