//! When which check runs, and what is known of all of them: a state machine that is told what
//! happened and what time it is.

mod fit;
mod outcome;
mod tracked;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use fairway_api::Version;
use fairway_findings::{CheckKind, Document, ExecutionStatus, FORMAT, Finding};
use jiff::{SignedDuration, Timestamp};

pub use outcome::Outcome;
use tracked::Tracked;

use crate::cluster::Resource;

/// Which run of which release about which cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The run.
    pub run: String,
    /// The version of the cluster.
    pub source: Version,
    /// The version of the release.
    pub target: Version,
    /// Its image, by digest.
    pub image: String,
}

/// A check that is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// What it is called.
    pub name: String,
    /// Whose it is.
    pub kind: CheckKind,
    /// What it looks at.
    pub looks_at: Vec<Resource>,
}

/// How often checks run, and how many at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Built-in checks at once.
    pub built_in: usize,
    /// Jobs at once.
    pub jobs: usize,
    /// Between two beginnings of a check, however much changes.
    pub between: SignedDuration,
    /// Until a built-in check without an answer is tried again.
    pub retry: SignedDuration,
    /// Between two runs of a Job, and up to a tenth more.
    pub every: SignedDuration,
}

impl Default for Pace {
    /// Four checks keep an API server busy without being felt; the namespace of checks has room for
    /// a few pods. A minute is what nobody waits for; what an hour has not changed, changes seldom.
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
    identity: Identity,
    pace: Pace,
    started: Timestamp,
    completed: Option<Timestamp>,
    checks: BTreeMap<String, Tracked>,
}

impl Engine {
    /// A run that begins now.
    pub fn new(identity: Identity, pace: Pace, checks: Vec<Planned>, now: Timestamp) -> Self {
        let tracked = |check: Planned| (check.name, Tracked::new(check.kind, check.looks_at, now));
        let checks: BTreeMap<_, _> = checks.into_iter().map(tracked).collect();
        let completed = checks.is_empty().then_some(now);
        Self { identity, pace, started: now, completed, checks }
    }

    /// Which run it is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// What is to begin now; it counts as begun.
    pub fn begin(&mut self, now: Timestamp) -> Vec<String> {
        let mut begun = Vec::new();
        for kind in [CheckKind::BuiltIn, CheckKind::Operator] {
            let room = self.room(kind);
            let waiting = self.checks.iter_mut().filter(|(_, check)| check.kind == kind);
            let mut due: Vec<_> = waiting.filter(|(_, check)| check.is_due(now)).collect();
            // Who waits longest is first; of those, the order of names stays.
            due.sort_by_key(|(_, check)| check.due());
            for (name, check) in due.into_iter().take(room) {
                check.begin(now);
                begun.push(name.clone());
            }
        }
        begun
    }

    /// When there may be more to begin, if nothing happens before.
    pub fn wake(&self) -> Option<Timestamp> {
        let has_room = |check: &&Tracked| self.room(check.kind) > 0;
        self.checks.values().filter(has_room).filter_map(Tracked::due).min()
    }

    /// Something of a kind has changed.
    pub fn changed(&mut self, resource: Resource, now: Timestamp) {
        for check in self.checks.values_mut().filter(|check| check.looks_at(resource)) {
            check.changed(resource, now, &self.pace);
        }
    }

    /// A check has ended. `jitter` is from 0 to 1: it spreads the checks of many clusters.
    pub fn ended(&mut self, name: &str, outcome: Outcome, now: Timestamp, jitter: f64) {
        let Some(check) = self.checks.get_mut(name) else { return };
        let outcome = outcome.about(&self.identity);
        check.ended(name, outcome, &self.identity, now);
        check.plan(&self.pace, now, jitter);
        let all_done = self.checks.values().all(|check| check.status().is_final());
        if all_done && self.completed.is_none() {
            self.completed = Some(now);
        }
    }

    /// Whether every check has come to an end once.
    pub fn first_pass_done(&self) -> bool {
        self.completed.is_some()
    }

    /// All that is known.
    pub fn document(&self, now: Timestamp) -> Document {
        let Identity { run, source, target, image } = &self.identity;
        let mut risks: Vec<Finding> = self.checks.values().flat_map(Tracked::findings).collect();
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
