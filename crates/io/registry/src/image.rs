//! Images: layers, a configuration, and the manifest that references them.

use std::collections::BTreeMap;

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{Digest, Layer};

/// Content with its media type and digest. Clones share the content, because images often share a
/// large layer.
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

    /// Content whose digest is already verified.
    pub(crate) fn checked(media_type: &'static str, digest: Digest, bytes: Vec<u8>) -> Self {
        Self { media_type, digest, bytes: bytes.into() }
    }

    /// The media type.
    pub fn media_type(&self) -> &'static str {
        self.media_type
    }

    /// The digest.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The content.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The content, shared with this value.
    pub(crate) fn shared(&self) -> Bytes {
        self.bytes.clone()
    }

    /// The descriptor with which a manifest or an index references the content.
    pub(crate) fn descriptor(&self) -> serde_json::Value {
        json!({ "mediaType": self.media_type, "digest": self.digest, "size": self.bytes.len() })
    }
}

/// Container configuration of an image: command, environment, user, labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ImageConfig {
    /// The binary and its first arguments.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_empty")]
    pub entrypoint: Vec<String>,
    /// Default arguments, which a container may replace.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_empty")]
    pub cmd: Vec<String>,
    /// The environment, as `NAME=value`.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_empty")]
    pub env: Vec<String>,
    /// User and group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// Working directory.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub working_dir: String,
    /// Labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "null_is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Other fields, which are kept unchanged.
    #[serde(flatten)]
    pub other: BTreeMap<String, serde_json::Value>,
}

/// Other builders write `null` for empty collections.
fn null_is_empty<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// An image that is ready to be written or pushed.
#[derive(Clone, Debug)]
pub struct Image {
    manifest: Blob,
    config: Blob,
    layers: Vec<Blob>,
}

impl Image {
    /// Assembles an image for the platform of this host. The same layers and configuration give the
    /// same digest.
    pub fn new(layers: Vec<Layer>, config: &ImageConfig) -> Self {
        Self::assemble(layers, config, architecture(), None)
    }

    /// Assembles an image for an architecture, with an optional creation time.
    pub(crate) fn assemble(
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

    /// The layers and the configuration that the manifest references.
    pub fn content(&self) -> impl Iterator<Item = &Blob> {
        self.layers.iter().chain([&self.config])
    }
}

fn json_blob(media_type: &'static str, document: &serde_json::Value) -> Blob {
    Blob::new(media_type, document.to_string().into_bytes())
}

/// The architecture of this host as images name it.
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
    fn image_of_same_input_has_same_digest() {
        assert_eq!(image("x").digest(), image("x").digest());
        assert_ne!(image("x").digest(), image("y").digest());
    }

    #[test]
    fn manifest_references_all_content() {
        let image = image("x");
        let manifest = String::from_utf8(image.manifest().bytes().to_vec()).unwrap();
        for blob in image.content() {
            assert!(manifest.contains(blob.digest().as_str()), "{manifest}");
        }
    }
}
