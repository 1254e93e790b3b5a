//! The release that was accepted last.

use std::sync::Arc;

use fairway_api::cluster_version::{self, UpdateHistory};
use fairway_release::Release;
use fairway_release::inclusion::Filter;

use crate::own_release::OwnRelease;
use crate::payload::{self, Payload};
use crate::stage::updates::same_content;

/// The release that was accepted last.
pub(super) struct Accepted {
    /// The release, as a status shows it.
    pub(super) release: cluster_version::Release,
    /// All that it brings; nothing before it was read again.
    pub(super) content: Option<Arc<Release>>,
    /// Whether its signature was verified.
    pub(super) verified: bool,
    /// What was overridden so that it could be accepted.
    pub(super) accepted_risks: Option<String>,
}

impl Accepted {
    /// A release that was retrieved, and may be rolled out.
    pub(super) fn new(
        image: &str,
        content: Arc<Release>,
        verified: bool,
        accepted_risks: Option<String>,
    ) -> Self {
        let release = payload::described(&content.metadata, image, &mut Vec::new());
        Self { release, content: Some(content), verified, accepted_risks }
    }

    /// The release of the operator itself. What the history says about it stays.
    pub(super) fn own(own: &OwnRelease, content: Arc<Release>, history: &[UpdateHistory]) -> Self {
        let release = own.release.clone();
        let begun = history.first().filter(|entry| same_content(&entry.image, &release.image));
        let accepted_risks = begun.and_then(|entry| entry.accepted_risks.clone());
        let verified = begun.is_some_and(|entry| entry.verified);
        Self { release, content: Some(content), verified, accepted_risks }
    }

    /// A release that was accepted by an operator before this one.
    pub(super) fn before(entry: &UpdateHistory) -> Self {
        let release = cluster_version::Release {
            version: entry.version.clone().unwrap_or_default(),
            image: entry.image.clone(),
            ..cluster_version::Release::default()
        };
        let accepted_risks = entry.accepted_risks.clone();
        Self { release, content: None, verified: entry.verified, accepted_risks }
    }

    pub(super) fn is(&self, image: &str) -> bool {
        same_content(&self.release.image, image)
    }

    /// What the cluster gets of it; nothing of a release that was not read.
    pub(super) fn payload(&self, filter: impl FnOnce(&Release) -> Filter) -> Payload {
        let release = self.release.clone();
        match &self.content {
            Some(content) => Payload::select(content, release, &filter(content)),
            None => Payload { release, manifests: Vec::new(), version_hash: String::new() },
        }
    }
}
