//! What is published while many work at once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fairway_release::ObjectId;
use tokio::sync::watch;

use super::progress::Progress;
use super::{Failure, Phase, Rollout};
use crate::metrics;

/// What is published: every change of it is one whole snapshot.
pub(super) struct Board {
    progress: Mutex<Progress>,
    out: watch::Sender<Option<Arc<Rollout>>>,
    metrics: metrics::Rollout,
}

impl Board {
    pub(super) fn new(out: watch::Sender<Option<Arc<Rollout>>>, metrics: metrics::Rollout) -> Self {
        let progress = Mutex::new(Progress::new(String::new(), String::new(), Phase::Reconciling));
        Self { progress, out, metrics }
    }

    /// Changes what is known, and publishes it.
    pub(super) fn change(&self, change: impl FnOnce(&mut Progress)) {
        let mut progress = self.progress();
        change(&mut progress);
        let rollout = progress.snapshot();
        self.metrics.counted(rollout.done, rollout.total);
        // Under the lock, so that no older snapshot comes after a newer one.
        self.out.send_if_modified(|published| {
            let is_news = published.as_deref() != Some(&rollout);
            if is_news {
                *published = Some(Arc::new(rollout));
            }
            is_news
        });
    }

    /// Something stands in the way of a manifest, or is waited for.
    pub(super) fn note(&self, position: usize, failure: Failure) {
        let said = |failure: &Failure| (failure.reason, failure.message.clone());
        if self.progress().failure(position).map(said) != Some(said(&failure)) {
            let Failure { effect, reason, message, .. } = &failure;
            tracing::info!(?effect, reason, error = message, "manifest not reconciled");
        }
        self.change(|progress| progress.note(position, failure));
    }

    /// Whether an object that is to be deleted is still there.
    pub(super) fn deleting(&self, position: usize, still_there: Option<&ObjectId>) {
        self.change(|progress| progress.deleting(position, still_there.cloned()));
    }

    /// What is being done with a release, if it is the one that is worked on.
    pub(super) fn phase_of(&self, image: &str) -> Option<Phase> {
        let progress = self.progress();
        (progress.image() == image).then(|| progress.phase())
    }

    /// Whether what is known is about just these manifests of a release.
    pub(super) fn is_about(&self, image: &str, version_hash: &str) -> bool {
        self.progress().is_about(image, version_hash)
    }

    /// Everything is in place, if it is.
    pub(super) fn complete(&self) {
        let completed = {
            let progress = self.progress();
            let is_news = progress.phase() != Phase::Reconciling && progress.is_whole();
            is_news.then(|| progress.image().to_owned())
        };
        if let Some(image) = completed {
            tracing::info!(image, "rollout complete");
            self.change(Progress::completed);
        }
    }

    /// No code of others runs under the lock but what changes one field, so a poisoned one guards
    /// whole values.
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
