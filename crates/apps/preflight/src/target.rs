//! The release on whose behalf a cluster is looked at.

use std::sync::Arc;

use fairway_api::Version;
use fairway_release::{Manifest, Release};

/// The release on whose behalf a cluster is looked at, and how far it is from the one that runs.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its image, by digest.
    pub image: String,
    /// Its version.
    pub version: Version,
    /// The version of the cluster.
    pub source: Version,
    /// All that it brings.
    pub content: Arc<Release>,
    /// What of it this cluster would get.
    pub manifests: Vec<Manifest>,
}
