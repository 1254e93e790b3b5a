//! Manifests and indices, in the formats of OCI and of Docker, which mean the same.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::Digest;
use crate::image::architecture;

/// Real indices, manifests and configurations have some kilobytes; registries take at most 4 MiB.
pub(crate) const LARGEST_DOCUMENT: u64 = 4 << 20;
/// The layers of real images have at most a few hundred megabytes.
pub(crate) const LARGEST_LAYER: u64 = 1 << 30;
/// Container engines cannot stack more.
pub(crate) const MOST_LAYERS: usize = 128;
/// A layout's index names the index of an image's platforms, which names manifests; one more for
/// those who wrap that again.
pub(crate) const DEEPEST_INDEX: usize = 3;

/// A manifest or an index: which of the two shows in what it names.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Document {
    pub(crate) manifests: Option<Vec<Descriptor>>,
    pub(crate) config: Option<Descriptor>,
    pub(crate) layers: Vec<Descriptor>,
}

/// How a document refers to other content.
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

/// Which machines an image is for.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Platform {
    #[serde(default)]
    pub(crate) architecture: String,
    #[serde(default)]
    pub(crate) os: String,
}

impl Platform {
    pub(crate) fn is_this_machine(&self) -> bool {
        self.os == "linux" && self.architecture == architecture()
    }
}
