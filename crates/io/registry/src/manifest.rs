//! Manifests and indexes in the formats of OCI and Docker, which have the same fields.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::Digest;
use crate::image::architecture;

/// Bytes of a manifest, index or configuration. Real ones have some kilobytes; registries accept at
/// most 4 MiB.
pub(crate) const MAX_DOCUMENT_BYTES: u64 = 4 << 20;
/// Bytes of a layer. Layers of real images have at most a few hundred megabytes.
pub(crate) const MAX_LAYER_BYTES: u64 = 1 << 30;
/// Layers of an image: container engines cannot mount more.
pub(crate) const MAX_LAYERS: usize = 128;
/// Nested indexes: the index of a layout references the index of an image, which references
/// manifests. One more for tools that wrap it again.
pub(crate) const MAX_INDEX_DEPTH: usize = 3;

/// A manifest or an index; an index has `manifests`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Document {
    pub(crate) manifests: Option<Vec<Descriptor>>,
    pub(crate) config: Option<Descriptor>,
    pub(crate) layers: Vec<Descriptor>,
}

/// Reference of a document to other content.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    #[serde(default)]
    pub(crate) media_type: String,
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    #[serde(default)]
    pub(crate) annotations: Option<BTreeMap<String, String>>,
    pub(crate) platform: Option<Platform>,
}

/// Platform of an image.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Platform {
    #[serde(default)]
    pub(crate) architecture: String,
    #[serde(default)]
    pub(crate) os: String,
}

impl Platform {
    pub(crate) fn is_host(&self) -> bool {
        self.os == "linux" && self.architecture == architecture()
    }
}

/// Archive format of a layer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LayerFormat {
    Tar,
    TarGzip,
}

impl LayerFormat {
    /// The format of a media type. Docker and OCI have different names for the same formats.
    pub(crate) fn parse(media_type: &str) -> Option<Self> {
        match media_type {
            "application/vnd.oci.image.layer.v1.tar"
            | "application/vnd.docker.image.rootfs.diff.tar" => Some(Self::Tar),
            "application/vnd.oci.image.layer.v1.tar+gzip"
            | "application/vnd.docker.image.rootfs.diff.tar.gzip" => Some(Self::TarGzip),
            _ => None,
        }
    }

    /// The OCI media type.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Tar => "application/vnd.oci.image.layer.v1.tar",
            Self::TarGzip => "application/vnd.oci.image.layer.v1.tar+gzip",
        }
    }
}
