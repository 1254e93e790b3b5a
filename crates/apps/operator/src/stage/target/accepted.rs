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
    pub(super) overridden: Option<String>,
    /// What the cluster gets of it, with what decided about that: it is told apart once.
    selected: Option<(Filter, Arc<Payload>)>,
}

impl Accepted {
    /// A release that was retrieved, and may be rolled out.
    pub(super) fn new(
        image: &str,
        content: Arc<Release>,
        verified: bool,
        overridden: Option<String>,
    ) -> Self {
        let release = payload::described(&content.metadata, image, &mut Vec::new());
        Self { release, content: Some(content), verified, overridden, selected: None }
    }

    /// The release of the operator itself. What the history says about it stays.
    pub(super) fn own(own: &OwnRelease, content: Arc<Release>, history: &[UpdateHistory]) -> Self {
        let release = own.release.clone();
        let is_own = |entry: &&UpdateHistory| same_content(&entry.image, &release.image);
        let overridden = history.first().filter(is_own).and_then(|it| it.accepted_risks.clone());
        let verified = history.iter().find(is_own).is_some_and(|entry| entry.verified);
        Self { release, content: Some(content), verified, overridden, selected: None }
    }

    /// A release that was accepted by an operator before this one.
    pub(super) fn before(entry: &UpdateHistory) -> Self {
        let release = cluster_version::Release {
            version: entry.version.clone().unwrap_or_default(),
            image: entry.image.clone(),
            ..cluster_version::Release::default()
        };
        let (verified, overridden) = (entry.verified, entry.accepted_risks.clone());
        Self { release, content: None, verified, overridden, selected: None }
    }

    /// The same, with what was overridden this time.
    pub(super) fn in_spite_of(self, overridden: Option<String>) -> Self {
        Self { overridden, ..self }
    }

    pub(super) fn is(&self, image: &str) -> bool {
        same_content(&self.release.image, image)
    }

    /// What the cluster gets of it; nothing of a release that was not read.
    pub(super) fn payload(&mut self, filter: Filter) -> Arc<Payload> {
        if let Some((known, payload)) = &self.selected
            && *known == filter
        {
            return Arc::clone(payload);
        }
        let release = self.release.clone();
        let payload = Arc::new(match &self.content {
            Some(content) => Payload::select(content, release, &filter),
            None => Payload { release, manifests: Vec::new(), version_hash: String::new() },
        });
        self.selected = Some((filter, Arc::clone(&payload)));
        payload
    }
}
