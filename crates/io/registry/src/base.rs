//! The base image of releases: the `fairway` binary and the files that it needs to run.

use std::path::Path;

use jiff::Timestamp;
use serde::Deserialize;

use crate::contents::{ContentsError, manifest};
use crate::image::{Blob, architecture};
use crate::manifest::{Descriptor, LayerFormat};
use crate::program::libraries;
use crate::releases::printable;
use crate::source::{Kind, Source};
use crate::{Digest, Image, ImageConfig, Layer, LayerBuilder, LayerError};

/// Path of the `fairway` binary in the image.
pub const BINARY_PATH: &str = "/usr/bin/fairway";

/// CA bundle that TLS clients trust, at the path that Debian uses.
pub const CA_BUNDLE_PATH: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Bytes of all layers together, which are held in memory. The image of `fairway` has less than a
/// tenth of that.
const MAX_BASE_BYTES: u64 = 512 << 20;

/// Compression of new layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerCompression {
    /// gzip, for images that are pushed to a registry.
    Compressed,
    /// None: faster, for images that stay on this host.
    Plain,
}

impl LayerCompression {
    /// Builds a layer from the collected files.
    pub fn build(self, layer: LayerBuilder) -> Result<Layer, LayerError> {
        match self {
            Self::Compressed => layer.build(),
            Self::Plain => layer.build_uncompressed(),
        }
    }
}

/// An image to which a release adds its own layer.
#[derive(Clone, Debug)]
pub struct BaseImage {
    layers: Vec<Layer>,
    config: ImageConfig,
    architecture: String,
}

impl BaseImage {
    /// Builds the base image of a binary of this host.
    pub fn from_binary(binary: &Path, compression: LayerCompression) -> Result<Self, LayerError> {
        let (layers, architecture) = (layers(binary, compression)?, architecture().to_owned());
        Ok(Self { layers, config: config(), architecture })
    }

    /// Adds an environment variable.
    #[must_use]
    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.config.env.push(format!("{name}={value}"));
        self
    }

    /// Adds a layer and labels. Without `created`, the image has no creation time and the same
    /// input gives the same digest.
    pub fn with<'a>(
        mut self,
        layer: Layer,
        labels: impl IntoIterator<Item = (&'a str, String)>,
        created: Option<Timestamp>,
    ) -> Image {
        self.layers.push(layer);
        let labels = labels.into_iter().map(|(key, value)| (key.to_owned(), value));
        self.config.labels.extend(labels);
        Image::assemble(self.layers, &self.config, &self.architecture, created)
    }
}

/// The layers of the base image. Files that rarely change come first, so that registries and nodes
/// cache them.
pub fn layers(binary: &Path, compression: LayerCompression) -> Result<Vec<Layer>, LayerError> {
    let program = LayerBuilder::new()
        .host_file(BINARY_PATH, binary)?
        .link("usr/bin/kubectl-fairway", "fairway")?
        .link("usr/bin/oc-fairway", "fairway")?;
    Ok(vec![compression.build(system_layer(binary)?)?, compression.build(program)?])
}

/// The container configuration: runs the `fairway` binary.
pub fn config() -> ImageConfig {
    ImageConfig {
        entrypoint: vec![BINARY_PATH.to_owned()],
        env: vec!["PATH=/usr/bin".to_owned(), format!("SSL_CERT_FILE={CA_BUNDLE_PATH}")],
        ..ImageConfig::default()
    }
}

/// The lowest layer: shared libraries, users, CA bundle and `/tmp`. A host without a CA bundle
/// gives an image without one.
fn system_layer(binary: &Path) -> Result<LayerBuilder, LayerError> {
    let mut layer = LayerBuilder::new()
        .directory("tmp", 0o1777)?
        .file(
            "etc/passwd",
            0o644,
            "root:x:0:0::/:/sbin/nologin\nfairway:x:65532:65532::/:/sbin/nologin\n",
        )?
        .file("etc/group", 0o644, "root:x:0:\nfairway:x:65532:\n")?
        .file("etc/nsswitch.conf", 0o644, "hosts: files dns\n")?;
    if Path::new(CA_BUNDLE_PATH).exists() {
        layer = layer.host_file(CA_BUNDLE_PATH, Path::new(CA_BUNDLE_PATH))?;
    }
    for library in libraries(binary)? {
        layer = layer.host_file(&library, &library)?;
    }
    Ok(layer)
}

#[derive(Deserialize)]
struct Configuration {
    architecture: String,
    os: String,
    #[serde(default)]
    config: Option<ImageConfig>,
    rootfs: RootFs,
}

#[derive(Deserialize)]
struct RootFs {
    diff_ids: Vec<Digest>,
}

impl BaseImage {
    /// Fetches an image with all its layers. From an index, the image for this host is used.
    pub async fn read(source: &Source, image: &Digest) -> Result<Self, ContentsError> {
        let refused = |why: String| ContentsError::NotAnImage { digest: image.clone(), why };
        let manifest = manifest(source, image, false).await?;
        let Some(config) = manifest.config else {
            return Err(refused("its manifest has no configuration".to_owned()));
        };
        let bytes = source.document(Kind::Blob, &config.digest).await?;
        let Configuration { architecture, os, config, rootfs } = serde_json::from_slice(&bytes)
            .map_err(|error| refused(printable(error.to_string())))?;
        if os != "linux" {
            return Err(refused(printable(format!("it is built for {os}, not for linux"))));
        }
        if rootfs.diff_ids.len() != manifest.layers.len() {
            return Err(refused(
                "its configuration and its manifest have different layers".to_owned(),
            ));
        }
        let size = |sum: u64, layer: &Descriptor| sum.saturating_add(layer.size);
        if manifest.layers.iter().fold(0, size) > MAX_BASE_BYTES {
            return Err(refused(format!("larger than {MAX_BASE_BYTES} bytes")));
        }
        let mut layers = Vec::with_capacity(manifest.layers.len());
        for (descriptor, diff_id) in manifest.layers.into_iter().zip(rootfs.diff_ids) {
            let blob = blob(source, descriptor).await?;
            layers.push(Layer { blob, diff_id });
        }
        Ok(Self { layers, config: config.unwrap_or_default(), architecture })
    }
}

async fn blob(source: &Source, layer: Descriptor) -> Result<Blob, ContentsError> {
    let Descriptor { media_type, digest, size, .. } = layer;
    let Some(format) = LayerFormat::parse(&media_type) else {
        let media_type = printable(media_type);
        return Err(ContentsError::LayerType { layer: digest, media_type });
    };
    let bytes = source.content(Kind::Blob, &digest, size).await?;
    Ok(Blob::checked(format.media_type(), digest, bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::Value;

    use super::*;
    use crate::layout::{self, Layout};

    #[test]
    fn layers_of_same_binary_have_same_digest() {
        let digest = |compression| {
            let layers = layers(Path::new("/bin/sh"), compression).unwrap();
            Image::new(layers, &config()).digest().clone()
        };
        assert_eq!(digest(LayerCompression::Compressed), digest(LayerCompression::Compressed));
        assert_ne!(digest(LayerCompression::Compressed), digest(LayerCompression::Plain));
    }

    /// Edits a manifest and its configuration.
    type Change<'a> = &'a dyn Fn(&mut Value, &mut Value);

    fn layer(content: &str) -> Layer {
        LayerBuilder::new().file("a", 0o644, content).unwrap().build().unwrap()
    }

    fn image() -> Image {
        let mut config = ImageConfig { user: "65532".to_owned(), ..ImageConfig::default() };
        config.other.insert("StopSignal".to_owned(), "SIGINT".into());
        Image::new(vec![layer("x")], &config)
    }

    fn in_layout(directory: &Path) -> Source {
        Source::Layout { layout: Layout::open(directory).unwrap(), name: "a".to_owned() }
    }

    #[tokio::test]
    async fn read_keeps_layers_and_configuration_of_base() {
        let (directory, image) = (tempfile::tempdir().unwrap(), image());
        layout::write(directory.path(), &image, "a").unwrap();
        let base = BaseImage::read(&in_layout(directory.path()), image.digest()).await.unwrap();
        let made = |created: Option<&str>| {
            let created = created.map(|text| text.parse().unwrap());
            base.clone().with(layer("y"), [("version", "5.1.0".to_owned())], created)
        };
        let (plain, dated) = (made(None), made(Some("2026-01-01T00:00:00Z")));
        assert_eq!(plain.digest(), made(None).digest());
        assert_ne!(plain.digest(), dated.digest());
        let layers: Vec<&Digest> = plain.content().map(Blob::digest).take(2).collect();
        assert_eq!(layers, [&layer("x").blob.digest().clone(), layer("y").blob.digest()]);
        let config = dated.content().last().unwrap();
        let config: Value = serde_json::from_slice(config.bytes()).unwrap();
        assert_eq!(config["created"], "2026-01-01T00:00:00Z");
        let expected = serde_json::json!({
            "User": "65532", "StopSignal": "SIGINT", "Labels": {"version": "5.1.0"},
        });
        assert_eq!(config["config"], expected);
    }

    #[tokio::test]
    async fn read_with_invalid_image_fails() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = directory.path().join("blobs/sha256");
        layout::write(directory.path(), &image(), "a").unwrap();
        let manifest = |change: Change<'_>| {
            let image = image();
            let mut manifest: Value = serde_json::from_slice(image.manifest().bytes()).unwrap();
            let config = image.content().last().unwrap();
            let mut config: Value = serde_json::from_slice(config.bytes()).unwrap();
            change(&mut manifest, &mut config);
            let config = config.to_string();
            let digest = Digest::of(config.as_bytes());
            fs::write(blobs.join(digest.hex()), &config).unwrap();
            manifest["config"]["digest"] = digest.as_str().into();
            let manifest = manifest.to_string();
            let digest = Digest::of(manifest.as_bytes());
            fs::write(blobs.join(digest.hex()), manifest).unwrap();
            digest
        };
        let changes: [Change<'_>; 5] = [
            &|_, config| config["os"] = "plan9".into(),
            &|_, config| config["rootfs"]["diff_ids"] = Value::Array(Vec::new()),
            &|manifest, _| manifest["layers"][0]["size"] = (MAX_BASE_BYTES + 1).into(),
            &|manifest, _| manifest["layers"][0]["size"] = 1.into(),
            &|manifest, _| manifest["layers"][0]["mediaType"] = "tar+zstd".into(),
        ];
        let source = in_layout(directory.path());
        let mut errors = Vec::new();
        for change in changes {
            let error = BaseImage::read(&source, &manifest(change)).await.unwrap_err().to_string();
            let anonymous = |word| if str::starts_with(word, "sha256:") { "DIGEST" } else { word };
            errors.push(error.split(' ').map(anonymous).collect::<Vec<_>>().join(" "));
        }
        insta::assert_snapshot!(errors.join("\n"), @r#"
        DIGEST is not an image: it is built for plan9, not for linux
        DIGEST is not an image: its configuration and its manifest have different layers
        DIGEST is not an image: larger than 536870912 bytes
        a file of the layout has more than 1 bytes
        layer DIGEST has the media type "tar+zstd"; only tar and tar+gzip are supported
        "#);
    }
}
