//! Metadata of an unlisted release image.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use fairway_api::cluster_version::Release;
use fairway_registry::contents::{self, FileSelection};
use fairway_release::{ReleaseMetadata, metadata};

use crate::args::registry::AccessArgs;
use crate::commands::registry;

/// Reads the release metadata of an image, or why it cannot be read. Only the cluster knows its
/// mirrors, so the image is read from its own registry.
pub(super) async fn read_metadata(
    image: &str,
    access: &AccessArgs,
    timeout: Duration,
) -> Result<Release, String> {
    match tokio::time::timeout(timeout, read(image, access)).await {
        Ok(Ok(release)) => Ok(release),
        Ok(Err(error)) => Err(format!("{error:#}")),
        Err(_) => Err(format!("the registry did not respond within {timeout:?}")),
    }
}

async fn read(image: &str, access: &AccessArgs) -> anyhow::Result<Release> {
    let named = registry::image(image, access, "cannot read the image")?;
    let digest = named.resolve().await?;
    let mut files = contents::read(named.source(), &digest, &Arc::new(wanted())).await?;
    let file = files.remove(metadata::PATH).context("not a release image")?;
    let metadata = ReleaseMetadata::read(metadata::PATH, &file)?;
    Ok(Release {
        version: metadata.version.to_string(),
        image: image.to_owned(),
        channels: metadata.channels().into_iter().map(str::to_owned).collect(),
        ..Release::default()
    })
}

/// One file has the metadata, and it is the same for all architectures.
fn wanted() -> FileSelection {
    FileSelection {
        files: vec![metadata::PATH.to_owned()],
        directories: Vec::new(),
        most_files: 1,
        file_bytes: metadata::MAX_BYTES,
        all_bytes: metadata::MAX_BYTES,
        any_machine: true,
    }
}
