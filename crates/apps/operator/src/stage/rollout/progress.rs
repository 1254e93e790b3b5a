//! Progress of a rollout, by manifest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use fairway_release::ObjectId;
use tokio::sync::watch;

use super::{Effect, Failure, Phase, Rollout};
use crate::metrics;
use crate::sync::{lock, publish};

/// Progress of one release. Manifests are identified by their position in the payload.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    image: String,
    /// Hash of the manifests that have those positions.
    version_hash: String,
    phase: Phase,
    wanted: BTreeSet<usize>,
    /// Manifests that were reconciled once. The set only grows: a later failure of an object is
    /// reported as a failure, and the count never decreases.
    reconciled: BTreeSet<usize>,
    failures: BTreeMap<usize, Failure>,
    deleting: BTreeMap<usize, ObjectId>,
}

impl Progress {
    pub(super) fn new(image: String, version_hash: String, phase: Phase) -> Self {
        Self {
            image,
            version_hash,
            phase,
            wanted: BTreeSet::new(),
            reconciled: BTreeSet::new(),
            failures: BTreeMap::new(),
            deleting: BTreeMap::new(),
        }
    }

    pub(super) fn image(&self) -> &str {
        &self.image
    }

    /// Whether it is about these manifests.
    pub(super) fn is_about(&self, image: &str, version_hash: &str) -> bool {
        (self.image.as_str(), self.version_hash.as_str()) == (image, version_hash)
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// Replaces the set of selected manifests, and drops the state of the others.
    pub(super) fn select(&mut self, wanted: BTreeSet<usize>) {
        self.wanted = wanted;
        let Self { wanted, reconciled, failures, deleting, .. } = self;
        reconciled.retain(|position| wanted.contains(position));
        failures.retain(|position, _| wanted.contains(position));
        deleting.retain(|position, _| wanted.contains(position));
    }

    /// Marks a manifest as reconciled, with a failure that is only reported.
    pub(super) fn reconciled(&mut self, position: usize, reported: Option<Failure>) {
        self.reconciled.insert(position);
        match reported {
            Some(failure) => self.set_failure(position, failure),
            None => drop(self.failures.remove(&position)),
        }
    }

    /// Records a failure. It stays until the manifest is reconciled: a retry does not clear it.
    pub(super) fn set_failure(&mut self, position: usize, mut failure: Failure) {
        let blocks = |failure: &Failure| failure.effect != Effect::Report;
        match self.failures.get(&position) {
            // A manifest that waits for another cause still waits since the first.
            Some(before) if blocks(before) == blocks(&failure) => failure.since = before.since,
            _ => {}
        }
        self.failures.insert(position, failure);
    }

    /// The failure of a manifest.
    pub(super) fn failure(&self, position: usize) -> Option<&Failure> {
        self.failures.get(&position)
    }

    /// Records whether the object of a `delete` manifest still exists.
    pub(super) fn set_deleting(&mut self, position: usize, still_there: Option<ObjectId>) {
        match still_there {
            Some(id) => drop(self.deleting.insert(position, id)),
            None => drop(self.deleting.remove(&position)),
        }
    }

    /// Whether all selected manifests are reconciled.
    pub(super) fn is_complete(&self) -> bool {
        self.wanted == self.reconciled
    }

    /// Enters the phase `Reconciling`.
    pub(super) fn complete(&mut self) {
        self.phase = Phase::Reconciling;
    }

    pub(super) fn snapshot(&self) -> Rollout {
        Rollout {
            image: self.image.clone(),
            phase: self.phase,
            done: self.reconciled.len(),
            total: self.wanted.len(),
            failures: self.failures.values().cloned().collect(),
            deleting: self.deleting.values().cloned().collect(),
        }
    }
}

/// Progress of the rollout, and the channel that publishes every change as a complete snapshot.
pub(super) struct ProgressPublisher {
    progress: Mutex<Progress>,
    out: watch::Sender<Option<Arc<Rollout>>>,
    metrics: metrics::Rollout,
}

impl ProgressPublisher {
    pub(super) fn new(out: watch::Sender<Option<Arc<Rollout>>>, metrics: metrics::Rollout) -> Self {
        let progress = Mutex::new(Progress::new(String::new(), String::new(), Phase::Reconciling));
        Self { progress, out, metrics }
    }

    /// Changes the progress and publishes it.
    pub(super) fn change(&self, change: impl FnOnce(&mut Progress)) {
        let mut progress = lock(&self.progress);
        change(&mut progress);
        let rollout = progress.snapshot();
        self.metrics.counted(rollout.done, rollout.total);
        // Under the lock, so that no older snapshot follows a newer one.
        publish(&self.out, Some(Arc::new(rollout)));
    }

    /// Records that a manifest is blocked or waiting.
    pub(super) fn set_failure(&self, position: usize, failure: Failure) {
        let text = |failure: &Failure| (failure.reason, failure.message.clone());
        if lock(&self.progress).failure(position).map(text) != Some(text(&failure)) {
            let Failure { effect, reason, message, .. } = &failure;
            tracing::info!(?effect, reason, error = message, "manifest not reconciled");
        }
        self.change(|progress| progress.set_failure(position, failure));
    }

    /// Records whether the object of a manifest with `delete` still exists.
    pub(super) fn set_deleting(&self, position: usize, still_there: Option<&ObjectId>) {
        self.change(|progress| progress.set_deleting(position, still_there.cloned()));
    }

    /// Phase of the rollout, if it is about that release.
    pub(super) fn phase_of(&self, image: &str) -> Option<Phase> {
        let progress = lock(&self.progress);
        (progress.image() == image).then(|| progress.phase())
    }

    /// Whether the progress is about these manifests of a release.
    pub(super) fn is_about(&self, image: &str, version_hash: &str) -> bool {
        lock(&self.progress).is_about(image, version_hash)
    }

    /// Completes the rollout if all manifests are reconciled.
    pub(super) fn complete(&self) {
        let completed = {
            let progress = lock(&self.progress);
            let is_news = progress.phase() != Phase::Reconciling && progress.is_complete();
            is_news.then(|| progress.image().to_owned())
        };
        if let Some(image) = completed {
            tracing::info!(image, "rollout complete");
            self.change(Progress::complete);
        }
    }
}

#[cfg(test)]
mod tests {
    use fairway_api::reason::rollout as reason;
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn failure(effect: Effect, second: i64) -> Failure {
        let reason = reason::UPDATE_PAYLOAD_FAILED.code;
        let message = format!("{effect:?} at {second}");
        Failure { effect, reason, message, cluster_operator: None, since: at(second) }
    }

    fn progress(wanted: usize) -> Progress {
        let mut progress = Progress::new("image".to_owned(), String::new(), Phase::Updating);
        progress.select((0..wanted).collect());
        progress
    }

    fn counts(progress: &Progress) -> (usize, usize, usize) {
        let Rollout { done, total, failures, .. } = progress.snapshot();
        (done, total, failures.len())
    }

    #[test]
    fn counts_exclude_unselected_manifests() {
        let mut progress = progress(3);
        progress.reconciled(0, None);
        progress.reconciled(1, Some(failure(Effect::Report, 1)));
        progress.set_failure(2, failure(Effect::Fail, 1));
        assert_eq!(counts(&progress), (2, 3, 2));
        progress.select([0, 3].into());
        assert_eq!(counts(&progress), (1, 2, 0));
        progress.reconciled(3, None);
        assert_eq!(counts(&progress), (2, 2, 0));
    }

    #[test]
    fn failure_stays_until_manifest_is_reached() {
        let mut progress = progress(2);
        progress.set_failure(1, failure(Effect::Fail, 1));
        progress.reconciled(0, None);
        assert_eq!(counts(&progress), (1, 2, 1));
        progress.reconciled(1, None);
        assert_eq!(counts(&progress), (2, 2, 0));
    }

    #[test]
    fn failure_since_is_start_of_wait() {
        let mut progress = progress(1);
        let since = |progress: &Progress| progress.failure(0).unwrap().since;
        progress.set_failure(0, failure(Effect::Fail, 1));
        progress.set_failure(0, failure(Effect::Wait, 2));
        assert_eq!(since(&progress), at(1));
        assert_eq!(progress.failure(0).unwrap().message, "Wait at 2");
        progress.reconciled(0, Some(failure(Effect::Report, 3)));
        progress.reconciled(0, Some(failure(Effect::Report, 4)));
        assert_eq!(since(&progress), at(3));
        progress.set_failure(0, failure(Effect::Wait, 5));
        assert_eq!(since(&progress), at(5));
    }

    proptest! {
        #[test]
        fn done_never_decreases(steps in prop::collection::vec((0..9_usize, 0..4_usize), 0..40)) {
            let mut progress = progress(9);
            let mut before = 0;
            for (position, what) in steps {
                match what {
                    0 => progress.reconciled(position, None),
                    1 => progress.reconciled(position, Some(failure(Effect::Report, 1))),
                    2 => progress.set_failure(position, failure(Effect::Wait, 1)),
                    _ => progress.set_failure(position, failure(Effect::Fail, 1)),
                }
                let (done, total, _) = counts(&progress);
                prop_assert!(before <= done && done <= total);
                before = done;
            }
        }
    }
}
