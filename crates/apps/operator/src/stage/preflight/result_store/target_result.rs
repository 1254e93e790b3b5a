//! Results of one target release.

use fairway_api::cluster_version::Release;
use fairway_api::reason::{preflight_completed, preflight_failed};
use fairway_findings::limits::{DROPPED, MAX_WATCHED};
use fairway_findings::record::{RunFailure, RunRecord};
use fairway_findings::{CheckReport, Document, ExecutionStatus, Finding, Severity};
use jiff::Timestamp;
use serde::Serialize;

use crate::stage::preflight::PreflightOutcome;

/// Maximum number of runs in the history of a target.
pub(super) const MAX_RUNS: usize = 10;

/// Why a run was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A request for a preflight.
    #[default]
    Requested,
    /// A request for an update, with a policy that requires a preflight.
    Update,
}

/// The run in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CurrentRun {
    pub(super) id: String,
    pub(super) began: Timestamp,
}

/// Results of one target release.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TargetResult {
    /// The target release.
    pub(crate) release: Release,
    /// `Requested` if a preflight was ever requested: later runs for updates do not weaken its
    /// findings.
    pub(super) purpose: Purpose,
    /// The run in progress. Without one, results are no longer updated.
    pub(super) running: Option<CurrentRun>,
    /// Why the last run ended without complete results.
    pub(crate) failure: Option<RunFailure>,
    /// Latest document in which all checks have a result.
    pub(super) complete: Option<Document>,
    /// Later document with checks without a result. It includes earlier findings of those checks.
    pub(super) partial: Option<Document>,
    /// Ended runs, the newest first.
    pub(super) history: Vec<RunRecord>,
}

impl TargetResult {
    pub(super) fn begin(&mut self, release: Release, run: &str, purpose: Purpose, now: Timestamp) {
        let is_new = self.release.image.is_empty();
        if is_new || purpose == Purpose::Requested {
            self.purpose = purpose;
        }
        self.release = release;
        self.failure = None;
        self.running = Some(CurrentRun { id: run.to_owned(), began: now });
    }

    pub(super) fn record(&mut self, mut document: Document, source: &str, now: Timestamp) {
        let is_current = |running: &CurrentRun| running.id == document.preflight_id;
        if !self.running.as_ref().is_some_and(is_current) {
            return;
        }
        source.clone_into(&mut document.source_version);
        document.updated = document.updated.or(Some(now)).map(|updated| updated.min(now));
        let retained = self.latest().map(|before| retained_findings(before, &document));
        document.risks.extend(retained.unwrap_or_default());
        let mut document = bounded(document);
        document.risks.sort_by(|one, other| one.name.cmp(&other.name));
        if document.is_complete() {
            self.complete = Some(document);
            self.partial = None;
        } else {
            self.partial = Some(document);
        }
    }

    pub(super) fn abort(&mut self, reason: &str, why: &str, source: &str, now: Timestamp) {
        // An attempt that ended before its run started is in the history, too: earlier results are
        // not results of this attempt.
        let running = self.running.take();
        self.add_to_history(running, reason, source, now);
        let (reason, message) = (reason.to_owned(), why.to_owned());
        self.failure = Some(RunFailure { reason, message, requested: true });
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
            self.add_to_history(Some(running), outcome.code, source, now);
        }
    }

    fn add_to_history(
        &mut self,
        run: Option<CurrentRun>,
        outcome: &str,
        source: &str,
        now: Timestamp,
    ) {
        let (id, started) = run.map(|run| (run.id, run.began)).unzip();
        let id = id.unwrap_or_default();
        let document = self.latest().filter(|document| document.preflight_id == id);
        let run = RunRecord {
            risks: document.map_or(0, |document| document.risks.len()),
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

    /// Latest document.
    pub(crate) fn latest(&self) -> Option<&Document> {
        self.partial.as_ref().or(self.complete.as_ref())
    }

    /// Latest document, if it belongs to the run in progress or no run is in progress.
    pub(crate) fn current(&self) -> Option<&Document> {
        let is_current = |document: &&Document| match &self.running {
            Some(running) => running.id == document.preflight_id,
            None => true,
        };
        self.latest().filter(is_current)
    }

    /// Whether a run updates the results.
    pub(crate) fn is_monitored(&self) -> bool {
        self.running.is_some()
    }

    /// Whether the first pass of the run in progress has not completed.
    pub(crate) fn is_checking(&self) -> bool {
        let is_over = |document: &Document| document.execution_status != ExecutionStatus::Running;
        self.is_monitored() && !self.current().is_some_and(is_over)
    }

    /// Whether the last run was aborted before all checks had a result. Earlier results remain
    /// valid.
    pub(super) fn was_aborted_early(&self) -> bool {
        self.failure.is_some() && !self.last_run_document().is_some_and(Document::is_complete)
    }

    /// Document of the last ended run.
    pub(super) fn last_run_document(&self) -> Option<&Document> {
        let last = self.history.first()?;
        self.latest().filter(|document| document.preflight_id == last.preflight_id)
    }

    /// Time of the results, or of the latest attempt.
    pub(crate) fn last_checked(&self) -> Option<Timestamp> {
        let latest = self.latest().and_then(|document| document.updated);
        let began = || self.running.as_ref().map(|running| running.began);
        latest.or_else(began).or_else(|| self.history.first()?.ended)
    }

    /// Checks that ended without a result.
    pub(crate) fn checks_without_result(&self) -> impl Iterator<Item = &CheckReport> {
        let checks = self.current().into_iter().flat_map(|document| &document.checks);
        checks.filter(|check| check.status.is_final() && !check.status.has_result())
    }

    /// Whether the results are about a cluster of this version.
    pub(super) fn is_for_version(&self, source: &str) -> bool {
        let document = self.latest().map(|document| document.source_version.as_str());
        let ran = || self.history.first().map(|run| run.source_version.as_str());
        document.or_else(ran) == Some(source)
    }

    /// Summary for the gate of updates.
    pub(super) fn outcome(&self) -> PreflightOutcome {
        let complete = self.current().is_some_and(Document::is_current);
        let latest = self.latest().into_iter().flat_map(|document| &document.risks);
        let mut findings: Vec<String> =
            latest.filter(|found| found.blocks_update()).map(|found| found.name.clone()).collect();
        findings.dedup();
        let left = self.last_checked().filter(|_| !self.is_monitored());
        PreflightOutcome { complete, left, answers: false, findings }
    }
}

/// Earlier findings of checks that have no new result.
fn retained_findings(before: &Document, document: &Document) -> Vec<Finding> {
    let has_result = |name: &str| {
        let check = document.checks.iter().find(|check| check.name == name);
        match check {
            Some(check) => check.status.has_result(),
            // A check that no longer exists has no findings once all others have completed.
            None => document.execution_status == ExecutionStatus::Completed,
        }
    };
    let is_reported = |found: &Finding| {
        document.risks.iter().any(|now| now.name == found.name && now.check == found.check)
    };
    let retained =
        before.risks.iter().filter(|found| !has_result(&found.check) && !is_reported(found));
    retained.cloned().collect()
}

/// Maximum number of findings of one target. The API allows 200 risks of an update, and other
/// sources need some of them.
const MAX_FINDINGS: usize = 100;

/// Maximum number of checks of one target: several times the number of components of a platform.
const MAX_CHECKS: usize = 300;

/// Maximum bytes of a message.
const MAX_TEXT: usize = 2 << 10;

/// Maximum bytes of a document. Two of them and the history fit into a ConfigMap (1 MiB).
const MAX_BYTES: usize = 400 << 10;

/// Truncates a document to the limits. Findings that block the update are retained first, and a
/// finding replaces those that are dropped: dropping must never make an update recommended.
pub(super) fn bounded(mut document: Document) -> Document {
    shorten(&mut document.message);
    // Checks without a result are retained first. Without them, the document would look complete.
    document.checks.sort_by_key(|check| check.status.has_result());
    document.checks.truncate(MAX_CHECKS);
    document.checks.sort_by(|one, other| one.name.cmp(&other.name));
    for check in &mut document.checks {
        shorten(&mut check.message);
        check.looked_at.truncate(MAX_WATCHED);
    }
    for found in &mut document.risks {
        shorten(&mut found.message);
        shorten(&mut found.remediation);
    }
    document.risks.sort_by_key(|found| !found.blocks_update());
    let findings = std::mem::take(&mut document.risks);
    let mut room = MAX_BYTES.saturating_sub(size(&document));
    if room == 0 {
        // The checks alone exceed the limit. Without them, the document is not complete.
        document.checks.clear();
        document.execution_status = ExecutionStatus::Failed;
    }
    let mut dropped = Vec::new();
    for found in findings {
        let bytes = size(&found);
        if dropped.is_empty() && document.risks.len() < MAX_FINDINGS && bytes < room {
            room -= bytes;
            document.risks.push(found);
        } else {
            dropped.push(found);
        }
    }
    document.risks.extend(stand_in(&dropped));
    document
}

fn stand_in(dropped: &[Finding]) -> Option<Finding> {
    let message = format!(
        "The preflight reports too many findings to show; {} of them are omitted.",
        dropped.len()
    );
    let severity =
        if dropped.iter().any(Finding::blocks_update) { Severity::Warning } else { Severity::Info };
    let name = DROPPED.to_owned();
    (!dropped.is_empty()).then(|| Finding { name, message, severity, ..Finding::default() })
}

pub(super) fn shorten(text: &mut String) {
    if text.len() > MAX_TEXT {
        *text = fairway_text::excerpt(text, MAX_TEXT).into_owned();
    }
}

fn size(value: &impl Serialize) -> usize {
    serde_json::to_vec(value).map_or(usize::MAX, |json| json.len())
}
