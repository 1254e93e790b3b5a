//! Images made from files of this host.

use std::path::Path;

use anyhow::{Context, Result};
use fairway_registry::{Image, ImageConfig, LayerBuilder, push};

/// Pushes the files of a directory as an image to `registry/repository:test`. Returns its pull spec by
/// digest.
pub async fn push_directory(
    registry: &str,
    repository: &str,
    directory: &Path,
    config: &ImageConfig,
) -> Result<String> {
    crate::access::install_tls_provider();
    let layer = LayerBuilder::new().host_tree("/", directory)?.build()?;
    let image = Image::new(vec![layer], config);
    push::push(&image, &format!("{registry}/{repository}:test"))
        .await
        .context("cannot push the test's image")
}

/// The binaries that most scripts of tests need. Few, because every test builds the image.
const SHELL: [&str; 3] = ["/bin/cat", "/bin/sh", "/bin/sleep"];

/// An image with a shell and further binaries of this host.
pub(crate) fn shell_image(programs: &[&str]) -> Result<Image> {
    let mut layer = LayerBuilder::new().directory("/tmp", 0o1777)?;
    for program in SHELL.iter().chain(programs) {
        layer = layer.host_program(program, Path::new(program))?;
    }
    let config = ImageConfig {
        cmd: vec!["/bin/sh".to_owned()],
        env: vec!["PATH=/bin:/usr/bin".to_owned(), "IMAGE=shell".to_owned()],
        ..ImageConfig::default()
    };
    Ok(Image::new(vec![layer.build()?], &config))
}
