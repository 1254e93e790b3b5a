//! Schedule and results of all checks. A state machine: the caller passes events and the time.

mod outcome;
mod tracked;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use fairway_api::Version;
use fairway_findings::{CheckKind, Document, ExecutionStatus, FORMAT, Finding};
use jiff::{SignedDuration, Timestamp};

pub use outcome::CheckOutcome;
use tracked::TrackedCheck;

use crate::cluster::Resource;

/// Identity of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunIdentity {
    /// ID of the run.
    pub run: String,
    /// Version of the cluster.
    pub source: Version,
    /// Version of the target release.
    pub target: Version,
    /// Image of the target release, by digest.
    pub image: String,
}

/// A check of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedCheck {
    /// Name of the check.
    pub name: String,
    /// Origin of the check.
    pub kind: CheckKind,
    /// Resources that the check reads.
    pub watched: Vec<Resource>,
}

/// Intervals and parallelism of checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckSchedule {
    /// Maximum number of parallel built-in checks.
    pub built_in: usize,
    /// Maximum number of parallel Jobs.
    pub jobs: usize,
    /// Minimum time between two starts of a check.
    pub between: SignedDuration,
    /// Delay before a built-in check without a result runs again.
    pub retry: SignedDuration,
    /// Interval of Jobs, plus jitter of up to 10 %.
    pub every: SignedDuration,
}

impl Default for CheckSchedule {
    /// Four parallel checks do not noticeably load an API server. The quota of the check namespace
    /// allows a few pods. Within a minute changes are batched.
    fn default() -> Self {
        Self {
            built_in: 4,
            jobs: 4,
            between: SignedDuration::from_mins(1),
            retry: SignedDuration::from_mins(5),
            every: SignedDuration::from_hours(1),
        }
    }
}

/// All checks of a run.
#[derive(Clone, Debug)]
pub struct Engine {
    identity: RunIdentity,
    pace: CheckSchedule,
    started: Timestamp,
    completed: Option<Timestamp>,
    checks: BTreeMap<String, TrackedCheck>,
}

impl Engine {
    /// Starts a run.
    pub fn new(
        identity: RunIdentity,
        pace: CheckSchedule,
        checks: Vec<PlannedCheck>,
        now: Timestamp,
    ) -> Self {
        let tracked =
            |check: PlannedCheck| (check.name, TrackedCheck::new(check.kind, check.watched, now));
        let checks: BTreeMap<_, _> = checks.into_iter().map(tracked).collect();
        let completed = checks.is_empty().then_some(now);
        Self { identity, pace, started: now, completed, checks }
    }

    /// Identity of the run.
    pub fn identity(&self) -> &RunIdentity {
        &self.identity
    }

    /// Names of the checks to start now. They count as started.
    pub fn begin(&mut self, now: Timestamp) -> Vec<String> {
        let mut begun = Vec::new();
        for kind in [CheckKind::BuiltIn, CheckKind::Operator] {
            let room = self.room(kind);
            let waiting = self.checks.iter_mut().filter(|(_, check)| check.kind == kind);
            let mut due: Vec<_> = waiting.filter(|(_, check)| check.is_due(now)).collect();
            // The longest waiting checks first; the sort is stable, so equal ones stay ordered by
            // name.
            due.sort_by_key(|(_, check)| check.due());
            for (name, check) in due.into_iter().take(room) {
                check.begin(now);
                begun.push(name.clone());
            }
        }
        begun
    }

    /// Time of the next start without further events.
    pub fn wake(&self) -> Option<Timestamp> {
        let has_room = |check: &&TrackedCheck| self.room(check.kind) > 0;
        self.checks.values().filter(has_room).filter_map(TrackedCheck::due).min()
    }

    /// Records a change of a resource.
    pub fn changed(&mut self, resource: Resource, now: Timestamp) {
        for check in self.checks.values_mut().filter(|check| check.watched(resource)) {
            check.changed(resource, now, &self.pace);
        }
    }

    /// Records the end of a check. `jitter` is from 0 to 1 and spreads the checks of many clusters.
    pub fn ended(&mut self, name: &str, outcome: CheckOutcome, now: Timestamp, jitter: f64) {
        let Some(check) = self.checks.get_mut(name) else { return };
        let outcome = outcome.about(&self.identity);
        check.ended(name, outcome, &self.identity, now);
        check.plan(&self.pace, now, jitter);
        let all_done = self.checks.values().all(|check| check.status().is_final());
        if all_done && self.completed.is_none() {
            self.completed = Some(now);
        }
    }

    /// Whether every check has completed once.
    pub fn first_pass_done(&self) -> bool {
        self.completed.is_some()
    }

    /// Results of all checks.
    pub fn document(&self, now: Timestamp) -> Document {
        let RunIdentity { run, source, target, image } = &self.identity;
        let mut risks: Vec<Finding> =
            self.checks.values().flat_map(TrackedCheck::findings).collect();
        risks.sort_by(|a, b| (&a.name, &a.check).cmp(&(&b.name, &b.check)));
        Document {
            format: FORMAT.to_owned(),
            preflight_id: run.clone(),
            source_version: source.to_string(),
            target_version: target.to_string(),
            target_image: image.clone(),
            execution_status: match self.completed {
                Some(_) => ExecutionStatus::Completed,
                None => ExecutionStatus::Running,
            },
            message: String::new(),
            started: Some(self.started),
            completed: self.completed,
            updated: Some(now),
            checks: self.checks.iter().map(|(name, check)| check.report(name)).collect(),
            risks,
        }
    }

    fn room(&self, kind: CheckKind) -> usize {
        let running = self.checks.values().filter(|check| check.kind == kind && check.is_running());
        let most = match kind {
            CheckKind::BuiltIn => self.pace.built_in,
            CheckKind::Operator => self.pace.jobs,
        };
        most.saturating_sub(running.count())
    }
}
