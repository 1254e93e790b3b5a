//! What is known of one target.

use fairway_api::cluster_version::Release;
use fairway_api::reason::{preflight_completed, preflight_failed};
use fairway_findings::record::{Failure, Run};
use fairway_findings::{CheckReport, Document, ExecutionStatus, Finding};
use jiff::Timestamp;

use super::bounds::bounded;
use crate::stage::preflight::Outcome;

/// Runs of one target that are remembered: enough to see that something comes and goes.
pub(super) const MAX_RUNS: usize = 10;

/// What a run is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Somebody asked for it.
    #[default]
    Asked,
    /// An update is about to begin.
    Update,
}

/// A run that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Running {
    pub(super) id: String,
    pub(super) began: Timestamp,
}

/// What is known of one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Kept {
    /// The release.
    pub(crate) release: Release,
    /// Whether anybody has ever asked for it: what was found then counts, whatever else looks.
    pub(super) purpose: Purpose,
    /// The run that is under way; what is kept of a target without one ages.
    pub(super) running: Option<Running>,
    /// Why the last run has no whole answer.
    pub(crate) failure: Option<Failure>,
    /// The last document in which every check had answered.
    pub(super) complete: Option<Document>,
    /// A later one in which some had not, with what is still known from before.
    pub(super) partial: Option<Document>,
    /// The runs that are over, the newest first.
    pub(super) history: Vec<Run>,
}

impl Kept {
    pub(super) fn begin(&mut self, release: Release, run: &str, purpose: Purpose, now: Timestamp) {
        let is_new = self.release.image.is_empty();
        if is_new || purpose == Purpose::Asked {
            self.purpose = purpose;
        }
        self.release = release;
        self.failure = None;
        self.running = Some(Running { id: run.to_owned(), began: now });
    }

    pub(super) fn enter(&mut self, mut document: Document, source: &str, now: Timestamp) {
        let is_its = |running: &Running| running.id == document.preflight_id;
        if !self.running.as_ref().is_some_and(is_its) {
            return;
        }
        source.clone_into(&mut document.source_version);
        document.updated = document.updated.or(Some(now)).map(|updated| updated.min(now));
        let standing = self.shown().map(|before| still_standing(before, &document));
        document.risks.extend(standing.unwrap_or_default());
        let mut document = bounded(document);
        document.risks.sort_by(|one, other| one.name.cmp(&other.name));
        if document.is_complete() {
            self.complete = Some(document);
            self.partial = None;
        } else {
            self.partial = Some(document);
        }
    }

    pub(super) fn give_up(&mut self, reason: &str, why: &str, source: &str, now: Timestamp) {
        // One that could not begin is a run as well: what others said before is no answer of it.
        let running = self.running.take();
        self.remember(running, reason, source, now);
        let (reason, message) = (reason.to_owned(), why.to_owned());
        self.failure = Some(Failure { reason, message, requested: true });
    }

    pub(super) fn end(&mut self, source: &str, now: Timestamp) {
        if let Some(failure) = &mut self.failure {
            failure.requested = false;
        }
        let outcome = match self.current() {
            Some(document) if document.is_complete() && document.risks.is_empty() => {
                preflight_completed::NO_RISKS_FOUND
            }
            Some(document) if document.is_complete() => preflight_completed::RISKS_FOUND,
            Some(document) if document.execution_status == ExecutionStatus::Completed => {
                preflight_completed::PREFLIGHT_PARTIAL
            }
            _ => preflight_failed::KILLED,
        };
        if let Some(running) = self.running.take() {
            self.remember(Some(running), outcome.code, source, now);
        }
    }

    fn remember(&mut self, run: Option<Running>, outcome: &str, source: &str, now: Timestamp) {
        let (id, started) = run.map(|run| (run.id, run.began)).unzip();
        let id = id.unwrap_or_default();
        let said = self.shown().filter(|document| document.preflight_id == id);
        let run = Run {
            risks: said.map_or(0, |document| document.risks.len()),
            preflight_id: id,
            source_version: source.to_owned(),
            target_version: self.release.version.clone(),
            started,
            ended: Some(now),
            outcome: outcome.to_owned(),
        };
        self.history.insert(0, run);
        self.history.truncate(MAX_RUNS);
    }

    /// What is known: the latest document.
    pub(crate) fn shown(&self) -> Option<&Document> {
        self.partial.as_ref().or(self.complete.as_ref())
    }

    /// What the run that is under way has said, or the last one.
    pub(crate) fn current(&self) -> Option<&Document> {
        let is_current = |document: &&Document| match &self.running {
            Some(running) => running.id == document.preflight_id,
            None => true,
        };
        self.shown().filter(is_current)
    }

    /// Whether somebody still looks.
    pub(crate) fn is_monitored(&self) -> bool {
        self.running.is_some()
    }

    /// Whether the first pass of the run that is under way is not over.
    pub(crate) fn is_checking(&self) -> bool {
        let is_over = |document: &Document| document.execution_status != ExecutionStatus::Running;
        self.is_monitored() && !self.current().is_some_and(is_over)
    }

    /// Whether the last run was given up before every check had answered. What it had said before
    /// that stands.
    pub(super) fn is_cut_short(&self) -> bool {
        self.failure.is_some() && !self.last_words().is_some_and(Document::is_complete)
    }

    /// What the last run that is over has said itself.
    pub(super) fn last_words(&self) -> Option<&Document> {
        let last = self.history.first()?;
        self.shown().filter(|document| document.preflight_id == last.preflight_id)
    }

    /// When it was last looked, or tried to.
    pub(crate) fn looked(&self) -> Option<Timestamp> {
        let shown = self.shown().and_then(|document| document.updated);
        let began = || self.running.as_ref().map(|running| running.began);
        shown.or_else(began).or_else(|| self.history.first()?.ended)
    }

    /// The checks that ended without an answer.
    pub(crate) fn unanswered(&self) -> impl Iterator<Item = &CheckReport> {
        let checks = self.current().into_iter().flat_map(|document| &document.checks);
        checks.filter(|check| check.status.is_final() && !check.status.is_answer())
    }

    /// Whether what is kept is about a cluster of that version.
    pub(super) fn is_about(&self, source: &str) -> bool {
        let said = self.shown().map(|document| document.source_version.as_str());
        let ran = || self.history.first().map(|run| run.source_version.as_str());
        said.or_else(ran) == Some(source)
    }

    /// What whoever starts an update wants to know.
    pub(super) fn outcome(&self) -> Outcome {
        let complete = self.current().is_some_and(Document::is_current);
        let shown = self.shown().into_iter().flat_map(|document| &document.risks);
        let mut findings: Vec<String> =
            shown.filter(|found| found.blocks_update()).map(|found| found.name.clone()).collect();
        findings.dedup();
        let left = self.looked().filter(|_| !self.is_monitored());
        Outcome { complete, left, answers: false, findings }
    }
}

/// What was found before, by checks that have not completed again.
fn still_standing(before: &Document, document: &Document) -> Vec<Finding> {
    let has_answered = |name: &str| {
        let check = document.checks.iter().find(|check| check.name == name);
        match check {
            Some(check) => check.status.is_answer(),
            // A check that is gone has nothing to say once all others have spoken.
            None => document.execution_status == ExecutionStatus::Completed,
        }
    };
    let is_said = |found: &Finding| {
        document.risks.iter().any(|now| now.name == found.name && now.check == found.check)
    };
    let standing =
        before.risks.iter().filter(|found| !has_answered(&found.check) && !is_said(found));
    standing.cloned().collect()
}
