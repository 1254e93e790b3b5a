//! The processing of one preflight request, from its creation until it ends or is withdrawn.

use std::time::Duration;

use fairway_api::cluster_version::Release;
use fairway_api::reason::preflight_failed;
use fairway_backoff::Backoff;
use jiff::Timestamp;
use tokio::time::Instant;

use super::deployment::PreflightRun;
use super::deployment::RunId;
use super::diagnosis::PreflightError;
use super::monitor::{RunEnd, RunTimeouts};
use super::request::RequestedRelease;
use super::run_state::{RunContext, RunState};
use crate::own_release::OwnRelease;
use crate::settings::{OnUpdate, PreflightSettings};
use crate::stage::updates::same_content;

/// Maximum time that an update waits for a preflight whose findings are only reported.
const MAX_REPORT_WAIT: Duration = Duration::from_mins(5);

/// Delays after a run that could not be created.
const RETRY_BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(5), max: Duration::from_mins(2) };

/// State of a preflight request.
pub(super) struct Attempt {
    pub(super) target: RequestedRelease,
    pub(super) began: Timestamp,
    /// Description of the release, once it is known from the update service, a payload or a record.
    pub(super) release: Option<Release>,
    /// Why the latest run could not be created.
    pub(super) failure: Option<PreflightError>,
    failures: u32,
    /// Earliest time of the next run.
    not_before: Option<Instant>,
    /// Whether the run starts again because the operator moved to another node.
    pub(super) moved: bool,
    /// How the attempt ended; `None` while it is in progress.
    pub(super) end: Option<RunEnd>,
}

impl Attempt {
    pub(super) fn new(target: RequestedRelease, began: Timestamp) -> Self {
        let (release, failure, not_before, end) = (None, None, None, None);
        Self { target, began, release, failure, failures: 0, not_before, moved: false, end }
    }

    /// Timeouts of its run. The total timeout of an implicit request includes the time before the
    /// start.
    pub(super) fn timeouts(&self, settings: &PreflightSettings) -> RunTimeouts {
        let idle = settings.timeout;
        let total = match settings.on_update {
            OnUpdate::Report => idle.min(MAX_REPORT_WAIT),
            OnUpdate::Off | OnUpdate::Require => idle,
        };
        RunTimeouts { idle, total: self.target.implicit.then_some(total) }
    }

    /// Image of the target release, if the preflight preceded an update and has ended.
    pub(super) fn ended_before_update(&self) -> Option<&str> {
        (self.target.implicit && self.end.is_some()).then_some(self.target.image.as_str())
    }

    /// Whether a run satisfies the request. A request that requires a signature does not accept a
    /// run that started without one, and a changed consent needs a new run.
    pub(super) fn wants(&self, run: &PreflightRun) -> bool {
        same_content(&run.image, &self.target.image)
            && (self.target.forced || !run.forced)
            && run.secrets == self.target.secrets
    }

    /// Whether the request has exceeded its timeout before a run started.
    fn is_timed_out(&self, settings: &PreflightSettings, now: Timestamp) -> bool {
        let RunTimeouts { idle, total } = self.timeouts(settings);
        let spent = Duration::try_from(now.duration_since(self.began)).unwrap_or_default();
        spent >= total.unwrap_or(idle)
    }

    /// Records that the target release cannot be started. Transient errors are retried until the
    /// timeout of a run. Before an update they are retried without limit: the update waits for the
    /// release itself.
    pub(super) fn record_fetch_error(
        &mut self,
        error: &PreflightError,
        settings: &PreflightSettings,
        now: Timestamp,
    ) {
        let is_over = !self.target.implicit && self.is_timed_out(settings, now);
        if error.is_permanent || is_over {
            self.end = Some(RunEnd::Aborted(error.clone()));
        }
    }

    /// Records that its run exists, and its end.
    pub(super) fn record_run(&mut self, end: Option<RunEnd>) {
        (self.failure, self.moved, self.end) = (None, false, end);
    }

    /// Records that a run could not be created; the next one starts after a delay.
    pub(super) fn record_start_error(&mut self, error: PreflightError, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        self.not_before = Some(now + RETRY_BACKOFF.after(self.failures));
        self.failure = Some(error);
    }

    /// Resumes a run of a previous operator process, if it satisfies the request and its results
    /// are on this node.
    pub(super) fn resume(
        &mut self,
        context: &RunContext,
        own: &OwnRelease,
        run: &PreflightRun,
    ) -> RunState {
        let is_requested = self.wants(run) && run.source == own.release.version;
        self.moved = is_requested && run.node != context.placement.node;
        if !is_requested || self.moved {
            return context.clear();
        }
        let timeouts = self.timeouts(&context.settings);
        context.adopt(run.clone(), timeouts).unwrap_or_else(|_| context.clear())
    }

    /// Starts a run, unless the delay after a failed start is not over.
    pub(super) fn begin(
        &mut self,
        context: &RunContext,
        own: &OwnRelease,
        version: &str,
    ) -> Option<RunState> {
        let timeouts = self.timeouts(&context.settings);
        let is_timed_out = self.is_timed_out(&context.settings, fairway_clock::now());
        if let Some(failure) = self.failure.clone().filter(|_| is_timed_out) {
            self.end = Some(RunEnd::Aborted(failure));
            return None;
        }
        if self.not_before.is_some_and(|time| Instant::now() < time) {
            return Some(RunState::Clear { not_before: self.not_before });
        }
        let id = match RunId::random() {
            Ok(id) => id,
            Err(error) => {
                let message = format!("cannot generate a run ID: {error}");
                let reason = preflight_failed::DEPLOYMENT_FAILED;
                self.record_start_error(PreflightError::transient(reason, message), Instant::now());
                return Some(RunState::Clear { not_before: self.not_before });
            }
        };
        let run = PreflightRun {
            id,
            image: self.target.image.clone(),
            version: version.to_owned(),
            source: own.release.version.clone(),
            node: context.placement.node.clone(),
            forced: self.target.forced,
            secrets: self.target.secrets.clone(),
        };
        Some(context.start(run, timeouts))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(minute * 60).unwrap()
    }

    #[test]
    fn ended_before_update_only_for_ended_implicit_request() {
        let error =
            || PreflightError::permanent(preflight_failed::OOM_KILLED, "too big".to_owned());
        for (implicit, end, has_ended) in [
            (true, None, false),
            (true, Some(RunEnd::Done), true),
            (true, Some(RunEnd::Aborted(error())), true),
            (false, None, false),
            (false, Some(RunEnd::Aborted(error())), false),
        ] {
            let mut attempt =
                Attempt::new(RequestedRelease { implicit, ..RequestedRelease::default() }, at(0));
            assert_eq!(attempt.ended_before_update(), None);
            attempt.record_run(end.clone());
            assert_eq!(attempt.ended_before_update().is_some(), has_ended, "{implicit} {end:?}");
        }
    }

    #[test]
    fn wants_unsigned_run_only_for_forced_request() {
        let image = |digit: &str| format!("registry.example/release@sha256:{}", digit.repeat(64));
        for (requested_digit, requested_forced, run_forced, is_satisfied) in [
            ("a", false, false, true),
            ("a", true, true, true),
            ("a", true, false, true),
            ("a", false, true, false),
            ("b", true, true, false),
        ] {
            let run = PreflightRun {
                id: RunId::random().unwrap(),
                image: image("a"),
                version: "5.2.0".to_owned(),
                source: "5.0.0".to_owned(),
                node: "node-1".to_owned(),
                forced: run_forced,
                secrets: BTreeSet::new(),
            };
            let (image, forced) = (image(requested_digit), requested_forced);
            let attempt = Attempt::new(
                RequestedRelease { image, forced, ..RequestedRelease::default() },
                at(0),
            );
            assert_eq!(
                attempt.wants(&run),
                is_satisfied,
                "{requested_digit} {forced} {run_forced}"
            );
        }
    }

    #[test]
    fn wants_only_run_with_same_consent() {
        let secrets = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let image = format!("registry.example/release@sha256:{}", "a".repeat(64));
        let run = |names: &[&str]| PreflightRun {
            id: RunId::random().unwrap(),
            image: image.clone(),
            version: "5.2.0".to_owned(),
            source: "5.0.0".to_owned(),
            node: "node-1".to_owned(),
            forced: false,
            secrets: secrets(names),
        };
        let target = RequestedRelease {
            image: image.clone(),
            secrets: secrets(&["a/b"]),
            ..RequestedRelease::default()
        };
        let attempt = Attempt::new(target, at(0));
        assert!(attempt.wants(&run(&["a/b"])));
        assert!(!attempt.wants(&run(&[])));
        assert!(!attempt.wants(&run(&["a/b", "a/c"])));
    }

    #[test]
    fn record_fetch_error_aborts_on_permanent_error_or_timeout() {
        let transient =
            PreflightError::transient(preflight_failed::RETRIEVE_PAYLOAD, "down".to_owned());
        let other =
            PreflightError::permanent(preflight_failed::VERIFY_PAYLOAD_VERSION, "5.7".to_owned());
        let settings = PreflightSettings::default();
        for (error, implicit, minute, is_given_up) in [
            (&transient, false, 59, false),
            (&transient, false, 60, true),
            // The update itself waits for the release and reports the error.
            (&transient, true, 60, false),
            (&other, false, 0, true),
            (&other, true, 0, true),
        ] {
            let mut attempt =
                Attempt::new(RequestedRelease { implicit, ..RequestedRelease::default() }, at(0));
            attempt.record_fetch_error(error, &settings, at(minute));
            let abort_error = matches!(&attempt.end, Some(RunEnd::Aborted(why)) if why == error);
            assert_eq!(abort_error, is_given_up, "{error:?} {implicit} {minute}");
        }
    }
}
