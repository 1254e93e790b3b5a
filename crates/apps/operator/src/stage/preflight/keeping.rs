//! What is kept of runs: whatever changes in the memory is to be in the cluster, too.

use fairway_api::cluster_version::Release;
use fairway_api::reason::preflight_failed;
use fairway_findings::Document;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;

use super::Preflight;
use super::attempt::End;
use super::deployment::Run;
use super::diagnosis::Trouble;
use super::memory::{Begun, Memory, Purpose};
use super::telling::Telling;
use crate::event::Announcer;
use crate::metrics;
use crate::records::Store;

/// The memory, and where it is stored.
pub(super) struct Keeping {
    memory: Memory,
    store: Store,
    telling: Telling,
}

impl Keeping {
    /// Goes on with what an operator before this one has kept.
    pub(super) fn resume(
        mut memory: Memory,
        store: Store,
        found: &[ConfigMap],
        announcer: Announcer,
        metrics: metrics::Preflight,
    ) -> Self {
        memory.restore(found);
        if !found.is_empty() {
            store.want(memory.records());
        }
        let telling = Telling::after(&memory, announcer, metrics);
        Self { memory, store, telling }
    }

    fn save(&mut self, now: Timestamp) {
        self.telling.tell(&self.memory, now);
        self.store.want(self.memory.records());
    }

    /// A run begins, or goes on.
    pub(super) fn begin(&mut self, run: &Run, release: &Release, implicit: bool, now: Timestamp) {
        self.memory.begin(Begun { release, run: run.id.as_str(), purpose: purpose(implicit) }, now);
        self.save(now);
    }

    /// A run has said something.
    pub(super) fn learn(&mut self, image: &str, document: Document, now: Timestamp) {
        self.memory.enter(image, document, now);
        self.save(now);
    }

    /// A request for that release is over before a run of it began.
    pub(super) fn conclude_early(
        &mut self,
        release: &Release,
        implicit: bool,
        end: &End,
        now: Timestamp,
    ) {
        self.memory.ask(release, purpose(implicit));
        self.conclude(&release.image, end, now);
    }

    /// A run is over.
    pub(super) fn conclude(&mut self, image: &str, end: &End, now: Timestamp) {
        match end {
            End::Done => self.memory.end(image, now),
            End::GivenUp(Trouble { reason, message, .. }) => {
                self.memory.give_up(image, reason.code, message, now);
            }
        }
        self.save(now);
    }

    /// Why a run of that release was given up for the very request that stands, by whichever operator.
    pub(super) fn given_up(&self, image: &str) -> Option<Trouble> {
        let failure = self.memory.of(image)?.failure.as_ref().filter(|it| it.requested)?;
        let known = preflight_failed::CONDITION.reasons.iter();
        let reason = known.into_iter().find(|known| known.code == failure.reason)?;
        Some(Trouble::lasting(**reason, failure.message.clone()))
    }

    /// Nobody looks at that release any more.
    pub(super) fn leave(&mut self, image: &str, now: Timestamp) {
        self.memory.end(image, now);
        self.save(now);
    }

    /// Nobody wants to know anything any more.
    pub(super) fn forget(&mut self, now: Timestamp) {
        for release in self.memory.releases() {
            self.memory.withdraw(&release.image);
        }
        self.save(now);
    }

    /// Every release of which something is known.
    pub(super) fn releases(&self) -> Vec<Release> {
        self.memory.releases()
    }

    /// The release with that content, if anything is known of it.
    pub(super) fn release(&self, image: &str) -> Option<Release> {
        Some(self.memory.of(image)?.release.clone())
    }

    /// What a release has said about this cluster, as far as it is known.
    pub(super) fn document(&self, image: &str) -> Option<&Document> {
        self.memory.of(image)?.current()
    }

    /// Releases that nobody looks at any more, and since when.
    pub(super) fn aging(&self) -> Vec<String> {
        let kept = self.memory.kept().filter(|kept| kept.shown().is_some());
        let left = kept.filter(|kept| !kept.is_monitored());
        left.map(|kept| {
            let version = &kept.release.version;
            match kept.looked() {
                Some(time) => format!("{version} as of {time:.0}"),
                None => version.clone(),
            }
        })
        .collect()
    }

    /// What stands in the way of keeping it.
    pub(super) fn trouble(&self) -> Option<Trouble> {
        let message = format!("cannot save the results: {}", self.store.problem()?);
        Some(Trouble::passing(preflight_failed::RESULTS_NOT_STORED, message))
    }

    /// Waits until that changes.
    pub(super) async fn changed(&mut self) {
        self.store.changed().await;
    }

    /// Says all that is known.
    pub(super) fn tell(&self, preflight: &mut Preflight, is_offered: impl Fn(&str) -> bool) {
        preflight.concerns = self.memory.concerns();
        preflight.outcomes = self.memory.outcomes();
        preflight.not_offered = self.memory.releases();
        preflight.not_offered.retain(|release| !is_offered(&release.image));
    }
}

fn purpose(implicit: bool) -> Purpose {
    if implicit { Purpose::Update } else { Purpose::Asked }
}
