//! A node of the graph: a version, and the release that has it.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use fairway_api::{UnknownFields, Version};

/// The keys of metadata that mean something to the graph.
pub mod key {
    /// The architectures of a release, separated by commas.
    pub const ARCHITECTURE: &str = "io.openshift.upgrades.graph.release.arch";
    /// The channels of a release, separated by commas.
    pub const CHANNELS: &str = "io.openshift.upgrades.graph.release.channels";
    /// The digest of a release's image.
    pub const MANIFEST_REF: &str = "io.openshift.upgrades.graph.release.manifestref";
    /// Versions from which an edge is added.
    pub const PREVIOUS_ADD: &str = "io.openshift.upgrades.graph.previous.add";
    /// Versions from which the edge is removed, or `*`.
    pub const PREVIOUS_REMOVE: &str = "io.openshift.upgrades.graph.previous.remove";
    /// A regular expression: versions from which the edge is removed.
    pub const PREVIOUS_REMOVE_REGEX: &str = "io.openshift.upgrades.graph.previous.remove_regex";
    /// Versions to which an edge is added.
    pub const NEXT_ADD: &str = "io.openshift.upgrades.graph.next.add";
    /// Versions to which the edge is removed, or `*`.
    pub const NEXT_REMOVE: &str = "io.openshift.upgrades.graph.next.remove";
    /// What a release image says about its own architecture.
    pub const OWN_ARCHITECTURE: &str = "release.openshift.io/architecture";
}

/// A version in the graph.
#[derive(Clone, Debug)]
pub struct Node {
    /// The version; its build is the architecture, where that is known.
    pub version: Version,
    /// The release of that version, unless it is only known because others name it.
    pub release: Option<Release>,
    /// What this crate does not know.
    pub unknown: UnknownFields,
}

/// A release that exists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Release {
    /// Its image.
    pub payload: String,
    /// What else is known about it.
    pub metadata: BTreeMap<String, String>,
}

impl Node {
    /// A version that somebody names.
    pub fn named(version: Version) -> Self {
        Self { version, release: None, unknown: UnknownFields::new() }
    }

    /// The order of nodes: by version, then by architecture.
    pub fn order(&self, other: &Self) -> Ordering {
        let (build, others) = (self.version.build(), other.version.build());
        self.version.cmp(&other.version).then_with(|| build.cmp(others))
    }

    /// What the metadata says under a key.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.release.as_ref()?.metadata.get(key).map(String::as_str)
    }

    /// The entries of a list in the metadata.
    pub fn list(&self, key: &str) -> impl Iterator<Item = &str> {
        let entries = self.metadata(key).unwrap_or_default().split(',');
        entries.map(str::trim).filter(|entry| !entry.is_empty())
    }

    /// The channels it is in.
    pub fn channels(&self) -> impl Iterator<Item = &str> {
        self.list(key::CHANNELS)
    }

    /// The architectures it is for. One without a release has none.
    pub fn architectures(&self) -> impl Iterator<Item = &str> {
        self.list(key::ARCHITECTURE)
    }

    /// Whether something about that architecture concerns it. What does not say its architecture
    /// may be of any.
    pub(crate) fn is_of(&self, architecture: &str) -> bool {
        let mut known =
            self.architectures().chain(self.version.build().split_terminator('.')).peekable();
        known.peek().is_none() || known.any(|known| known == architecture)
    }
}
