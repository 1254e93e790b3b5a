//! An image: layers, a configuration, and the manifest that names them.

use std::collections::BTreeMap;

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{Digest, Layer};

/// Content with its type and its digest. Clones share the content: several images may have a large
/// layer in common.
#[derive(Clone, Debug)]
pub struct Blob {
    media_type: &'static str,
    digest: Digest,
    bytes: Bytes,
}

impl Blob {
    pub(crate) fn new(media_type: &'static str, bytes: Vec<u8>) -> Self {
        Self { media_type, digest: Digest::of(&bytes), bytes: bytes.into() }
    }

    /// Content that was compared with its digest before.
    pub(crate) fn checked(media_type: &'static str, digest: Digest, bytes: Vec<u8>) -> Self {
        Self { media_type, digest, bytes: bytes.into() }
    }

    /// What kind of content it is.
    pub fn media_type(&self) -> &'static str {
        self.media_type
    }

    /// Its name.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The content.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The content, which others share.
    pub(crate) fn shared(&self) -> Bytes {
        self.bytes.clone()
    }

    /// How a manifest or an index refers to it.
    pub(crate) fn descriptor(&self) -> serde_json::Value {
        json!({ "mediaType": self.media_type, "digest": self.digest, "size": self.bytes.len() })
    }
}

/// What a container of the image runs, and in which surroundings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ImageConfig {
    /// The program and its first arguments.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_empty")]
    pub entrypoint: Vec<String>,
    /// The arguments that a container may replace.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_empty")]
    pub cmd: Vec<String>,
    /// The environment, as `NAME=value`.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_empty")]
    pub env: Vec<String>,
    /// Who it runs as.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// Where it runs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub working_dir: String,
    /// What programs want to know about the image.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "null_is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Whatever else it says.
    #[serde(flatten)]
    pub other: BTreeMap<String, serde_json::Value>,
}

/// Other builders write `null` where there is nothing.
fn null_is_empty<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// An image.
#[derive(Clone, Debug)]
pub struct Image {
    manifest: Blob,
    config: Blob,
    layers: Vec<Blob>,
}

impl Image {
    /// Puts an image for this machine together. The same layers and configuration give the same
    /// digest.
    pub fn new(layers: Vec<Layer>, config: &ImageConfig) -> Self {
        Self::made(layers, config, architecture(), None)
    }

    /// The same for an architecture, and with the time when it was made, if it is to say so.
    pub(crate) fn made(
        layers: Vec<Layer>,
        config: &ImageConfig,
        architecture: &str,
        created: Option<Timestamp>,
    ) -> Self {
        let diff_ids: Vec<&Digest> = layers.iter().map(|layer| &layer.diff_id).collect();
        let mut document = json!({
            "architecture": architecture,
            "os": "linux",
            "config": config,
            "rootfs": { "type": "layers", "diff_ids": diff_ids },
        });
        if let Some(created) = created {
            document["created"] = json!(created);
        }
        let config = json_blob("application/vnd.oci.image.config.v1+json", &document);
        let layers: Vec<Blob> = layers.into_iter().map(|layer| layer.blob).collect();
        let manifest = json_blob(
            "application/vnd.oci.image.manifest.v1+json",
            &json!({
                "schemaVersion": 2,
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "config": config.descriptor(),
                "layers": layers.iter().map(Blob::descriptor).collect::<Vec<_>>(),
            }),
        );
        Self { manifest, config, layers }
    }

    /// The digest by which the image is pulled.
    pub fn digest(&self) -> &Digest {
        self.manifest.digest()
    }

    /// The manifest.
    pub fn manifest(&self) -> &Blob {
        &self.manifest
    }

    /// What the manifest refers to.
    pub fn content(&self) -> impl Iterator<Item = &Blob> {
        self.layers.iter().chain([&self.config])
    }
}

fn json_blob(media_type: &'static str, document: &serde_json::Value) -> Blob {
    Blob::new(media_type, document.to_string().into_bytes())
}

/// The architecture of this machine, in the words of images.
pub(crate) fn architecture() -> &'static str {
    fairway_release::architecture::of_machine(std::env::consts::ARCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LayerBuilder;

    fn image(content: &str) -> Image {
        let layer = LayerBuilder::new().file("a", 0o644, content).unwrap().build().unwrap();
        Image::new(vec![layer], &ImageConfig { cmd: vec!["/a".into()], ..Default::default() })
    }

    #[test]
    fn the_same_input_gives_the_same_digest() {
        assert_eq!(image("x").digest(), image("x").digest());
        assert_ne!(image("x").digest(), image("y").digest());
    }

    #[test]
    fn the_manifest_names_everything_else() {
        let image = image("x");
        let manifest = String::from_utf8(image.manifest().bytes().to_vec()).unwrap();
        for blob in image.content() {
            assert!(manifest.contains(blob.digest().as_str()), "{manifest}");
        }
    }
}
