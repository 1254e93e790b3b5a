//! The conditions `PreflightRunning`, `PreflightCompleted` and `PreflightFailed`. The operator
//! always sets them, so that clients can detect that it supports preflights.

use std::collections::BTreeSet;
use std::fmt;
use std::fmt::Write as _;

use fairway_api::reason::{Reason, preflight_completed, preflight_failed, preflight_running};
use fairway_api::{OperatorCondition, limits};
use fairway_findings::{
    CheckKind, CheckReport, CheckStatus, Document, ExecutionStatus, Finding, Progress,
};

use super::diagnosis::PreflightError;
use super::request::HoldReason;
use crate::text;

/// State of a preflight that the conditions report.
#[derive(Clone, Copy)]
pub(super) struct ConditionInput<'a> {
    pub(super) phase: Phase<'a>,
    /// Results of the target release, as far as they exist.
    pub(super) document: Option<&'a Document>,
    /// Errors of the preflight.
    pub(super) errors: &'a [PreflightError],
    /// Versions with stored results that are no longer updated.
    pub(super) stored: &'a [String],
}

/// Phase of a request.
#[derive(Clone, Copy)]
pub(super) enum Phase<'a> {
    /// There is no request.
    NotRequested,
    /// The operator does not process the request, for this reason.
    Held(&'a HoldReason),
    /// The operator looks up the release of this version.
    LookingUp(&'a str),
    /// The operator retrieves and verifies the release.
    Retrieving(TargetName<'a>),
    /// The operator removes the previous run.
    Clearing(TargetName<'a>),
    /// The operator starts the run.
    Starting(TargetName<'a>),
    /// The operator starts the run again, because it moved to this node.
    Restarting(TargetName<'a>, &'a str),
    /// The run exists.
    Running(TargetName<'a>),
    /// The operator stopped the run.
    Stopped(TargetName<'a>),
}

/// Target release as messages name it.
#[derive(Clone, Copy)]
pub(super) struct TargetName<'a> {
    pub(super) version: Option<&'a str>,
    pub(super) image: &'a str,
    /// Why the signature is not verified, for a forced request.
    pub(super) unverified: Option<&'a str>,
    /// Secrets that checks may read; `None` if the operator grants none.
    pub(super) secrets: Option<&'a BTreeSet<String>>,
}

impl TargetName<'_> {
    /// Sentence about Secrets that checks may read.
    fn secrets(&self) -> String {
        let names: Vec<&str> = self.secrets.into_iter().flatten().map(String::as_str).collect();
        if names.is_empty() {
            return String::new();
        }
        let names = names.join(", ");
        format!(" With the consent of the administrator, checks can read the Secrets {names}.")
    }
}

impl fmt::Display for TargetName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            Some(version) => f.write_str(&text::excerpt(version)),
            None => f.write_str(&fairway_text::excerpt(self.image, 1024)),
        }
    }
}

/// Composes the three conditions.
pub(super) fn conditions(input: &ConditionInput) -> [OperatorCondition; 3] {
    [
        (preflight_running::TYPE, running(input)),
        (preflight_completed::TYPE, completed(input)),
        (preflight_failed::TYPE, failed(input)),
    ]
    .map(|(type_, (status, reason, message))| {
        let message = fairway_text::excerpt(&message, limits::MESSAGE);
        OperatorCondition::new(type_, status).reason(reason).message(message)
    })
}

impl Phase<'_> {
    /// Target release of the phase.
    fn target(&self) -> Option<&TargetName<'_>> {
        match self {
            Self::NotRequested | Self::Held(_) | Self::LookingUp(_) => None,
            Self::Retrieving(target)
            | Self::Clearing(target)
            | Self::Starting(target)
            | Self::Restarting(target, _)
            | Self::Running(target)
            | Self::Stopped(target) => Some(target),
        }
    }
}

impl fmt::Display for HoldReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownMode { mode } => {
                write!(f, "this operator does not support the mode {:?}", text::excerpt(mode))
            }
            Self::Disabled => f.write_str("preflights are disabled in this operator"),
            Self::NoRelease => {
                f.write_str("the request has no release; set --to=VERSION or --to-image=IMAGE")
            }
            Self::NotRetrieved { version, why } => write!(
                f,
                "cannot look up {} in the update service: {} Request the release by its image with \
                 --to-image=IMAGE, or retry later",
                text::excerpt(version),
                text::one_line(why)
            ),
            Self::NotFound { version, channel: Some(channel) } => write!(
                f,
                "channel {} does not contain {}; set another channel with `fairway upgrade channel \
                 CHANNEL`, or request the release by its image with --to-image=IMAGE",
                text::excerpt(channel),
                text::excerpt(version)
            ),
            Self::NotFound { version, channel: None } => write!(
                f,
                "cannot look up {} without a channel; set one with `fairway upgrade channel \
                 CHANNEL`, or request the release by its image with --to-image=IMAGE",
                text::excerpt(version)
            ),
            Self::Several { version } => write!(
                f,
                "several releases have version {}; request one by its image with --to-image=IMAGE",
                text::excerpt(version)
            ),
            Self::NotByDigest { image } => write!(
                f,
                "image {} is not pinned to a digest; use a digest, as in \
                 registry.example/release@sha256:…",
                fairway_text::excerpt(image, 1024)
            ),
        }
    }
}

fn running(input: &ConditionInput) -> (bool, Reason, String) {
    match input.phase {
        Phase::NotRequested => {
            (false, preflight_running::NOT_REQUESTED, "No preflight is requested.".to_owned())
        }
        Phase::Held(hold) => {
            let message = format!("The operator runs neither the preflight nor an update: {hold}.");
            (false, preflight_running::HELD, message)
        }
        Phase::LookingUp(version) => {
            (true, preflight_running::STARTING, format!("Looking up release {version}."))
        }
        Phase::Retrieving(target) => (
            true,
            preflight_running::STARTING,
            format!("Retrieving and verifying release {target}."),
        ),
        Phase::Clearing(target) => {
            let message = format!(
                "Removing the previous preflight before starting the preflight of {target}."
            );
            (true, preflight_running::STARTING, message)
        }
        Phase::Starting(target) => (true, preflight_running::STARTING, starting(target)),
        Phase::Restarting(target, node) => {
            let message = format!(
                "The operator now runs on node {node}; restarting the preflight of {target} there."
            );
            (true, preflight_running::RESTARTING, message)
        }
        Phase::Running(target) => match input.document {
            Some(document) if document.execution_status == ExecutionStatus::Completed => {
                (true, preflight_running::MONITORING, monitoring(target, document))
            }
            Some(document) => (true, preflight_running::CHECKING, checking(target, document)),
            None => (true, preflight_running::STARTING, starting(target)),
        },
        Phase::Stopped(target) => {
            let message = format!(
                "The preflight of {target} stopped; see the condition PreflightFailed. Run \
                 `fairway upgrade --clear-preflight` to withdraw the request."
            );
            (false, preflight_running::STOPPED, message)
        }
    }
}

fn starting(target: TargetName) -> String {
    let unverified = target.unverified.map(|why| {
        format!(
            " The release signature is not verified ({why}); continuing because the request \
                 is forced."
        )
    });
    let unverified = unverified.unwrap_or_default();
    format!("Starting the preflight of {target}.{unverified}{}", target.secrets())
}

fn checking(target: TargetName, document: &Document) -> String {
    format!(
        "The preflight of {target} is checking this cluster (read-only): {}.{}",
        progress(document),
        target.secrets()
    )
}

fn monitoring(target: TargetName, document: &Document) -> String {
    format!(
        "The preflight of {target} has checked this cluster ({}) and repeats checks when the \
         cluster changes. Run `fairway upgrade --clear-preflight` to end it, or \
         `fairway upgrade --to={target}` to start the update.{}",
        progress(document),
        target.secrets()
    )
}

/// Progress of the checks, those of operators first.
fn progress(document: &Document) -> String {
    let operators = document.progress(CheckKind::Operator);
    let own = document.progress(CheckKind::BuiltIn);
    let mut progress = format!("{} of {} operators checked", operators.answered, operators.total);
    if own.total > 0 {
        let _ = write!(progress, ", {} of {} built-in checks done", own.answered, own.total);
    }
    let unanswered = operators.failed + own.failed;
    if unanswered > 0 {
        let _ = write!(progress, ", {unanswered} without a result");
    }
    if remaining(operators, own) > 0 {
        let _ = write!(progress, ", {} remaining", remaining(operators, own));
    }
    progress
}

fn remaining(operators: Progress, own: Progress) -> usize {
    operators.remaining() + own.remaining()
}

/// Maximum number of findings that a message names.
const MAX_NAMED: usize = 10;

fn completed(input: &ConditionInput) -> (bool, Reason, String) {
    match (input.phase, input.document) {
        (Phase::NotRequested, _) => stored(input.stored),
        (Phase::Held(_), _) => (
            false,
            preflight_completed::PREFLIGHT_FAILED,
            "The preflight did not start.".to_owned(),
        ),
        (phase, Some(document)) if document.execution_status == ExecutionStatus::Completed => {
            let (is_complete, reason, message) = completed_pass(document);
            (is_complete, reason, message + &aging(phase, document))
        }
        (Phase::Stopped(target), _) => {
            let message = format!("The preflight of {target} ended before all checks completed.");
            (false, preflight_completed::PREFLIGHT_FAILED, message)
        }
        (_, document) => {
            let how_far = document.map_or_else(|| "no check has completed".to_owned(), progress);
            (
                false,
                preflight_completed::PREFLIGHT_RUNNING,
                format!("Checks are in progress: {how_far}."),
            )
        }
    }
}

fn stored(versions: &[String]) -> (bool, Reason, String) {
    if versions.is_empty() {
        return (
            false,
            preflight_completed::NOT_REQUESTED,
            "No preflight is requested.".to_owned(),
        );
    }
    let message = format!("The stored results are no longer updated: {}.", versions.join(", "));
    (true, preflight_completed::NOT_MONITORED, message)
}

/// Age of results that are no longer updated although a request exists.
fn aging(phase: Phase, document: &Document) -> String {
    match (phase, document.updated) {
        (Phase::Stopped(_), Some(time)) => {
            format!(" These results are from {time:.0} and are no longer updated.")
        }
        _ => String::new(),
    }
}

/// Result of a completed pass over all checks, with or without checks that have no result.
fn completed_pass(document: &Document) -> (bool, Reason, String) {
    let version = &document.target_version;
    let findings = named_findings(&document.risks);
    if document.is_complete() {
        let reason = if document.risks.is_empty() {
            preflight_completed::NO_RISKS_FOUND
        } else {
            preflight_completed::RISKS_FOUND
        };
        return (true, reason, format!("All checks of {version} completed; {findings}."));
    }
    let mut unanswered = document.checks.iter().filter(|check| !check.status.has_result());
    let (reason, why) = if unanswered.all(|check| check.status == CheckStatus::VersionSkew) {
        (
            preflight_completed::PREFLIGHT_VERSION_SKEW,
            "some do not support updates across so many versions",
        )
    } else {
        (preflight_completed::PREFLIGHT_PARTIAL, "some returned no result")
    };
    let progress = progress(document);
    (false, reason, format!("The checks of {version} ended, but {why} ({progress}); {findings}."))
}

fn named_findings(risks: &[Finding]) -> String {
    if risks.is_empty() {
        return "no risks found".to_owned();
    }
    let names: Vec<&str> = risks.iter().take(MAX_NAMED).map(|risk| risk.name.as_str()).collect();
    let more = risks.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let risks = if risks.len() == 1 { "1 risk" } else { &format!("{} risks", risks.len()) };
    format!("{risks} found: {}{more}", names.join(", "))
}

fn failed(input: &ConditionInput) -> (bool, Reason, String) {
    match input.phase {
        Phase::NotRequested => {
            (false, preflight_failed::NOT_REQUESTED, "No preflight is requested.".to_owned())
        }
        Phase::Held(hold) => (true, hold_reason(hold), sentence(&hold.to_string())),
        _ => {
            let checks = input.document.into_iter().filter_map(check_error);
            let errors: Vec<PreflightError> = input.errors.iter().cloned().chain(checks).collect();
            error_message(input, &errors)
        }
    }
}

fn error_message(input: &ConditionInput, errors: &[PreflightError]) -> (bool, Reason, String) {
    let about = input.phase.target().map(|target| format!("Preflight of {target}: "));
    let about = about.unwrap_or_default();
    match errors {
        [] => (false, preflight_failed::AS_EXPECTED, "The preflight reports no errors.".to_owned()),
        [one] => (true, one.reason, format!("{about}{}.", one.message)),
        several => {
            let lines: Vec<_> = several.iter().map(|one| one.message.as_str()).collect();
            let message = format!("{}\n* {}", about.trim_end(), lines.join("\n* "));
            (true, preflight_failed::MULTIPLE_ERRORS, message)
        }
    }
}

/// Error for all checks that ended without a result.
fn check_error(document: &Document) -> Option<PreflightError> {
    let failed: Vec<(&CheckReport, Reason)> = document
        .checks
        .iter()
        .filter_map(|check| Some((check, check_failure_reason(check.status)?)))
        .collect();
    let (_, first) = failed.first()?;
    let is_same = failed.iter().all(|(_, reason)| reason == first);
    let reason = if is_same { *first } else { preflight_failed::PREFLIGHT_PARTIAL };
    let lines: Vec<String> = failed
        .iter()
        .map(|(check, reason)| {
            let why = text::excerpt(&check.message);
            let meaning = if why.is_empty() { reason.meaning } else { &why };
            format!("{}: {meaning}", text::excerpt(&check.name))
        })
        .collect();
    let count = lines.len();
    let checks = if count == 1 { "1 check".to_owned() } else { format!("{count} checks") };
    let message = format!("{checks} returned no result ({})", lines.join("; "));
    Some(PreflightError::transient(reason, message))
}

fn check_failure_reason(status: CheckStatus) -> Option<Reason> {
    match status {
        CheckStatus::Waiting
        | CheckStatus::Running
        | CheckStatus::Passed
        | CheckStatus::Found
        | CheckStatus::Skipped => None,
        CheckStatus::CannotTell => Some(preflight_failed::PREFLIGHT_PARTIAL),
        CheckStatus::VersionSkew => Some(preflight_failed::PREFLIGHT_VERSION_SKEW),
        CheckStatus::TimedOut => Some(preflight_failed::CHECK_TIMED_OUT),
        CheckStatus::Failed => Some(preflight_failed::CHECK_FAILED),
        CheckStatus::Refused => Some(preflight_failed::CHECK_REFUSED),
        CheckStatus::AccessRefused => Some(preflight_failed::CHECK_ACCESS_REFUSED),
        CheckStatus::NotStarted => Some(preflight_failed::CHECK_NOT_STARTED),
    }
}

fn hold_reason(hold: &HoldReason) -> Reason {
    match hold {
        HoldReason::UnknownMode { .. } => preflight_failed::UNKNOWN_MODE,
        HoldReason::Disabled => preflight_failed::PREFLIGHT_DISABLED,
        HoldReason::NotRetrieved { .. } => preflight_failed::UPDATES_NOT_RETRIEVED,
        HoldReason::NotFound { .. } | HoldReason::Several { .. } | HoldReason::NoRelease => {
            preflight_failed::VERSION_NOT_FOUND
        }
        HoldReason::NotByDigest { .. } => preflight_failed::RETRIEVE_PAYLOAD,
    }
}

/// Capitalises a text and adds a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

#[cfg(test)]
mod tests;
