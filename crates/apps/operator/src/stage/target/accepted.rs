//! The accepted release.

use std::sync::Arc;

use fairway_api::cluster_version::{self, UpdateHistory};
use fairway_release::Release;
use fairway_release::inclusion::ManifestFilter;

use crate::own_release::OwnRelease;
use crate::payload::{self, Payload};
use crate::stage::updates::same_content;

/// The accepted release: the operator rolls it out and reconciles it.
pub(super) struct AcceptedRelease {
    /// The release in the form of the status.
    pub(super) release: cluster_version::Release,
    /// Its manifests and metadata; `None` until it is read again after a restart.
    pub(super) content: Option<Arc<Release>>,
    /// Whether its signature was verified.
    pub(super) verified: bool,
    /// What was overridden to accept it, for the history.
    pub(super) overridden: Option<String>,
    /// The payload for the last filter, so that an unchanged filter selects only once.
    selected: Option<(ManifestFilter, Arc<Payload>)>,
}

impl AcceptedRelease {
    /// A retrieved release.
    pub(super) fn new(
        image: &str,
        content: Arc<Release>,
        verified: bool,
        overridden: Option<String>,
    ) -> Self {
        let release = payload::described(&content.metadata, image, &mut Vec::new());
        Self { release, content: Some(content), verified, overridden, selected: None }
    }

    /// The operator's own release, with the signature state and overrides of its history entry.
    pub(super) fn own(own: &OwnRelease, content: Arc<Release>, history: &[UpdateHistory]) -> Self {
        let release = own.release.clone();
        let is_own = |entry: &&UpdateHistory| same_content(&entry.image, &release.image);
        let overridden = history.first().filter(is_own).and_then(|it| it.accepted_risks.clone());
        let verified = history.iter().find(is_own).is_some_and(|entry| entry.verified);
        Self { release, content: Some(content), verified, overridden, selected: None }
    }

    /// The release of a rollout that an operator before this one started.
    pub(super) fn from_history(entry: &UpdateHistory) -> Self {
        let release = cluster_version::Release {
            version: entry.version.clone().unwrap_or_default(),
            image: entry.image.clone(),
            ..cluster_version::Release::default()
        };
        let (verified, overridden) = (entry.verified, entry.accepted_risks.clone());
        Self { release, content: None, verified, overridden, selected: None }
    }

    /// Whether it has the content of an image.
    pub(super) fn is(&self, image: &str) -> bool {
        same_content(&self.release.image, image)
    }

    /// The manifests for this cluster; none before the release is read.
    pub(super) fn payload(&mut self, filter: ManifestFilter) -> Arc<Payload> {
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
