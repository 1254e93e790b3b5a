//! An image to build on, from a registry or a layout.

use serde::Deserialize;

use super::Base;
use crate::contents::{ContentsError, manifest};
use crate::image::Blob;
use crate::manifest::Descriptor;
use crate::releases::{Kind, Source, printable};
use crate::{Digest, ImageConfig, Layer};

/// Bytes of all layers together, which are held in memory. The image of our program has less than a
/// tenth of that.
const LARGEST_BASE: u64 = 512 << 20;

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

impl Base {
    /// An image with all its layers; of several platforms, that of this machine.
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
        if manifest.layers.iter().fold(0, size) > LARGEST_BASE {
            return Err(refused(format!("larger than {LARGEST_BASE} bytes")));
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
    let Some(media_type) = own_words(&media_type) else {
        let media_type = printable(media_type);
        return Err(ContentsError::LayerType { layer: digest, media_type });
    };
    let bytes = source.content(Kind::Blob, &digest, size).await?;
    Ok(Blob::checked(media_type, digest, bytes))
}

/// Docker has other words for the same formats.
fn own_words(media_type: &str) -> Option<&'static str> {
    match media_type {
        "application/vnd.oci.image.layer.v1.tar"
        | "application/vnd.docker.image.rootfs.diff.tar" => {
            Some("application/vnd.oci.image.layer.v1.tar")
        }
        "application/vnd.oci.image.layer.v1.tar+gzip"
        | "application/vnd.docker.image.rootfs.diff.tar.gzip" => {
            Some("application/vnd.oci.image.layer.v1.tar+gzip")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use serde_json::Value;

    use super::*;
    use crate::layout::{self, Layout};
    use crate::{Image, LayerBuilder};

    /// What is done to a manifest and to its configuration.
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
    async fn what_is_built_on_stays_as_it_is_below() {
        let (directory, image) = (tempfile::tempdir().unwrap(), image());
        layout::write(directory.path(), &image, "a").unwrap();
        let base = Base::read(&in_layout(directory.path()), image.digest()).await.unwrap();
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
    async fn what_cannot_be_built_on_is_refused() {
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
            &|manifest, _| manifest["layers"][0]["size"] = (LARGEST_BASE + 1).into(),
            &|manifest, _| manifest["layers"][0]["size"] = 1.into(),
            &|manifest, _| manifest["layers"][0]["mediaType"] = "tar+zstd".into(),
        ];
        let source = in_layout(directory.path());
        let mut told = Vec::new();
        for change in changes {
            let error = Base::read(&source, &manifest(change)).await.unwrap_err().to_string();
            let anonymous = |word| if str::starts_with(word, "sha256:") { "DIGEST" } else { word };
            told.push(error.split(' ').map(anonymous).collect::<Vec<_>>().join(" "));
        }
        insta::assert_snapshot!(told.join("\n"), @r#"
        DIGEST is not an image: it is built for plan9, not for linux
        DIGEST is not an image: its configuration and its manifest have different layers
        DIGEST is not an image: larger than 536870912 bytes
        a file of the layout has more than 1 bytes
        layer DIGEST has the media type "tar+zstd"; only tar and tar+gzip are supported
        "#);
    }
}
