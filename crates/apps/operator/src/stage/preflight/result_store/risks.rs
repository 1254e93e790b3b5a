//! Conversion of preflight results to risks for the risk ledger.
//!
//! Findings that block an update become risks that apply; all others are advisory. With
//! `OnUpdate::Require`, all findings apply.

use fairway_api::reason::applies;
use fairway_findings::{
    CheckKind, CheckReport, CheckStatus, Document, ExecutionStatus, Finding, Progress, Reason,
};
use fairway_risk::{AffectedUpdates, DOCS_URL, ReportedRisk, Risk, RiskAssessment, RiskSource};

use super::target_result::{Purpose, TargetResult};
use crate::settings::OnUpdate;

/// Name of the risk for a preflight in progress.
const IN_PROGRESS: &str = "PreflightInProgress";

/// Name of the risk for incomplete results.
const INCOMPLETE: &str = "PreflightIncomplete";

/// Risks of a target release.
pub(super) fn to_risks(result: &TargetResult, on_update: OnUpdate) -> Vec<ReportedRisk> {
    let latest = result.latest();
    let found = latest.into_iter().flat_map(|document| {
        document.risks.iter().map(|found| finding(result, document, found, on_update))
    });
    let synthetic = in_progress(result).or_else(|| incomplete(result)).map(|(risk, claim)| {
        let claim = if on_update == OnUpdate::Require { claim } else { claim.as_advisory() };
        risk.with_assessment(claim)
    });
    let targets = AffectedUpdates::Images([result.release.image.clone()].into_iter().collect());
    let concern =
        |risk| ReportedRisk { risk, source: RiskSource::Preflight, targets: targets.clone() };
    found.chain(synthetic).map(concern).collect()
}

fn finding(
    result: &TargetResult,
    document: &Document,
    found: &Finding,
    on_update: OnUpdate,
) -> Risk {
    let Finding { name, message, url, remediation, .. } = found;
    let message = match remediation.trim() {
        "" => message.clone(),
        remediation => format!("{} {remediation}", message.trim()),
    };
    let url = if url.trim().is_empty() { docs() } else { url.clone() };
    let claim = RiskAssessment::new(true, found.reason.to_string(), why(result, document, found));
    let counts = match on_update {
        OnUpdate::Require => true,
        OnUpdate::Report if result.purpose == Purpose::Update => false,
        OnUpdate::Off | OnUpdate::Report => found.blocks_update(),
    };
    let claim = if counts { claim } else { claim.as_advisory() };
    Risk::always(name, message, url).with_assessment(claim)
}

fn why(result: &TargetResult, document: &Document, found: &Finding) -> String {
    let version = &result.release.version;
    let check = document.checks.iter().find(|check| check.name == found.check);
    match found.reason {
        Reason::PreflightValidation => {
            format!("Risk identified during preflight check for {version}")
        }
        Reason::PreflightPartial => match check {
            Some(check) => format!("Risk assessment incomplete - {}", what_happened(check)),
            None => "Risk assessment incomplete".to_owned(),
        },
        Reason::PreflightVersionSkew => {
            let source = &document.source_version;
            format!(
                "Risk assessment incomplete - {version} is too many versions after {source}; run \
                 preflights of the versions between them first"
            )
        }
    }
}

fn what_happened(check: &CheckReport) -> String {
    let whose = match check.kind {
        CheckKind::Operator => format!("{} operator preflight check", check.name),
        CheckKind::BuiltIn => format!("{} preflight check", check.name),
    };
    let what = match check.status {
        CheckStatus::TimedOut => "timed out",
        CheckStatus::CannotTell => "returned no result",
        CheckStatus::VersionSkew => "does not support an update between these versions",
        CheckStatus::Refused | CheckStatus::AccessRefused => "was refused",
        CheckStatus::NotStarted => "was not started",
        _ => "failed",
    };
    format!("{whose} {what}")
}

/// Risk for a preflight in progress, with its progress.
fn in_progress(result: &TargetResult) -> Option<(Risk, RiskAssessment)> {
    if !result.is_checking() {
        return None;
    }
    let version = &result.release.version;
    let message = format!(
        "Preflight check for {version} in progress. Results will be updated as checks complete."
    );
    let far = result.current().map_or_else(
        || format!("Preflight check for {version} is starting"),
        |document| far(document, Tense::Present),
    );
    let claim = RiskAssessment::new(true, applies::PREFLIGHT_RUNNING, far);
    Some((Risk::always(IN_PROGRESS, message, docs()), claim))
}

/// Risk for incomplete results, with the reason.
fn incomplete(result: &TargetResult) -> Option<(Risk, RiskAssessment)> {
    let version = &result.release.version;
    let current = result.current();
    let failed = |document: &Document| document.execution_status == ExecutionStatus::Failed;
    let was_aborted_early = result.was_aborted_early();
    let (message, reason, why) = if was_aborted_early || current.is_some_and(failed) {
        let said = if was_aborted_early { result.last_run_document() } else { current };
        let far = said.map_or_else(
            || "Preflight execution failed before any check completed".to_owned(),
            |document| far(document, Tense::Past),
        );
        (
            "failed to complete. Partial results may not reflect all compatibility risks.",
            applies::PREFLIGHT_FAILED,
            format!("{far}. Results are incomplete."),
        )
    } else {
        let checks_without_result: Vec<&CheckReport> = result.checks_without_result().collect();
        let skewed = |check: &&CheckReport| check.status == CheckStatus::VersionSkew;
        let reason = match checks_without_result.as_slice() {
            [] => return None,
            checks if checks.iter().all(skewed) => applies::PREFLIGHT_VERSION_SKEW,
            _ => applies::PREFLIGHT_PARTIAL,
        };
        let what: Vec<String> =
            checks_without_result.iter().map(|check| what_happened(check)).collect();
        (
            "is incomplete. Partial results may not reflect all compatibility risks.",
            reason,
            format!("Risk assessment incomplete - {}", what.join("; ")),
        )
    };
    let message = format!("Preflight check for {version} {message}");
    Some((Risk::always(INCOMPLETE, message, docs()), RiskAssessment::new(true, reason, why)))
}

#[derive(Clone, Copy)]
enum Tense {
    Present,
    Past,
}

/// Progress of the checks: those of operators, or built-in ones if no operator has a check.
fn far(document: &Document, tense: Tense) -> String {
    let operators = document.progress(CheckKind::Operator);
    let (progress, what) = match operators {
        Progress { total: 0, .. } => (document.progress(CheckKind::BuiltIn), "checks"),
        operators => (operators, "operators"),
    };
    let Progress { answered, failed, total } = progress;
    match (tense, failed) {
        (Tense::Past, _) => {
            format!("Preflight execution failed after checking {answered} of {total} {what}")
        }
        (Tense::Present, 0) => format!(
            "{answered} of {total} {what} checked successfully, {} remaining",
            progress.remaining()
        ),
        (Tense::Present, failed) => format!(
            "{answered} of {total} {what} checked successfully, {failed} without a result, {} \
             remaining",
            progress.remaining()
        ),
    }
}

fn docs() -> String {
    format!("{DOCS_URL}#preflights")
}
