//! `cargo xtask image`: an image of the program and what it needs, without a container engine.
#![expect(clippy::print_stdout, reason = "a chore talks to the terminal")]

use std::path::{Path, PathBuf};

use anyhow::Result;
use fairway_registry::program::libraries;
use fairway_registry::{Image, ImageConfig, Layer, LayerBuilder, layout, push};

use crate::cargo;

/// The authorities that TLS clients trust, where Debian keeps them.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Take this binary instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,

    /// Write the image here, as an OCI image layout, instead of to target/image
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Push it as well, such as to 127.0.0.1:5000/fairway:dev
    #[arg(long, value_name = "REFERENCE")]
    push: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let binary = match &arguments.binary {
        Some(binary) => binary.clone(),
        None => cargo::build_fairway(true)?,
    };
    let image = image_of(&binary)?;
    let out = arguments.out.clone().unwrap_or_else(|| cargo::root().join("target/image"));
    layout::write(&out, &image, "dev")?;
    println!("{} is {}", out.display(), image.digest());
    if let Some(reference) = &arguments.push {
        println!("pushed {}", push_image(&image, reference)?);
    }
    Ok(())
}

/// Pushes from a chore, which has no runtime of its own.
pub(crate) fn push_image(image: &Image, reference: &str) -> Result<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(push::push(image, reference))?)
}

/// An image that runs the program as its entry point, with nothing else to run.
pub(crate) fn image_of(binary: &Path) -> Result<Image> {
    let program = LayerBuilder::new()
        .host_file("usr/bin/fairway", binary)?
        .link("usr/bin/kubectl-fairway", "fairway")?
        .link("usr/bin/oc-fairway", "fairway")?
        .build()?;
    let config = ImageConfig {
        entrypoint: vec!["/usr/bin/fairway".to_owned()],
        env: vec!["PATH=/usr/bin".to_owned(), format!("SSL_CERT_FILE={AUTHORITIES}")],
        ..ImageConfig::default()
    };
    // What seldom changes comes first, so that registries and nodes keep it.
    Ok(Image::new(vec![surroundings(binary)?, program], &config))
}

/// What the program finds around itself: its libraries, a user, authorities, a place for files.
fn surroundings(binary: &Path) -> Result<Layer> {
    let mut layer = LayerBuilder::new()
        .directory("tmp", 0o1777)?
        .file(
            "etc/passwd",
            0o644,
            "root:x:0:0::/:/sbin/nologin\nfairway:x:65532:65532::/:/sbin/nologin\n",
        )?
        .file("etc/group", 0o644, "root:x:0:\nfairway:x:65532:\n")?
        .file("etc/nsswitch.conf", 0o644, "hosts: files dns\n")?;
    if Path::new(AUTHORITIES).exists() {
        layer = layer.host_file(AUTHORITIES, Path::new(AUTHORITIES))?;
    } else {
        println!(
            "{AUTHORITIES} is missing, so the image trusts no registry; apt-get install ca-certificates"
        );
    }
    for library in libraries(binary)? {
        layer = layer.host_file(&library, &library)?;
    }
    Ok(layer.build()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_binary_gives_the_same_image() {
        let binary = Path::new("/bin/sh");
        assert_eq!(image_of(binary).unwrap().digest(), image_of(binary).unwrap().digest());
    }
}
