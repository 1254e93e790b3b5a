//! `PreflightCompleted`: whether every check of the target release has given its answer.

use fairway_api::OperatorCondition;
use fairway_api::reason::{Reason, preflight_completed as reason};
use fairway_findings::{CheckStatus, Document, ExecutionStatus, Finding};

use super::running::progress;
use super::{Phase, Situation};

/// Names of risks that a message lists: a few tell what it is about, and the rest is elsewhere.
const NAMED: usize = 10;

pub(super) fn condition(situation: &Situation) -> OperatorCondition {
    let (is_complete, reason, message) = said(situation);
    super::condition(reason::TYPE, is_complete, reason, &message)
}

fn said(situation: &Situation) -> (bool, Reason, String) {
    match (situation.phase, situation.document) {
        (Phase::NotRequested, _) => kept(situation.kept),
        (Phase::Held(_), _) => {
            (false, reason::PREFLIGHT_FAILED, "The preflight did not start.".to_owned())
        }
        (phase, Some(document)) if document.execution_status == ExecutionStatus::Completed => {
            let (is_complete, reason, message) = of_a_whole_pass(document);
            (is_complete, reason, message + &aging(phase, document))
        }
        (Phase::Stopped(target), _) => {
            let message = format!("The preflight of {target} ended before all checks completed.");
            (false, reason::PREFLIGHT_FAILED, message)
        }
        (_, document) => {
            let how_far = document.map_or_else(|| "no check has completed".to_owned(), progress);
            (false, reason::PREFLIGHT_RUNNING, format!("Checks are in progress: {how_far}."))
        }
    }
}

fn kept(versions: &[String]) -> (bool, Reason, String) {
    if versions.is_empty() {
        return (false, reason::NOT_REQUESTED, "No preflight is requested.".to_owned());
    }
    let message = format!("The stored results are no longer updated: {}.", versions.join(", "));
    (true, reason::NOT_MONITORED, message)
}

/// Since when nobody looks any more, though somebody asks.
fn aging(phase: Phase, document: &Document) -> String {
    match (phase, document.updated) {
        (Phase::Stopped(_), Some(time)) => {
            format!(" These results are from {time:.0} and are no longer updated.")
        }
        _ => String::new(),
    }
}

/// What every check has said, or what those have that could.
fn of_a_whole_pass(document: &Document) -> (bool, Reason, String) {
    let version = &document.target_version;
    let found = found(&document.risks);
    if document.is_complete() {
        let reason =
            if document.risks.is_empty() { reason::NO_RISKS_FOUND } else { reason::RISKS_FOUND };
        return (true, reason, format!("All checks of {version} completed; {found}."));
    }
    let mut unanswered = document.checks.iter().filter(|check| !check.status.is_answer());
    let (reason, why) = if unanswered.all(|check| check.status == CheckStatus::VersionSkew) {
        (reason::PREFLIGHT_VERSION_SKEW, "some do not support updates across so many versions")
    } else {
        (reason::PREFLIGHT_PARTIAL, "some returned no result")
    };
    let progress = progress(document);
    (false, reason, format!("The checks of {version} ended, but {why} ({progress}); {found}."))
}

fn found(risks: &[Finding]) -> String {
    if risks.is_empty() {
        return "no risks found".to_owned();
    }
    let names: Vec<&str> = risks.iter().take(NAMED).map(|risk| risk.name.as_str()).collect();
    let more = risks.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let risks = if risks.len() == 1 { "1 risk" } else { &format!("{} risks", risks.len()) };
    format!("{risks} found: {}{more}", names.join(", "))
}
