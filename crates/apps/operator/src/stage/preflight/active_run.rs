//! A preflight run that exists in the cluster: watches its objects and reads the files it writes.

use std::sync::Arc;
use std::time::Duration;

use fairway_api::reason::preflight_failed;
use fairway_findings::{Document, ExpectedDocument, ReadDocument, labels};
use fairway_release::Release;
use fairway_release::inclusion::ManifestFilter;
use tokio::time::Instant;

use super::deployment::{DEPLOYMENT_NAME, PreflightRun};
use super::diagnosis::{PreflightError, RunObservation};
use super::jobs::JobBroker;
use super::monitor::{RunMonitor, RunTimeouts};
use super::results_root::RESULT_FILE;
use super::run_directory::{FileVersion, LimitExceeded, ReadError, RunDirectory};
use super::run_state::RunContext;
use crate::cluster::{Objects, PreflightWatches};
use crate::sync::blocking;
use crate::text;

/// Poll interval of the results directory. Users wait for results, and a poll is one `stat` call.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// A run that exists in the cluster, with its watches, its results directory and its Jobs.
pub(super) struct ActiveRun {
    pub(super) run: PreflightRun,
    watches: PreflightWatches,
    directory: RunDirectory,
    broker: JobBroker,
    pub(super) monitor: RunMonitor,
    /// Version of the results file that was read last.
    version: Option<FileVersion>,
    /// Time of the next poll of the results directory.
    next_poll: Instant,
}

impl ActiveRun {
    pub(super) fn new(
        run: PreflightRun,
        directory: RunDirectory,
        timeouts: RunTimeouts,
        RunContext { placement, settings, writer }: &RunContext,
    ) -> Self {
        let labelled = labels::selector(run.id.as_str());
        let (client, namespace) = (&writer.client, &placement.namespace);
        let watches = PreflightWatches::open(client, namespace, &labelled, DEPLOYMENT_NAME);
        let broker = blocking(|| JobBroker::open(&run, settings, writer, &directory));
        let monitor = RunMonitor::begin(timeouts, fairway_clock::now());
        Self { run, watches, directory, broker, monitor, version: None, next_poll: Instant::now() }
    }

    /// Takes the latest results, unless they were taken before.
    pub(super) fn take_update(&mut self) -> Option<Document> {
        let mut document = self.monitor.take_update(fairway_clock::now())?;
        self.broker.add_results(&mut document);
        Some(document)
    }

    /// Sets the checks of the target release that this cluster gets. Returns whether they changed.
    pub(super) fn set_release(
        &mut self,
        release: &Release,
        is_verified: bool,
        filter: &ManifestFilter,
    ) -> bool {
        let is_new = self.broker.set_release(release, is_verified, filter);
        if is_new {
            self.monitor.republish();
        }
        is_new
    }

    /// Waits until an object, the results or a deadline of the run changes.
    pub(super) async fn changed(&mut self) {
        loop {
            let deadline = fairway_clock::instant_of(self.monitor.deadline());
            // The branches hold no work: `broker` stores its future, and watches and files are
            // read after they changed.
            tokio::select! {
                () = self.watches.changed() => {
                    self.observe();
                    return;
                }
                () = fairway_clock::sleep_until(Some(deadline)) => return,
                () = self.broker.reconcile() => {
                    if blocking(|| self.broker.write_answers(&self.directory)) {
                        self.monitor.republish();
                        return;
                    }
                }
                () = fairway_clock::sleep_until(Some(self.next_poll)) => {
                    self.next_poll = Instant::now() + POLL_INTERVAL;
                    blocking(|| self.broker.poll(&self.directory));
                    if blocking(|| self.read_results()) {
                        return;
                    }
                }
            }
        }
    }

    fn observe(&mut self) {
        let deployments = values(self.watches.deployments.borrow_and_update().as_ref());
        let observation = RunObservation {
            deployment: deployments.into_iter().flatten().next(),
            pods: values(self.watches.pods.borrow_and_update().as_ref()),
            events: self.watches.events.borrow_and_update().clone(),
        };
        self.monitor.observe(observation, fairway_clock::now());
    }

    /// Reads the results if the file changed. Returns whether the monitor has something new.
    fn read_results(&mut self) -> bool {
        if let Ok(Some(limit)) = self.directory.exceeded_limit() {
            self.monitor.record_reading(Err(limit_error(&limit)), fairway_clock::now());
            return true;
        }
        let version = self.directory.version(RESULT_FILE);
        if version == self.version {
            return false;
        }
        self.version = version;
        let reading = match self.directory.read(RESULT_FILE) {
            Ok(None) => return false,
            Ok(Some(bytes)) => parse_results(&bytes, &self.run),
            Err(error) => Err(read_error(&error)),
        };
        self.monitor.record_reading(reading, fairway_clock::now());
        true
    }
}

/// Values of a watch; `None` before its first list.
fn values<K>(objects: Option<&Objects<K>>) -> Option<Vec<Arc<K>>> {
    objects.map(|objects| objects.values().cloned().collect())
}

/// Parses the results and verifies that they belong to this run and release.
fn parse_results(bytes: &[u8], run: &PreflightRun) -> Result<ReadDocument, PreflightError> {
    let expected = ExpectedDocument {
        run: run.id.as_str(),
        target_version: &run.version,
        target_image: &run.image,
    };
    Document::read(bytes, &expected).map_err(|error| {
        let reason = match error {
            fairway_findings::ReadError::TooLarge(_) => preflight_failed::RESULTS_TOO_LARGE,
            fairway_findings::ReadError::UnknownFormat(_) => preflight_failed::UNKNOWN_FORMAT,
            fairway_findings::ReadError::Invalid(_) => preflight_failed::INVALID_RESULTS,
            fairway_findings::ReadError::Mismatch { .. } => preflight_failed::RESULTS_MISMATCH,
        };
        PreflightError::transient(reason, text::chain(&error))
    })
}

/// Error for a run that exceeds a limit of its directory. It is permanent, because a full disk
/// affects other Pods of the node.
fn limit_error(limit: &LimitExceeded) -> PreflightError {
    let reason = match limit {
        LimitExceeded::Files | LimitExceeded::OnDisk | LimitExceeded::Disk => {
            preflight_failed::RESULTS_TOO_LARGE
        }
        LimitExceeded::Directory | LimitExceeded::AccessDenied => preflight_failed::RESULTS_REFUSED,
    };
    PreflightError::permanent(reason, limit.to_string())
}

fn read_error(error: &ReadError) -> PreflightError {
    let reason = match error {
        ReadError::Refused { .. } => preflight_failed::RESULTS_REFUSED,
        ReadError::TooLarge { .. } => preflight_failed::RESULTS_TOO_LARGE,
        ReadError::Unreadable { .. } => preflight_failed::RESULTS_UNREADABLE,
    };
    PreflightError::transient(reason, text::chain(error))
}
