//! The image that releases build on: the program, and what it needs to run.

mod read;

use std::path::Path;

use jiff::Timestamp;

use crate::image::architecture;
use crate::program::libraries;
use crate::{Image, ImageConfig, Layer, LayerBuilder, LayerError};

/// Where the program is in the image.
pub const PROGRAM: &str = "/usr/bin/fairway";

/// The authorities that TLS clients trust, where Debian keeps them.
pub const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Whether a layer is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// For registries: it takes seconds, and travels in less of them.
    Compressed,
    /// For images that stay on this machine.
    Plain,
}

impl Packing {
    /// Makes a layer of what was collected.
    pub fn build(self, layer: LayerBuilder) -> Result<Layer, LayerError> {
        match self {
            Self::Compressed => layer.build(),
            Self::Plain => layer.build_uncompressed(),
        }
    }
}

/// An image to build on.
#[derive(Clone, Debug)]
pub struct Base {
    layers: Vec<Layer>,
    config: ImageConfig,
    architecture: String,
}

impl Base {
    /// The image of a program of this machine.
    pub fn of_program(binary: &Path, packing: Packing) -> Result<Self, LayerError> {
        let (layers, architecture) = (layers(binary, packing)?, architecture().to_owned());
        Ok(Self { layers, config: config(), architecture })
    }

    /// The same, with a variable more in its environment.
    #[must_use]
    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.config.env.push(format!("{name}={value}"));
        self
    }

    /// An image with one layer more and with some labels, which says when it was made if that is
    /// given. The same input gives the same digest.
    pub fn with<'a>(
        mut self,
        layer: Layer,
        labels: impl IntoIterator<Item = (&'a str, String)>,
        created: Option<Timestamp>,
    ) -> Image {
        self.layers.push(layer);
        let labels = labels.into_iter().map(|(key, value)| (key.to_owned(), value));
        self.config.labels.extend(labels);
        Image::made(self.layers, &self.config, &self.architecture, created)
    }
}

/// The layers: what seldom changes comes first, so that registries and nodes keep it.
pub fn layers(binary: &Path, packing: Packing) -> Result<Vec<Layer>, LayerError> {
    let program = LayerBuilder::new()
        .host_file(PROGRAM, binary)?
        .link("usr/bin/kubectl-fairway", "fairway")?
        .link("usr/bin/oc-fairway", "fairway")?;
    Ok(vec![packing.build(surroundings(binary)?)?, packing.build(program)?])
}

/// A container runs the program, and there is nothing else to run.
pub fn config() -> ImageConfig {
    ImageConfig {
        entrypoint: vec![PROGRAM.to_owned()],
        env: vec!["PATH=/usr/bin".to_owned(), format!("SSL_CERT_FILE={AUTHORITIES}")],
        ..ImageConfig::default()
    }
}

/// What the program finds around itself: its libraries, a user, authorities, a place for files.
/// Where this machine trusts no authorities, the image trusts none either.
fn surroundings(binary: &Path) -> Result<LayerBuilder, LayerError> {
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
    }
    for library in libraries(binary)? {
        layer = layer.host_file(&library, &library)?;
    }
    Ok(layer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Image;

    #[test]
    fn the_same_binary_gives_the_same_image() {
        let digest = |packing| {
            let layers = layers(Path::new("/bin/sh"), packing).unwrap();
            Image::new(layers, &config()).digest().clone()
        };
        assert_eq!(digest(Packing::Compressed), digest(Packing::Compressed));
        assert_ne!(digest(Packing::Compressed), digest(Packing::Plain));
    }
}
