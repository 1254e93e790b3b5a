//! Nodes of the graph: versions and their releases.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use fairway_api::{UnknownFields, Version};

/// Metadata keys with a meaning for the graph.
pub mod key {
    /// Architectures of a release, separated by commas.
    pub const ARCHITECTURE: &str = "io.openshift.upgrades.graph.release.arch";
    /// Channels of a release, separated by commas.
    pub const CHANNELS: &str = "io.openshift.upgrades.graph.release.channels";
    /// Digest of the release image.
    pub const MANIFEST_REF: &str = "io.openshift.upgrades.graph.release.manifestref";
    /// Source versions of added edges.
    pub const PREVIOUS_ADD: &str = "io.openshift.upgrades.graph.previous.add";
    /// Source versions of removed edges, or `*`.
    pub const PREVIOUS_REMOVE: &str = "io.openshift.upgrades.graph.previous.remove";
    /// Regular expression of the source versions of removed edges.
    pub const PREVIOUS_REMOVE_REGEX: &str = "io.openshift.upgrades.graph.previous.remove_regex";
    /// Target versions of added edges.
    pub const NEXT_ADD: &str = "io.openshift.upgrades.graph.next.add";
    /// Target versions of removed edges, or `*`.
    pub const NEXT_REMOVE: &str = "io.openshift.upgrades.graph.next.remove";
    /// Architecture that a release image declares.
    pub const OWN_ARCHITECTURE: &str = "release.openshift.io/architecture";
}

/// Architectures of releases, including `multi` for images of several architectures.
pub(crate) const ARCHITECTURES: [&str; 5] = ["amd64", "arm64", "multi", "ppc64le", "s390x"];

/// A version in the graph.
#[derive(Clone, Debug)]
pub struct Node {
    /// The version. Its build metadata is the architecture, if known.
    pub version: Version,
    /// The release of the version. `None` if other releases only reference the version.
    pub release: Option<Release>,
    /// Unknown fields, which are preserved.
    pub unknown: UnknownFields,
}

/// Image and metadata of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Release {
    /// Release image.
    pub payload: String,
    /// Metadata by key.
    pub metadata: BTreeMap<String, String>,
}

impl Node {
    /// A version without a release.
    pub fn without_release(version: Version) -> Self {
        Self { version, release: None, unknown: UnknownFields::new() }
    }

    /// Compares nodes by version, then by architecture.
    pub fn order(&self, other: &Self) -> Ordering {
        let (build, others) = (self.version.build(), other.version.build());
        self.version.cmp(&other.version).then_with(|| build.cmp(others))
    }

    /// The metadata value of a key.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.release.as_ref()?.metadata.get(key).map(String::as_str)
    }

    /// The entries of a comma-separated metadata value.
    pub fn list(&self, key: &str) -> impl Iterator<Item = &str> {
        let entries = self.metadata(key).unwrap_or_default().split(',');
        entries.map(str::trim).filter(|entry| !entry.is_empty())
    }

    /// Channels of the release.
    pub fn channels(&self) -> impl Iterator<Item = &str> {
        self.list(key::CHANNELS)
    }

    /// Architectures of the release. A node without a release has none.
    pub fn architectures(&self) -> impl Iterator<Item = &str> {
        self.list(key::ARCHITECTURE)
    }

    /// Whether the node has an architecture. A node without any architecture matches all.
    pub(crate) fn has_architecture(&self, architecture: &str) -> bool {
        let mut known =
            self.architectures().chain(self.version.build().split_terminator('.')).peekable();
        known.peek().is_none() || known.any(|known| known == architecture)
    }
}
