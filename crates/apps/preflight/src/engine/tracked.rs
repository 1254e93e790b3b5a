//! State of one check, and the time of its next run.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use fairway_findings::{CheckKind, CheckReport, CheckStatus, Finding};
use jiff::{SignedDuration, Timestamp};

use super::outcome::{CheckOutcome, fit_findings, fit_message, partial};
use super::{CheckSchedule, RunIdentity};
use crate::cluster::Resource;

/// Maximum doublings of the interval while changes do not affect the result: 16 minutes on a busy
/// cluster.
const MAX_DOUBLINGS: u32 = 4;

/// State of one check.
#[derive(Clone, Debug)]
pub(super) struct TrackedCheck {
    pub(super) kind: CheckKind,
    watched: Vec<Resource>,
    status: CheckStatus,
    message: String,
    started: Option<Timestamp>,
    ended: Option<Timestamp>,
    is_running: bool,
    /// Resources whose changes caused the latest run.
    causes: BTreeSet<Resource>,
    /// Resources that changed since the latest start.
    changed: BTreeSet<Resource>,
    /// Consecutive changes of each resource that did not affect the result.
    ineffective_changes: BTreeMap<Resource, u32>,
    /// Whether a relevant resource changed since the latest result.
    is_stale: bool,
    /// Time of the next run without changes.
    due: Option<Timestamp>,
    /// Findings of the latest result. Only another result replaces them.
    answer: Vec<Finding>,
    /// Findings for the latest run without a result.
    failure: Vec<Finding>,
}

impl TrackedCheck {
    pub(super) fn new(kind: CheckKind, watched: Vec<Resource>, now: Timestamp) -> Self {
        Self {
            kind,
            watched,
            status: CheckStatus::Waiting,
            message: String::new(),
            started: None,
            ended: None,
            is_running: false,
            causes: BTreeSet::new(),
            changed: BTreeSet::new(),
            ineffective_changes: BTreeMap::new(),
            is_stale: false,
            due: Some(now),
            answer: Vec::new(),
            failure: Vec::new(),
        }
    }

    pub(super) fn status(&self) -> CheckStatus {
        self.status
    }

    pub(super) fn is_running(&self) -> bool {
        self.is_running
    }

    pub(super) fn watched(&self, resource: Resource) -> bool {
        self.watched.contains(&resource)
    }

    /// Time of the next start; `None` while it runs.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.due.filter(|_| !self.is_running)
    }

    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        self.due().is_some_and(|due| due <= now)
    }

    pub(super) fn begin(&mut self, now: Timestamp) {
        self.is_running = true;
        self.causes = mem::take(&mut self.changed);
        self.started = Some(now);
        if self.status == CheckStatus::Waiting {
            self.status = CheckStatus::Running;
        }
    }

    pub(super) fn changed(&mut self, kind: Resource, now: Timestamp, pace: &CheckSchedule) {
        let Some(started) = self.started.filter(|_| !self.depends_on_release_only()) else {
            return;
        };
        self.changed.insert(kind);
        self.is_stale |= self.ended.is_some() && self.matters(kind);
        let soonest = later(started, self.pause(kind, pace)).max(now);
        self.due = Some(self.due.map_or(soonest, |due| due.min(soonest)));
    }

    /// Whether a change of a resource is likely to affect the result: the previous one did, or it
    /// is the first. Otherwise no result would ever be current on a cluster whose pods change all
    /// the time.
    fn matters(&self, kind: Resource) -> bool {
        !self.ineffective_changes.contains_key(&kind)
    }

    /// Delay of the next run after a change of a resource.
    fn pause(&self, kind: Resource, pace: &CheckSchedule) -> SignedDuration {
        let doublings =
            self.ineffective_changes.get(&kind).copied().unwrap_or_default().min(MAX_DOUBLINGS);
        pace.between * 2_i32.pow(doublings)
    }

    /// Time of the next run because of changes.
    fn again(&self, pace: &CheckSchedule) -> Option<Timestamp> {
        let soonest = self.changed.iter().map(|&kind| self.pause(kind, pace)).min()?;
        Some(later(self.started?, soonest))
    }

    pub(super) fn ended(
        &mut self,
        name: &str,
        outcome: CheckOutcome,
        identity: &RunIdentity,
        now: Timestamp,
    ) {
        let before = self.summary();
        self.is_running = false;
        self.ended = Some(now);
        self.status = outcome.status();
        self.failure = Vec::new();
        match outcome {
            CheckOutcome::Completed { findings, not_covered } => {
                self.answer = fit_findings(name, findings);
                self.message = fit_message(&not_covered);
            }
            CheckOutcome::Skipped(why) => {
                self.answer = Vec::new();
                self.message = fit_message(&why);
            }
            CheckOutcome::NoResult { status, why, findings } => {
                self.message = fit_message(&why);
                let found = fit_findings(name, findings);
                self.failure = partial(name, status, &self.message, found, identity);
            }
        }
        for finding in self.answer.iter_mut().chain(&mut self.failure) {
            name.clone_into(&mut finding.check);
            finding.target_version = identity.target.to_string();
        }
        self.record_effect(before == self.summary());
        self.is_stale = self.changed.iter().any(|&kind| self.matters(kind));
    }

    /// Status, message and findings.
    fn summary(&self) -> (CheckStatus, String, Vec<Finding>) {
        (self.status, self.message.clone(), self.findings().collect())
    }

    /// Records whether the changes that caused the run affected the result.
    fn record_effect(&mut self, is_same: bool) {
        if !is_same {
            self.ineffective_changes.clear();
            return;
        }
        for kind in mem::take(&mut self.causes) {
            *self.ineffective_changes.entry(kind).or_default() += 1;
        }
    }

    /// Schedules the next run.
    pub(super) fn plan(&mut self, pace: &CheckSchedule, now: Timestamp, jitter: f64) {
        self.due = match self.kind {
            CheckKind::Operator if self.depends_on_release_only() => None,
            CheckKind::Operator => Some(later(now, jittered(pace.every, jitter))),
            CheckKind::BuiltIn if self.is_transient() => Some(later(now, pace.retry)),
            CheckKind::BuiltIn => None,
        };
        self.due = self.due.into_iter().chain(self.again(pace)).min();
    }

    /// Whether the result depends on the release only and cannot change.
    fn depends_on_release_only(&self) -> bool {
        use CheckStatus::{AccessRefused, Refused, Skipped};
        self.kind == CheckKind::Operator && matches!(self.status, Skipped | Refused | AccessRefused)
    }

    /// Whether the missing result has a transient cause.
    fn is_transient(&self) -> bool {
        !self.status.has_result() && self.status != CheckStatus::VersionSkew
    }

    pub(super) fn findings(&self) -> impl Iterator<Item = Finding> {
        // A finding that was reported again is included once.
        let is_repeated = |old: &&Finding| self.failure.iter().any(|new| new.name == old.name);
        self.answer.iter().filter(move |old| !is_repeated(old)).chain(&self.failure).cloned()
    }

    pub(super) fn report(&self, name: &str) -> CheckReport {
        let looked_at = self.watched.iter().map(|resource| resource.plural.to_owned());
        CheckReport {
            name: name.to_owned(),
            kind: self.kind,
            status: self.status,
            message: self.message.clone(),
            started: self.started,
            ended: self.ended,
            looked_at: looked_at.collect(),
            stale: self.is_stale,
            // The operator sets granted permissions.
            granted: Vec::new(),
        }
    }
}

/// Sum of a time and a duration, saturating.
fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// Interval plus jitter of up to 10 %.
fn jittered(every: SignedDuration, jitter: f64) -> SignedDuration {
    let every = fairway_backoff::jittered(every.unsigned_abs(), 0.1, jitter);
    every.try_into().unwrap_or(SignedDuration::MAX)
}
