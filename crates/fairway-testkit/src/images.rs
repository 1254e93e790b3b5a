//! Images for tests.

use std::path::Path;

use anyhow::{Context, Result};
use fairway_registry::{Image, ImageConfig, LayerBuilder, push};

/// Makes an image of the files in a directory and pushes it to `registry/repository:test`.
/// Returns the reference with its digest.
pub async fn push_directory(
    registry: &str,
    repository: &str,
    directory: &Path,
    config: &ImageConfig,
) -> Result<String> {
    crate::cluster::install_tls_provider();
    let layer = LayerBuilder::new().host_tree("/", directory)?.build()?;
    let image = Image::new(vec![layer], config);
    push::push(&image, &format!("{registry}/{repository}:test"))
        .await
        .context("cannot push the test's image")
}
