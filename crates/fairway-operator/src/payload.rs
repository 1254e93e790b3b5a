//! A release with its content.

use fairway_api::cluster_version;
use fairway_release::Manifest;

/// A release with its content, ready to be rolled out.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    /// The release, as a status shows it.
    pub release: cluster_version::Release,
    /// What this cluster gets of it, in loading order: what is included when it is loaded. Gates,
    /// capabilities and overrides are looked at again whenever it is applied.
    pub manifests: Vec<Manifest>,
    /// Identifies those manifests.
    pub version_hash: String,
}
