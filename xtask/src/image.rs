//! `cargo xtask image`: an image of the binary and its libraries, without a container engine.
#![expect(clippy::print_stdout, reason = "tasks print to the terminal")]

use std::path::{Path, PathBuf};

use anyhow::Result;
use fairway_registry::base::{self, LayerCompression};
use fairway_registry::{Image, layout, push};

use crate::cargo;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Use this binary instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,

    /// Write the image to this directory, as an OCI image layout, instead of target/image
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Also push the image, such as to 127.0.0.1:5000/fairway:dev
    #[arg(long, value_name = "REFERENCE")]
    push: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let binary = match &arguments.binary {
        Some(binary) => binary.clone(),
        None => cargo::build_release()?,
    };
    let image = build_image(&binary, LayerCompression::Compressed)?;
    let out = arguments.out.clone().unwrap_or_else(|| cargo::root().join("target/image"));
    layout::write(&out, &image, "dev")?;
    println!("{} is {}", out.display(), image.digest());
    if let Some(reference) = &arguments.push {
        println!("pushed {}", push_image(&image, reference)?);
    }
    Ok(())
}

/// Pushes an image from a task, which has no runtime.
pub(crate) fn push_image(image: &Image, reference: &str) -> Result<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(push::push(image, reference))?)
}

/// Builds an image with the binary as its entrypoint.
pub(crate) fn build_image(binary: &Path, packing: LayerCompression) -> Result<Image> {
    if !Path::new(base::CA_BUNDLE_PATH).exists() {
        println!(
            "{} does not exist, so the image trusts no registry; run `apt-get install \
            ca-certificates`",
            base::CA_BUNDLE_PATH
        );
    }
    Ok(Image::new(base::layers(binary, packing)?, &base::config()))
}
