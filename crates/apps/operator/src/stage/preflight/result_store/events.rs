//! Events and metrics of preflight runs. Each change is reported once.

use std::collections::BTreeMap;
use std::time::Duration;

use fairway_findings::record::RunFailure;
use fairway_findings::{Document, ExecutionStatus, Severity};
use jiff::Timestamp;
use kube::runtime::events::EventType;

use super::ResultStore;
use super::target_result::TargetResult;
use crate::event::{EventRecorder, PendingEvent};
use crate::metrics::{self, Ended};

/// Status of the last run of every target, by the name of its record.
pub(super) type RunStatuses = BTreeMap<String, RunStatus>;

/// Status of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunStatus {
    run: String,
    version: String,
    began: Option<Timestamp>,
    phase: RunPhase,
}

/// Phase of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RunPhase {
    /// The first pass is in progress.
    Started,
    /// The first pass completed.
    Completed { all_checks: bool, risks: usize },
    /// The run ended before its first pass completed. Not reported.
    Ended,
    /// The run was aborted.
    Failed(RunFailure),
}

/// A new phase of a run, to be reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunChange {
    /// Version of the target release.
    pub(super) version: String,
    /// Start of the run.
    pub(super) began: Option<Timestamp>,
    pub(super) phase: RunPhase,
}

impl ResultStore {
    /// Status of the last run of every target.
    pub(super) fn statuses(&self) -> RunStatuses {
        self.targets.iter().map(|(name, result)| (name.clone(), status(result))).collect()
    }
}

fn status(result: &TargetResult) -> RunStatus {
    let running = result.running.as_ref();
    let documented = result.latest().map(|document| document.preflight_id.clone());
    let run = running.map(|running| running.id.clone()).or(documented).unwrap_or_default();
    let completed = |document: &&Document| document.execution_status == ExecutionStatus::Completed;
    let phase = match (&result.failure, result.current().filter(completed)) {
        (Some(failure), _) => RunPhase::Failed(failure.clone()),
        (None, Some(document)) => {
            RunPhase::Completed { all_checks: document.is_complete(), risks: document.risks.len() }
        }
        (None, None) if running.is_some() => RunPhase::Started,
        (None, None) => RunPhase::Ended,
    };
    let began = running.map(|running| running.began);
    RunStatus { run, version: result.release.version.clone(), began, phase }
}

/// Changes between two observations that have to be reported.
pub(super) fn changes(before: &RunStatuses, after: &RunStatuses) -> Vec<RunChange> {
    let change = |(name, after): (&String, &RunStatus)| {
        let before = before.get(name);
        let same_run = before.filter(|before| before.run == after.run || after.began.is_none());
        let is_reported = matches!(
            (same_run.map(|before| &before.phase), &after.phase),
            (None, RunPhase::Started)
                | (Some(RunPhase::Started) | None, RunPhase::Completed { .. })
                | (
                    None | Some(RunPhase::Started | RunPhase::Completed { .. } | RunPhase::Ended),
                    RunPhase::Failed(_)
                )
        );
        is_reported.then(|| RunChange {
            version: after.version.clone(),
            began: after.began.or_else(|| before?.began),
            phase: after.phase.clone(),
        })
    };
    after.iter().filter_map(change).collect()
}

/// Reports status changes of runs by events and metrics.
pub(super) struct RunReporter {
    statuses: RunStatuses,
    announcer: EventRecorder,
    metrics: metrics::Preflight,
}

impl RunReporter {
    /// Starts with the restored status, which is not reported again.
    pub(super) fn new(
        store: &ResultStore,
        announcer: EventRecorder,
        metrics: metrics::Preflight,
    ) -> Self {
        let reporter = Self { statuses: store.statuses(), announcer, metrics };
        reporter.measure(store);
        reporter
    }

    /// Reports changes since the last call.
    pub(super) fn report(&mut self, store: &ResultStore, now: Timestamp) {
        let statuses = store.statuses();
        for change in changes(&self.statuses, &statuses) {
            if let Some(event) = event(&change) {
                self.announcer.record(event);
            }
            if let Some(how) = ended(&change.phase) {
                let took = change.began.map(|began| now.duration_since(began));
                self.metrics.ended(how, took.and_then(|took| Duration::try_from(took).ok()));
            }
        }
        self.statuses = statuses;
        self.measure(store);
    }

    fn measure(&self, store: &ResultStore) {
        self.metrics.running(store.results().any(TargetResult::is_monitored));
        let documents = store.results().filter_map(TargetResult::latest);
        let mut found: BTreeMap<Severity, usize> = BTreeMap::new();
        for finding in documents.flat_map(|document| &document.risks) {
            *found.entry(finding.severity).or_default() += 1;
        }
        self.metrics.found(&found);
    }
}

fn ended(phase: &RunPhase) -> Option<Ended> {
    match phase {
        RunPhase::Started | RunPhase::Ended => None,
        RunPhase::Completed { all_checks: true, .. } => Some(Ended::Completed),
        RunPhase::Completed { all_checks: false, .. } => Some(Ended::Partial),
        RunPhase::Failed(_) => Some(Ended::Failed),
    }
}

fn event(RunChange { version, phase, .. }: &RunChange) -> Option<PendingEvent> {
    let (type_, reason, note) = match phase {
        RunPhase::Ended => return None,
        RunPhase::Started => {
            let note = format!("The preflight of {version} started.");
            (EventType::Normal, "PreflightStarted", note)
        }
        RunPhase::Completed { all_checks, risks } => {
            let checks = if *all_checks { "all" } else { "not all" };
            let note = format!(
                "The preflight of {version} completed: {checks} checks have a result, risks found: \
                 {risks}."
            );
            (EventType::Normal, "PreflightCompleted", note)
        }
        RunPhase::Failed(RunFailure { reason, message, .. }) => {
            let note = format!("The preflight of {version} failed ({reason}): {message}");
            (EventType::Warning, "PreflightFailed", note)
        }
    };
    Some(PendingEvent::new(type_, reason, &note))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_of_each_change() {
        let failure = RunFailure {
            reason: "OOMKilled".to_owned(),
            message: "it needs more memory".to_owned(),
            requested: true,
        };
        let events: Vec<String> = [
            RunPhase::Started,
            RunPhase::Completed { all_checks: true, risks: 0 },
            RunPhase::Completed { all_checks: false, risks: 2 },
            RunPhase::Failed(failure),
        ]
        .into_iter()
        .filter_map(|phase| event(&RunChange { version: "5.2.0".to_owned(), began: None, phase }))
        .map(|PendingEvent { type_, reason, note }| format!("{type_:?} {reason}: {note}"))
        .collect();
        insta::assert_snapshot!(events.join("\n"), @r"
        Normal PreflightStarted: The preflight of 5.2.0 started.
        Normal PreflightCompleted: The preflight of 5.2.0 completed: all checks have a result, risks found: 0.
        Normal PreflightCompleted: The preflight of 5.2.0 completed: not all checks have a result, risks found: 2.
        Warning PreflightFailed: The preflight of 5.2.0 failed (OOMKilled): it needs more memory
        ");
    }
}
