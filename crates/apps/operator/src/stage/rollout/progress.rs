//! How far one release is, manifest by manifest.

use std::collections::{BTreeMap, BTreeSet};

use fairway_release::ObjectId;

use super::{Effect, Failure, Phase, Rollout};

/// How far one release is. Manifests are named by their places among those that the cluster gets.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    image: String,
    /// Identifies the manifests that have those places.
    version_hash: String,
    phase: Phase,
    wanted: BTreeSet<usize>,
    /// What was in place once. It only grows: whatever happens to an object later is a failure of
    /// its own, and nobody is helped by a count that goes back.
    in_place: BTreeSet<usize>,
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
            in_place: BTreeSet::new(),
            failures: BTreeMap::new(),
            deleting: BTreeMap::new(),
        }
    }

    pub(super) fn image(&self) -> &str {
        &self.image
    }

    /// Whether it is about just these manifests.
    pub(super) fn is_about(&self, image: &str, version_hash: &str) -> bool {
        (self.image.as_str(), self.version_hash.as_str()) == (image, version_hash)
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// Which manifests are to be in place from now on. The rest is nobody's concern.
    pub(super) fn want(&mut self, wanted: BTreeSet<usize>) {
        self.wanted = wanted;
        let Self { wanted, in_place, failures, deleting, .. } = self;
        in_place.retain(|position| wanted.contains(position));
        failures.retain(|position, _| wanted.contains(position));
        deleting.retain(|position, _| wanted.contains(position));
    }

    /// A manifest is in place. A failure that is only to be told goes with it.
    pub(super) fn reached(&mut self, position: usize, told: Option<Failure>) {
        self.in_place.insert(position);
        match told {
            Some(failure) => self.note(position, failure),
            None => drop(self.failures.remove(&position)),
        }
    }

    /// Something stands in the way of a manifest, or is waited for. Until the manifest is reached,
    /// the last one stays: that it is tried again does not mean that it is well.
    pub(super) fn note(&mut self, position: usize, mut failure: Failure) {
        let blocks = |failure: &Failure| failure.effect != Effect::Report;
        match self.failures.get(&position) {
            // It is the same wait, whatever it is that it is waited for.
            Some(before) if blocks(before) == blocks(&failure) => failure.since = before.since,
            _ => {}
        }
        self.failures.insert(position, failure);
    }

    /// What stands in the way of a manifest.
    pub(super) fn failure(&self, position: usize) -> Option<&Failure> {
        self.failures.get(&position)
    }

    /// Whether an object that is to be deleted is still there.
    pub(super) fn deleting(&mut self, position: usize, still_there: Option<ObjectId>) {
        match still_there {
            Some(id) => drop(self.deleting.insert(position, id)),
            None => drop(self.deleting.remove(&position)),
        }
    }

    /// Whether everything is in place that is to be.
    pub(super) fn is_whole(&self) -> bool {
        self.wanted == self.in_place
    }

    /// Everything was in place.
    pub(super) fn completed(&mut self) {
        self.phase = Phase::Reconciling;
    }

    pub(super) fn snapshot(&self) -> Rollout {
        Rollout {
            image: self.image.clone(),
            phase: self.phase,
            done: self.in_place.len(),
            total: self.wanted.len(),
            failures: self.failures.values().cloned().collect(),
            deleting: self.deleting.values().cloned().collect(),
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
        progress.want((0..wanted).collect());
        progress
    }

    fn counts(progress: &Progress) -> (usize, usize, usize) {
        let Rollout { done, total, failures, .. } = progress.snapshot();
        (done, total, failures.len())
    }

    #[test]
    fn what_is_left_out_does_not_count() {
        let mut progress = progress(3);
        progress.reached(0, None);
        progress.reached(1, Some(failure(Effect::Report, 1)));
        progress.note(2, failure(Effect::Fail, 1));
        assert_eq!(counts(&progress), (2, 3, 2));
        progress.want([0, 3].into());
        assert_eq!(counts(&progress), (1, 2, 0));
        progress.reached(3, None);
        assert_eq!(counts(&progress), (2, 2, 0));
    }

    #[test]
    fn a_failure_stays_until_its_manifest_is_reached() {
        let mut progress = progress(2);
        progress.note(1, failure(Effect::Fail, 1));
        progress.reached(0, None);
        assert_eq!(counts(&progress), (1, 2, 1));
        progress.reached(1, None);
        assert_eq!(counts(&progress), (2, 2, 0));
    }

    #[test]
    fn a_wait_is_as_old_as_its_beginning() {
        let mut progress = progress(1);
        let since = |progress: &Progress| progress.failure(0).unwrap().since;
        progress.note(0, failure(Effect::Fail, 1));
        progress.note(0, failure(Effect::Wait, 2));
        assert_eq!(since(&progress), at(1));
        assert_eq!(progress.failure(0).unwrap().message, "Wait at 2");
        progress.reached(0, Some(failure(Effect::Report, 3)));
        progress.reached(0, Some(failure(Effect::Report, 4)));
        assert_eq!(since(&progress), at(3));
        progress.note(0, failure(Effect::Wait, 5));
        assert_eq!(since(&progress), at(5));
    }

    proptest! {
        #[test]
        fn the_count_never_goes_back(steps in prop::collection::vec((0..9_usize, 0..4_usize), 0..40)) {
            let mut progress = progress(9);
            let mut before = 0;
            for (position, what) in steps {
                match what {
                    0 => progress.reached(position, None),
                    1 => progress.reached(position, Some(failure(Effect::Report, 1))),
                    2 => progress.note(position, failure(Effect::Wait, 1)),
                    _ => progress.note(position, failure(Effect::Fail, 1)),
                }
                let (done, total, _) = counts(&progress);
                prop_assert!(before <= done && done <= total);
                before = done;
            }
        }
    }
}
