//! A release with its content.

use fairway_api::cluster_version::{self, Architecture};
use fairway_graph::graph::key;
use fairway_release::inclusion::Filter;
use fairway_release::{Manifest, ReleaseMetadata, version_hash, with_zero_values};

use fairway_cincinnati::problem::Problem;
use fairway_cincinnati::release;

/// A release with its content, ready to be rolled out.
#[derive(Clone, Debug)]
pub struct Payload {
    /// The release, as a status shows it.
    pub release: cluster_version::Release,
    /// What this cluster gets of it, in loading order: what is included when it is loaded. Gates,
    /// capabilities and overrides are looked at again whenever it is applied.
    pub manifests: Vec<Manifest>,
    /// Identifies those manifests.
    pub version_hash: String,
}

/// The hash stands for the manifests: they are compared whenever something happens.
impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.version_hash == other.version_hash && self.release == other.release
    }
}

impl Payload {
    /// What this cluster gets of a release. What belongs to its preflight is no part of that.
    pub(crate) fn select(
        content: &fairway_release::Release,
        release: cluster_version::Release,
        filter: &Filter,
    ) -> Self {
        let included = filter.select(&content.manifests).included;
        // The hash is that of the existing operator, which hashes manifests as they are written.
        let version_hash = version_hash(included.iter().copied());
        Self { release, manifests: with_zero_values(&included), version_hash }
    }
}

/// A release as a status shows it: what it says about itself, held to what is asked of releases in
/// a graph.
pub(crate) fn described(
    metadata: &ReleaseMetadata,
    image: &str,
    problems: &mut Vec<Problem>,
) -> cluster_version::Release {
    let version = metadata.version.to_string();
    let said = |key: &str| metadata.metadata.get(key).map(String::as_str);
    let is_multi = said(key::OWN_ARCHITECTURE) == Some("multi");
    cluster_version::Release {
        architecture: is_multi.then_some(Architecture::Multi),
        image: image.to_owned(),
        url: release::link(&version, said(release::URL), problems),
        channels: release::channels(&version, said(key::CHANNELS), problems),
        version,
        ..cluster_version::Release::default()
    }
}
