//! The result store with its records in the cluster, its events and its metrics.

use fairway_api::cluster_version::Release;
use fairway_api::reason::preflight_failed;
use fairway_findings::Document;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;

use super::events::RunReporter;
use super::{Purpose, ResultStore, StartedRun};
use crate::event::EventRecorder;
use crate::metrics;
use crate::records::Store;
use crate::stage::preflight::Preflight;
use crate::stage::preflight::deployment::PreflightRun;
use crate::stage::preflight::diagnosis::PreflightError;
use crate::stage::preflight::monitor::RunEnd;

/// Result store whose changes are written to `ConfigMaps` and reported.
pub(in crate::stage::preflight) struct PersistentResults {
    store: ResultStore,
    records: Store,
    reporter: RunReporter,
}

impl PersistentResults {
    /// Restores the results of previous operator processes.
    pub(in crate::stage::preflight) fn resume(
        mut store: ResultStore,
        records: Store,
        found: &[ConfigMap],
        announcer: EventRecorder,
        metrics: metrics::Preflight,
    ) -> Self {
        store.restore(found);
        if !found.is_empty() {
            records.want(store.records());
        }
        let reporter = RunReporter::new(&store, announcer, metrics);
        Self { store, records, reporter }
    }

    fn save(&mut self, now: Timestamp) {
        self.reporter.report(&self.store, now);
        self.records.want(self.store.records());
    }

    /// Records the start, or the resumption, of a run.
    pub(in crate::stage::preflight) fn begin(
        &mut self,
        run: &PreflightRun,
        release: &Release,
        implicit: bool,
        now: Timestamp,
    ) {
        self.store
            .begin(StartedRun { release, run: run.id.as_str(), purpose: purpose(implicit) }, now);
        self.save(now);
    }

    /// Records results of a run.
    pub(in crate::stage::preflight) fn record(
        &mut self,
        image: &str,
        document: Document,
        now: Timestamp,
    ) {
        self.store.record(image, document, now);
        self.save(now);
    }

    /// Records the end of an attempt before a run started.
    pub(in crate::stage::preflight) fn end_before_run(
        &mut self,
        release: &Release,
        implicit: bool,
        end: &RunEnd,
        now: Timestamp,
    ) {
        self.store.add_target(release, purpose(implicit));
        self.end(&release.image, end, now);
    }

    /// Records the end of a run.
    pub(in crate::stage::preflight) fn end(&mut self, image: &str, end: &RunEnd, now: Timestamp) {
        match end {
            RunEnd::Done => self.store.end(image, now),
            RunEnd::Aborted(PreflightError { reason, message, .. }) => {
                self.store.abort(image, reason.code, message, now);
            }
        }
        self.save(now);
    }

    /// Why the current request was aborted, by this or a previous operator process.
    pub(in crate::stage::preflight) fn abort_error(&self, image: &str) -> Option<PreflightError> {
        let failure = self.store.get(image)?.failure.as_ref().filter(|it| it.requested)?;
        let known = preflight_failed::CONDITION.reasons.iter();
        let reason = known.into_iter().find(|known| known.code == failure.reason)?;
        Some(PreflightError::permanent(**reason, failure.message.clone()))
    }

    /// Records that results are no longer updated.
    pub(in crate::stage::preflight) fn stop_monitoring(&mut self, image: &str, now: Timestamp) {
        self.store.end(image, now);
        self.save(now);
    }

    /// Removes all results.
    pub(in crate::stage::preflight) fn remove_all(&mut self, now: Timestamp) {
        for release in self.store.releases() {
            self.store.withdraw(&release.image);
        }
        self.save(now);
    }

    /// All releases with results.
    pub(in crate::stage::preflight) fn releases(&self) -> Vec<Release> {
        self.store.releases()
    }

    /// Release with this content, if it has results.
    pub(in crate::stage::preflight) fn release(&self, image: &str) -> Option<Release> {
        Some(self.store.get(image)?.release.clone())
    }

    /// Current results of a release.
    pub(in crate::stage::preflight) fn document(&self, image: &str) -> Option<&Document> {
        self.store.get(image)?.current()
    }

    /// Versions whose results are no longer updated, with their time.
    pub(in crate::stage::preflight) fn unmonitored_versions(&self) -> Vec<String> {
        let result = self.store.results().filter(|result| result.latest().is_some());
        let left = result.filter(|result| !result.is_monitored());
        left.map(|result| {
            let version = &result.release.version;
            match result.last_checked() {
                Some(time) => format!("{version} as of {time:.0}"),
                None => version.clone(),
            }
        })
        .collect()
    }

    /// Why results cannot be saved.
    pub(in crate::stage::preflight) fn save_error(&self) -> Option<PreflightError> {
        let message = format!("cannot save the results: {}", self.records.problem()?);
        Some(PreflightError::transient(preflight_failed::RESULTS_NOT_STORED, message))
    }

    /// Waits until that error changes.
    pub(in crate::stage::preflight) async fn changed(&mut self) {
        self.records.changed().await;
    }

    /// Copies all results into the output of the stage.
    pub(in crate::stage::preflight) fn fill(
        &self,
        preflight: &mut Preflight,
        is_offered: impl Fn(&str) -> bool,
    ) {
        preflight.concerns = self.store.risks();
        preflight.outcomes = self.store.outcomes();
        preflight.not_offered = self.store.releases();
        preflight.not_offered.retain(|release| !is_offered(&release.image));
    }
}

fn purpose(implicit: bool) -> Purpose {
    if implicit { Purpose::Update } else { Purpose::Requested }
}
