//! What was found, as concerns for the ledger.
//!
//! Only what a check was sure of stands against an update, and only if it is more than good to know;
//! everything else is shown. Where a preflight is required, all of it counts.

use fairway_api::reason::applies;
use fairway_findings::{
    CheckKind, CheckReport, CheckStatus, Document, ExecutionStatus, Finding, Progress, Reason,
};
use fairway_risk::{Claim, Concern, DOCS, Risk, Source, Targets};

use super::kept::{Kept, Purpose};
use crate::settings::OnUpdate;

/// A preflight that is not over.
const IN_PROGRESS: &str = "PreflightInProgress";

/// A preflight without a whole answer.
const INCOMPLETE: &str = "PreflightIncomplete";

/// What the target means for the ledger.
pub(super) fn concerns(kept: &Kept, on_update: OnUpdate) -> Vec<Concern> {
    let shown = kept.shown();
    let found = shown.into_iter().flat_map(|document| {
        document.risks.iter().map(|found| finding(kept, document, found, on_update))
    });
    let synthetic = in_progress(kept).or_else(|| incomplete(kept)).map(|(risk, claim)| {
        let claim = if on_update == OnUpdate::Require { claim } else { claim.as_advice() };
        risk.claiming(claim)
    });
    let targets = Targets::Images([kept.release.image.clone()].into_iter().collect());
    let concern = |risk| Concern { risk, source: Source::Preflight, targets: targets.clone() };
    found.chain(synthetic).map(concern).collect()
}

fn finding(kept: &Kept, document: &Document, found: &Finding, on_update: OnUpdate) -> Risk {
    let Finding { name, message, url, remediation, .. } = found;
    let message = match remediation.trim() {
        "" => message.clone(),
        remediation => format!("{} {remediation}", message.trim()),
    };
    let url = if url.trim().is_empty() { docs() } else { url.clone() };
    let claim = Claim::new(true, found.reason.to_string(), why(kept, document, found));
    let counts = match on_update {
        OnUpdate::Require => true,
        OnUpdate::Report if kept.purpose == Purpose::Update => false,
        OnUpdate::Off | OnUpdate::Report => found.blocks_update(),
    };
    let claim = if counts { claim } else { claim.as_advice() };
    Risk::always(name, message, url).claiming(claim)
}

fn why(kept: &Kept, document: &Document, found: &Finding) -> String {
    let version = &kept.release.version;
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

/// That a preflight is not over, and how far it is.
fn in_progress(kept: &Kept) -> Option<(Risk, Claim)> {
    if !kept.is_checking() {
        return None;
    }
    let version = &kept.release.version;
    let message = format!(
        "Preflight check for {version} in progress. Results will be updated as checks complete."
    );
    let far = kept.current().map_or_else(
        || format!("Preflight check for {version} is starting"),
        |document| far(document, Tense::Present),
    );
    let claim = Claim::new(true, applies::PREFLIGHT_RUNNING, far);
    Some((Risk::always(IN_PROGRESS, message, docs()), claim))
}

/// That a preflight has no whole answer, and why.
fn incomplete(kept: &Kept) -> Option<(Risk, Claim)> {
    let version = &kept.release.version;
    let current = kept.current();
    let failed = |document: &Document| document.execution_status == ExecutionStatus::Failed;
    let is_cut_short = kept.is_cut_short();
    let (message, reason, why) = if is_cut_short || current.is_some_and(failed) {
        let said = if is_cut_short { kept.last_words() } else { current };
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
        let unanswered: Vec<&CheckReport> = kept.unanswered().collect();
        let skewed = |check: &&CheckReport| check.status == CheckStatus::VersionSkew;
        let reason = match unanswered.as_slice() {
            [] => return None,
            checks if checks.iter().all(skewed) => applies::PREFLIGHT_VERSION_SKEW,
            _ => applies::PREFLIGHT_PARTIAL,
        };
        let what: Vec<String> = unanswered.iter().map(|check| what_happened(check)).collect();
        (
            "is incomplete. Partial results may not reflect all compatibility risks.",
            reason,
            format!("Risk assessment incomplete - {}", what.join("; ")),
        )
    };
    let message = format!("Preflight check for {version} {message}");
    Some((Risk::always(INCOMPLETE, message, docs()), Claim::new(true, reason, why)))
}

#[derive(Clone, Copy)]
enum Tense {
    Present,
    Past,
}

/// How far it is, or was: in operators, where some have checks.
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
    format!("{DOCS}#preflights")
}
