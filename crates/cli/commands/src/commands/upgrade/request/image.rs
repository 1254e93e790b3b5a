//! Which release an image is, for those who name one that is not listed.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use fairway_api::cluster_version::Release;
use fairway_registry::contents::{self, Wanted};
use fairway_release::{ReleaseMetadata, metadata};
use tokio::time::timeout;

use crate::args::registry::AccessArgs;
use crate::commands::registry;

/// What the image says about itself, or why it could not be asked. It is looked for where it is said
/// to be, not where the cluster would find it: mirrors are known to the cluster alone.
pub(super) async fn look_up(
    image: &str,
    access: &AccessArgs,
    patience: Duration,
) -> Result<Release, String> {
    match timeout(patience, read(image, access)).await {
        Ok(Ok(release)) => Ok(release),
        Ok(Err(error)) => Err(format!("{error:#}")),
        Err(_) => Err(format!("the registry did not respond within {patience:?}")),
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

/// One file says it, and it is the same for all machines.
fn wanted() -> Wanted {
    Wanted {
        files: vec![metadata::PATH.to_owned()],
        directories: Vec::new(),
        most_files: 1,
        file_bytes: metadata::MAX_BYTES,
        all_bytes: metadata::MAX_BYTES,
        any_machine: true,
    }
}
