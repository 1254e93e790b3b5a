//! The payload of a release: the manifests that this cluster gets.

use fairway_api::cluster_version::{self, Architecture};
use fairway_graph::graph::key;
use fairway_release::inclusion::ManifestFilter;
use fairway_release::{Manifest, ReleaseMetadata, version_hash, with_zero_values};

use fairway_cincinnati::response;
use fairway_cincinnati::response::ResponseProblem;

/// A release and its selected manifests, ready for the rollout.
#[derive(Clone, Debug)]
pub struct Payload {
    /// The release in the form of the status.
    pub release: cluster_version::Release,
    /// Manifests in loading order, filtered by the state of the cluster at load time. The rollout
    /// evaluates feature gates, capabilities and overrides again when it applies them.
    pub manifests: Vec<Manifest>,
    /// Hash of those manifests.
    pub version_hash: String,
}

// Compares the hash instead of the manifests, because every change of an input compares payloads.
impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.version_hash == other.version_hash && self.release == other.release
    }
}

impl Payload {
    /// Selects the manifests of a release for this cluster, without those of its preflight.
    pub(crate) fn select(
        content: &fairway_release::Release,
        release: cluster_version::Release,
        filter: &ManifestFilter,
    ) -> Self {
        let included = filter.select(&content.manifests).included;
        // Same hash as the Go operator, which hashes the manifests as written.
        let version_hash = version_hash(included.iter().copied());
        Self { release, manifests: with_zero_values(&included), version_hash }
    }
}

/// A release in the form of the status: its own metadata, with the limits for releases of a graph.
pub(crate) fn described(
    metadata: &ReleaseMetadata,
    image: &str,
    problems: &mut Vec<ResponseProblem>,
) -> cluster_version::Release {
    let version = metadata.version.to_string();
    let value = |key: &str| metadata.metadata.get(key).map(String::as_str);
    let is_multi = value(key::OWN_ARCHITECTURE) == Some("multi");
    cluster_version::Release {
        architecture: is_multi.then_some(Architecture::Multi),
        image: image.to_owned(),
        url: response::link(&version, value(response::URL), problems),
        channels: response::channels(&version, value(key::CHANNELS), problems),
        version,
        ..cluster_version::Release::default()
    }
}
