//! What is known of one check, and when it runs next.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use fairway_findings::{CheckKind, CheckReport, CheckStatus, Finding};
use jiff::{SignedDuration, Timestamp};

use super::outcome::{Outcome, partial};
use super::{Identity, Pace, fit};
use crate::cluster::Resource;

/// How often the pause between two looks doubles while what changes changes no answer: a busy cluster
/// is looked at every quarter of an hour then.
const DOUBLINGS: u32 = 4;

/// What is known of one check.
#[derive(Clone, Debug)]
pub(super) struct Tracked {
    pub(super) kind: CheckKind,
    looks_at: Vec<Resource>,
    status: CheckStatus,
    message: String,
    started: Option<Timestamp>,
    ended: Option<Timestamp>,
    is_running: bool,
    /// The kinds of which something had changed when it began last.
    causes: BTreeSet<Resource>,
    /// The kinds of which something has changed since then.
    changed: BTreeSet<Resource>,
    /// How often in a row changes of a kind have not changed what it says.
    in_vain: BTreeMap<Resource, u32>,
    /// Something that matters has changed since its last answer.
    is_stale: bool,
    /// When it runs next, if nothing changes before.
    due: Option<Timestamp>,
    /// What it found when it last came to an answer: only another answer withdraws that.
    answer: Vec<Finding>,
    /// What stands for the answer that it could not give last.
    failure: Vec<Finding>,
}

impl Tracked {
    pub(super) fn new(kind: CheckKind, looks_at: Vec<Resource>, now: Timestamp) -> Self {
        Self {
            kind,
            looks_at,
            status: CheckStatus::Waiting,
            message: String::new(),
            started: None,
            ended: None,
            is_running: false,
            causes: BTreeSet::new(),
            changed: BTreeSet::new(),
            in_vain: BTreeMap::new(),
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

    pub(super) fn looks_at(&self, resource: Resource) -> bool {
        self.looks_at.contains(&resource)
    }

    /// When it is to begin; never, while it runs.
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

    pub(super) fn changed(&mut self, kind: Resource, now: Timestamp, pace: &Pace) {
        let Some(started) = self.started.filter(|_| !self.is_settled()) else { return };
        self.changed.insert(kind);
        self.is_stale |= self.ended.is_some() && self.matters(kind);
        let soonest = later(started, self.pause(kind, pace)).max(now);
        self.due = Some(self.due.map_or(soonest, |due| due.min(soonest)));
    }

    /// Whether a change of that kind may well change the answer: the last one did, or it is the
    /// first. Where pods come and go all the time, no answer would ever be fresh otherwise.
    fn matters(&self, kind: Resource) -> bool {
        !self.in_vain.contains_key(&kind)
    }

    /// How long after its beginning it looks again because of such a change.
    fn pause(&self, kind: Resource, pace: &Pace) -> SignedDuration {
        let doublings = self.in_vain.get(&kind).copied().unwrap_or_default().min(DOUBLINGS);
        pace.between * 2_i32.pow(doublings)
    }

    /// When it looks again because of what has changed since it began.
    fn again(&self, pace: &Pace) -> Option<Timestamp> {
        let soonest = self.changed.iter().map(|&kind| self.pause(kind, pace)).min()?;
        Some(later(self.started?, soonest))
    }

    pub(super) fn ended(
        &mut self,
        name: &str,
        outcome: Outcome,
        identity: &Identity,
        now: Timestamp,
    ) {
        let before = self.said();
        self.is_running = false;
        self.ended = Some(now);
        self.status = outcome.status();
        self.failure = Vec::new();
        match outcome {
            Outcome::Answered { findings, left_out } => {
                self.answer = fit::findings(name, findings);
                self.message = fit::message(&left_out);
            }
            Outcome::Skipped(why) => {
                self.answer = Vec::new();
                self.message = fit::message(&why);
            }
            Outcome::Unanswered { status, why, findings } => {
                self.message = fit::message(&why);
                let found = fit::findings(name, findings);
                self.failure = partial(name, status, &self.message, found, identity);
            }
        }
        for finding in self.answer.iter_mut().chain(&mut self.failure) {
            name.clone_into(&mut finding.check);
            finding.target_version = identity.target.to_string();
        }
        self.learn(before == self.said());
        self.is_stale = self.changed.iter().any(|&kind| self.matters(kind));
    }

    /// All that it says.
    fn said(&self) -> (CheckStatus, String, Vec<Finding>) {
        (self.status, self.message.clone(), self.findings().collect())
    }

    /// Takes note of whether the changes because of which it looked were worth it.
    fn learn(&mut self, is_same: bool) {
        if !is_same {
            self.in_vain.clear();
            return;
        }
        for kind in mem::take(&mut self.causes) {
            *self.in_vain.entry(kind).or_default() += 1;
        }
    }

    /// Settles when it runs next.
    pub(super) fn plan(&mut self, pace: &Pace, now: Timestamp, jitter: f64) {
        self.due = match self.kind {
            CheckKind::Operator if self.is_settled() => None,
            CheckKind::Operator => Some(later(now, jittered(pace.every, jitter))),
            CheckKind::BuiltIn if self.may_know_later() => Some(later(now, pace.retry)),
            CheckKind::BuiltIn => None,
        };
        self.due = self.due.into_iter().chain(self.again(pace)).min();
    }

    /// Whether the release alone decides about it, which stays the same.
    fn is_settled(&self) -> bool {
        use CheckStatus::{AccessRefused, Refused, Skipped};
        self.kind == CheckKind::Operator && matches!(self.status, Skipped | Refused | AccessRefused)
    }

    /// Whether it has no answer for a reason that may pass by itself.
    fn may_know_later(&self) -> bool {
        !self.status.is_answer() && self.status != CheckStatus::VersionSkew
    }

    pub(super) fn findings(&self) -> impl Iterator<Item = Finding> {
        // What was found again, for sure or not, is said once.
        let is_said_again = |old: &&Finding| self.failure.iter().any(|new| new.name == old.name);
        self.answer.iter().filter(move |old| !is_said_again(old)).chain(&self.failure).cloned()
    }

    pub(super) fn report(&self, name: &str) -> CheckReport {
        let looked_at = self.looks_at.iter().map(|resource| resource.plural.to_owned());
        CheckReport {
            name: name.to_owned(),
            kind: self.kind,
            status: self.status,
            message: self.message.clone(),
            started: self.started,
            ended: self.ended,
            looked_at: looked_at.collect(),
            stale: self.is_stale,
            // Whoever granted something says so.
            granted: Vec::new(),
        }
    }
}

/// A time after another; the end of all times, if there is none.
fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// A check interval with up to a tenth of jitter.
fn jittered(every: SignedDuration, jitter: f64) -> SignedDuration {
    let every = fairway_backoff::jittered(every.unsigned_abs(), 0.1, jitter);
    every.try_into().unwrap_or(SignedDuration::MAX)
}
