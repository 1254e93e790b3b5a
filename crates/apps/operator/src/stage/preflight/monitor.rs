//! State machine of a run: collects what the operator observes and reads of it, and decides whether
//! it continues. The caller passes the time.

use std::time::Duration;

use fairway_api::reason::preflight_failed;
use fairway_findings::{Document, ExecutionStatus, ReadDocument};
use jiff::{SignedDuration, Timestamp};

use super::diagnosis::{PreflightError, RunObservation};

/// Interval at which unchanged results are published for their time of update. Each publication
/// rewrites the stored record.
const HEARTBEAT_INTERVAL: SignedDuration = SignedDuration::from_mins(10);

/// Timeouts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunTimeouts {
    /// Maximum time without new results during the first pass; afterwards, maximum time without a
    /// heartbeat.
    pub(super) idle: Duration,
    /// Maximum time in total, if an update waits for the run.
    pub(super) total: Option<Duration>,
}

/// State of a run as the operator observes it.
#[derive(Debug)]
pub(super) struct RunMonitor {
    /// Start of the wait for the run.
    waiting_since: Timestamp,
    /// Time of the latest change of the results.
    last_change: Timestamp,
    /// Time of the latest write of the results.
    last_heartbeat: Timestamp,
    timeouts: RunTimeouts,
    observation: RunObservation,
    crashes: CrashHistory,
    document: Option<Document>,
    /// Whether the document has to be published.
    has_update: bool,
    /// Time of the latest publication.
    last_published: Timestamp,
    /// Why the latest results are invalid or incomplete.
    reading_error: Option<PreflightError>,
}

/// How a run, and the attempt it belongs to, ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RunEnd {
    /// The results that the run was started for are complete.
    Done,
    /// The operator stops the run because of this error.
    Aborted(PreflightError),
}

impl RunMonitor {
    pub(super) fn begin(timeouts: RunTimeouts, now: Timestamp) -> Self {
        Self {
            waiting_since: now,
            last_change: now,
            last_heartbeat: now,
            timeouts,
            observation: RunObservation::default(),
            crashes: CrashHistory::default(),
            document: None,
            has_update: false,
            last_published: now,
            reading_error: None,
        }
    }

    /// Sets the timeouts for an attempt that waits since that time.
    pub(super) fn set_timeouts(&mut self, timeouts: RunTimeouts, since: Timestamp) {
        (self.timeouts, self.waiting_since) = (timeouts, since);
    }

    /// Records the objects of the run.
    pub(super) fn observe(&mut self, observation: RunObservation, now: Timestamp) {
        if let Some(crashes) = observation.crashes() {
            self.crashes.observe(crashes, now);
        }
        self.observation = observation;
    }

    /// Records results. Invalid results do not replace valid ones.
    pub(super) fn record_reading(
        &mut self,
        reading: Result<ReadDocument, PreflightError>,
        now: Timestamp,
    ) {
        match reading {
            Ok(ReadDocument { document, dropped }) => {
                self.reading_error = dropped_error(&dropped);
                self.last_heartbeat = now;
                if self.document.as_ref().is_none_or(|before| document.differs_from(before)) {
                    (self.last_change, self.has_update) = (now, true);
                }
                self.has_update |= now.duration_since(self.last_published) >= HEARTBEAT_INTERVAL;
                self.document = Some(document);
            }
            Err(error) => self.reading_error = Some(error),
        }
    }

    /// Takes the results, if they have to be published.
    pub(super) fn take_update(&mut self, now: Timestamp) -> Option<Document> {
        if !std::mem::take(&mut self.has_update) {
            return None;
        }
        self.last_published = now;
        self.document.clone()
    }

    /// Requests another publication of the results.
    pub(super) fn republish(&mut self) {
        self.has_update = self.document.is_some();
    }

    /// All errors of the run.
    pub(super) fn errors(&self) -> Vec<PreflightError> {
        let pod_error = self.observation.error(self.document.is_some());
        pod_error
            .into_iter()
            .chain(self.reading_error.clone())
            .chain(self.reported_failure())
            .collect()
    }

    /// Failure that the target release itself reports.
    fn reported_failure(&self) -> Option<PreflightError> {
        let document = self.document.as_ref()?;
        (document.execution_status == ExecutionStatus::Failed).then(|| {
            let message = crate::text::one_line(&document.message);
            let message = if message.is_empty() { "no message" } else { &message };
            let message = format!("the target release reports a failure: {message}");
            PreflightError::transient(preflight_failed::RUNNER_FAILED, message)
        })
    }

    /// How the run ends; `None` while it continues. An update waits for the checks, for the dry run
    /// and for stale results to be renewed, but not longer than its timeout.
    pub(super) fn end(&self, now: Timestamp, has_dry_run: bool) -> Option<RunEnd> {
        let errors = self.errors();
        if let Some(permanent) = errors.iter().find(|error| error.is_permanent) {
            return Some(RunEnd::Aborted(permanent.clone()));
        }
        if self.timeouts.total.is_some()
            && self.is_finished()
            && has_dry_run
            && !self.has_stale_results()
        {
            return Some(RunEnd::Done);
        }
        if self.crashes.is_crash_loop() {
            return Some(RunEnd::Aborted(Self::crash_error(&errors)));
        }
        (now >= self.deadline()).then(|| RunEnd::Aborted(self.timeout_error(&errors, has_dry_run)))
    }

    /// Time at which the run ends without an event.
    pub(super) fn deadline(&self) -> Timestamp {
        let after = |time: Timestamp, timeout: Duration| {
            let timeout = SignedDuration::try_from(timeout).unwrap_or(SignedDuration::MAX);
            time.saturating_add(timeout).unwrap_or(Timestamp::MAX)
        };
        // After the first pass the results may never change again, but the target release rewrites
        // them as a heartbeat.
        let last_change = if self.is_completed() { self.last_heartbeat } else { self.last_change };
        let idle = after(last_change, self.timeouts.idle);
        let total = self.timeouts.total.map(|total| after(self.waiting_since, total));
        total.map_or(idle, |total| total.min(idle))
    }

    fn is_completed(&self) -> bool {
        let status = self.document.as_ref().map(|document| document.execution_status);
        status == Some(ExecutionStatus::Completed)
    }

    fn is_finished(&self) -> bool {
        let status = self.document.as_ref().map(|document| document.execution_status);
        matches!(status, Some(ExecutionStatus::Completed | ExecutionStatus::Failed))
    }

    /// Whether a check has not renewed its stale result in time.
    fn has_stale_results(&self) -> bool {
        self.document.as_ref().is_some_and(|document| document.overdue_checks().next().is_some())
    }

    fn crash_error(errors: &[PreflightError]) -> PreflightError {
        let (reason, why) = match errors.first() {
            Some(error) => (error.reason, error.message.as_str()),
            None => (preflight_failed::CRASH_LOOP_BACK_OFF, "cause unknown"),
        };
        PreflightError::permanent(
            reason,
            format!("stopped after {MAX_CRASHES} failed attempts; {why}"),
        )
    }

    fn timeout_error(&self, errors: &[PreflightError], has_dry_run: bool) -> PreflightError {
        let time = self.timeouts.total.unwrap_or(self.timeouts.idle);
        let time = SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX);
        let problem = match &self.document {
            Some(_) if self.is_completed() && self.timeouts.total.is_none() => "no heartbeat for",
            Some(_) if self.is_finished() && !has_dry_run => "dry run not complete after",
            Some(_) if self.has_stale_results() => "results still stale after",
            Some(_) => "no new results for",
            None => "no results for",
        };
        let timeout = format!("timed out: {problem} {time:#}");
        match errors.first() {
            Some(PreflightError { reason, message, .. }) => {
                PreflightError::permanent(*reason, format!("{timeout}; {message}"))
            }
            None => PreflightError::permanent(preflight_failed::NO_RESULTS_IN_TIME, timeout),
        }
    }
}

/// Error for results that were read incompletely.
fn dropped_error(dropped: &[String]) -> Option<PreflightError> {
    let message = format!("some results are dropped: {}", dropped.join("; "));
    let error = PreflightError::transient(preflight_failed::INVALID_RESULTS, message);
    (!dropped.is_empty()).then_some(error)
}

/// Number of crashes within `CRASH_WINDOW` after which the run is stopped.
const MAX_CRASHES: usize = 3;

/// Time for which a crash is counted. A broken binary crashes every few minutes; restarts of the
/// node are much less frequent.
const CRASH_WINDOW: SignedDuration = SignedDuration::from_hours(1);

/// Recent crashes of a run's container.
#[derive(Debug, Default)]
struct CrashHistory {
    /// Total number of crashes at the latest observation; `None` before the first. The time of
    /// earlier crashes is unknown, so they are not counted.
    total: Option<u32>,
    times: Vec<Timestamp>,
}

impl CrashHistory {
    /// Records the total number of crashes.
    fn observe(&mut self, count: u32, now: Timestamp) {
        let before = self.total.replace(count).unwrap_or(count);
        let new =
            usize::try_from(count.saturating_sub(before)).unwrap_or(MAX_CRASHES).min(MAX_CRASHES);
        self.times.retain(|time| now.duration_since(*time) < CRASH_WINDOW);
        self.times.extend(std::iter::repeat_n(now, new));
    }

    /// Whether the container crashes repeatedly.
    fn is_crash_loop(&self) -> bool {
        self.times.len() >= MAX_CRASHES
    }
}

#[cfg(test)]
mod tests;
