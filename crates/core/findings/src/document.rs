//! The results of a preflight, as the target release writes them.

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient::string_enum;
use crate::lenient::{self, Placeholder};
use crate::text;

/// How long a stale result remains valid: as long as a new run of the check may take. In a busy
/// cluster, changes never stop, and no result would be current without this period.
const RENEWAL_PERIOD: SignedDuration = SignedDuration::from_mins(10);

/// Results of a preflight: the file that the target release writes and updates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Document {
    /// Version of the results format.
    #[serde(deserialize_with = "lenient::text")]
    pub format: String,
    /// ID of the run.
    #[serde(rename = "preflightID", deserialize_with = "lenient::text")]
    pub preflight_id: String,
    /// Version of the cluster.
    #[serde(deserialize_with = "lenient::text")]
    pub source_version: String,
    /// Version of the target release.
    #[serde(deserialize_with = "lenient::text")]
    pub target_version: String,
    /// Image of the target release, by digest.
    #[serde(deserialize_with = "lenient::text")]
    pub target_image: String,
    /// Execution status. A completed run continues to watch the cluster, and stays completed.
    pub execution_status: ExecutionStatus,
    /// Why the run failed.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "lenient::text")]
    pub message: String,
    /// Start of the run.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::time")]
    #[schemars(with = "Option<String>")]
    pub started: Option<Timestamp>,
    /// Time at which all checks had completed once.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::time")]
    #[schemars(with = "Option<String>")]
    pub completed: Option<Timestamp>,
    /// Time of the latest write.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::time")]
    #[schemars(with = "Option<String>")]
    pub updated: Option<Timestamp>,
    /// Checks, by name.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::list")]
    pub checks: Vec<CheckReport>,
    /// Findings, by name.
    #[serde(deserialize_with = "lenient::list")]
    pub risks: Vec<Finding>,
}

/// Progress of a preflight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExecutionStatus {
    /// The first pass over all checks is in progress.
    #[default]
    Running,
    /// The first pass over all checks has completed.
    Completed,
    /// The preflight failed.
    Failed,
}

/// Result of one check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CheckReport {
    /// Name of the component, or of a built-in check such as `removed-apis`.
    #[serde(deserialize_with = "lenient::text")]
    pub name: String,
    /// Owner of the check.
    pub kind: CheckKind,
    /// Status of the check.
    pub status: CheckStatus,
    /// Why there is no result, or what the result does not cover.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "lenient::text")]
    pub message: String,
    /// Start of the latest execution.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::time")]
    #[schemars(with = "Option<String>")]
    pub started: Option<Timestamp>,
    /// End of the latest execution.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lenient::time")]
    #[schemars(with = "Option<String>")]
    pub ended: Option<Timestamp>,
    /// Resources that the check watches, such as `nodes`.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::texts")]
    pub looked_at: Vec<String>,
    /// Whether a watched resource has changed since, so that the check runs again.
    #[serde(skip_serializing_if = "std::ops::Not::not", deserialize_with = "lenient::flag")]
    pub stale: bool,
    /// Read permissions of this check in addition to those that all checks have, as reported by the
    /// operator that granted them.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::texts")]
    pub granted: Vec<String>,
}

/// Origin of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CheckKind {
    /// A Job that a component of the release ships.
    #[default]
    Operator,
    /// A built-in check of Fairway.
    BuiltIn,
}

/// Status of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CheckStatus {
    /// The check has not started.
    #[default]
    Waiting,
    /// The first run of the check is in progress.
    Running,
    /// The check has no findings.
    Passed,
    /// The check has findings.
    Found,
    /// The check does not apply to this cluster: the component has no check, or is new.
    Skipped,
    /// The check ran and has no result.
    CannotTell,
    /// The check does not support updates between these versions.
    VersionSkew,
    /// The check timed out.
    TimedOut,
    /// The check crashed, or returned an invalid result.
    Failed,
    /// The check requests more than checks may use.
    Refused,
    /// The check requests permissions beyond read access.
    AccessRefused,
    /// The check could not be started.
    NotStarted,
}

impl CheckStatus {
    /// Whether the check has completed in this pass.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Waiting | Self::Running)
    }

    /// Whether the check ran, with or without a result.
    pub fn has_run(self) -> bool {
        match self {
            Self::Running
            | Self::Passed
            | Self::Found
            | Self::CannotTell
            | Self::VersionSkew
            | Self::TimedOut
            | Self::Failed => true,
            Self::Waiting
            | Self::Skipped
            | Self::Refused
            | Self::AccessRefused
            | Self::NotStarted => false,
        }
    }

    /// Whether the check has a result.
    pub fn has_result(self) -> bool {
        matches!(self, Self::Passed | Self::Found | Self::Skipped)
    }
}

/// Finding of a check: a risk of the update.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Finding {
    /// CamelCase name by which the finding is accepted.
    #[serde(deserialize_with = "lenient::text")]
    pub name: String,
    /// Description of the problem.
    #[serde(deserialize_with = "lenient::text")]
    pub message: String,
    /// Page about the finding.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "lenient::text")]
    pub url: String,
    /// Version of the target release.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "lenient::text")]
    pub target_version: String,
    /// Severity of the finding.
    pub severity: Severity,
    /// Instruction that resolves the problem.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "lenient::text")]
    pub remediation: String,
    /// Name of the check.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "lenient::text")]
    pub check: String,
    /// Certainty of the finding.
    pub reason: Reason,
}

impl Finding {
    /// Whether the finding makes an update to its target not recommended: a completed check
    /// reports it, as more than information.
    pub fn blocks_update(&self) -> bool {
        self.reason == Reason::PreflightValidation && self.severity >= Severity::Warning
    }
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// For information; does not block updates.
    Info,
    /// Something stops working as before.
    #[default]
    Warning,
    /// The update, or the platform after it, will fail.
    Critical,
}

/// How reliable a finding is: the reason of its condition `Applies`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A completed check reports the finding.
    #[default]
    PreflightValidation,
    /// The check did not complete, so it is unknown whether the risk applies.
    PreflightPartial,
    /// The check does not support updates between these versions.
    PreflightVersionSkew,
}

/// Number of checks by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Checks with a result.
    pub answered: usize,
    /// Checks that ended without a result.
    pub failed: usize,
    /// All checks.
    pub total: usize,
}

impl Document {
    /// Progress of the checks of one kind, without skipped ones.
    pub fn progress(&self, kind: CheckKind) -> Progress {
        let checks = self.checks.iter().filter(|check| check.kind == kind);
        let counted = checks.filter(|check| check.status != CheckStatus::Skipped);
        counted.fold(Progress::default(), |progress, check| Progress {
            answered: progress.answered + usize::from(check.status.has_result()),
            failed: progress.failed
                + usize::from(check.status.is_final() && !check.status.has_result()),
            total: progress.total + 1,
        })
    }

    /// Whether the first pass completed and all checks have a result.
    pub fn is_complete(&self) -> bool {
        self.execution_status == ExecutionStatus::Completed
            && self.checks.iter().all(|check| check.status.has_result())
    }

    /// Whether the results are complete and no stale result is overdue. Updates rely on this.
    pub fn is_current(&self) -> bool {
        self.is_complete() && self.overdue_checks().next().is_none()
    }

    /// Checks whose stale result was not renewed in time, as of the latest write.
    pub fn overdue_checks(&self) -> impl Iterator<Item = &CheckReport> {
        self.checks.iter().filter(|check| check.is_overdue(self.updated))
    }

    /// Time of the oldest result, `None` if unknown. Skipped checks have no result that ages.
    pub fn oldest_result(&self) -> Option<Timestamp> {
        let answers = self.checks.iter().filter(|check| check.status.has_result());
        let answers = answers.filter(|check| check.status != CheckStatus::Skipped);
        answers.map(|check| check.ended).min().unwrap_or(self.completed)
    }

    /// Whether the content differs, apart from the time of the write.
    pub fn differs_from(&self, before: &Self) -> bool {
        let said = |document: &Self| Self { updated: None, ..document.clone() };
        said(self) != said(before)
    }
}

impl CheckReport {
    /// Whether the result is stale and its renewal overdue.
    fn is_overdue(&self, now: Option<Timestamp>) -> bool {
        let is_young = |ended, now: Timestamp| now.duration_since(ended) <= RENEWAL_PERIOD;
        self.stale && !self.ended.zip(now).is_some_and(|(ended, now)| is_young(ended, now))
    }
}

impl Progress {
    /// Checks that have not ended.
    pub fn remaining(&self) -> usize {
        self.total.saturating_sub(self.answered).saturating_sub(self.failed)
    }
}

string_enum!(ExecutionStatus, unknown Failed,
    Running = "running",
    Completed = "completed",
    Failed = "failed",
);

string_enum!(CheckKind, unknown Operator,
    Operator = "operator",
    BuiltIn = "builtIn",
);

string_enum!(CheckStatus, unknown Failed,
    Waiting = "waiting",
    Running = "running",
    Passed = "passed",
    Found = "found",
    Skipped = "skipped",
    CannotTell = "cannotTell",
    VersionSkew = "versionSkew",
    TimedOut = "timedOut",
    Failed = "failed",
    Refused = "refused",
    AccessRefused = "accessRefused",
    NotStarted = "notStarted",
);

string_enum!(Severity, unknown Warning,
    Info = "info",
    Warning = "warning",
    Critical = "critical",
);

string_enum!(Reason, unknown PreflightValidation,
    PreflightValidation = "PreflightValidation",
    PreflightPartial = "PreflightPartial",
    PreflightVersionSkew = "PreflightVersionSkew",
);

/// Maximum bytes of invalid content in a message.
const MAX_QUOTED_BYTES: usize = 200;

impl Placeholder for Finding {
    /// A finding without a name, which cannot be accepted, in place of an invalid one.
    fn placeholder(found: String) -> Self {
        let found = text::beginning(&found, MAX_QUOTED_BYTES);
        Self { message: format!("Invalid finding: {found}"), ..Self::default() }
    }
}

impl Placeholder for CheckReport {
    /// A check without a result.
    fn placeholder(found: String) -> Self {
        let message = format!("invalid report: {}", text::beginning(&found, MAX_QUOTED_BYTES));
        Self { status: CheckStatus::Failed, message, ..Self::default() }
    }
}

impl Finding {
    /// A finding with which the update, or the platform after it, will fail.
    pub fn critical(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self::found(Severity::Critical, name.into(), message.into())
    }

    /// A finding with which something stops working as before.
    pub fn warning(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self::found(Severity::Warning, name.into(), message.into())
    }

    /// A finding for information; it does not block updates.
    pub fn info(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self::found(Severity::Info, name.into(), message.into())
    }

    fn found(severity: Severity, name: String, message: String) -> Self {
        Self { name, message, severity, ..Self::default() }
    }

    /// Sets the instruction that resolves the problem.
    #[must_use]
    pub fn remediation(self, remediation: impl Into<String>) -> Self {
        Self { remediation: remediation.into(), ..self }
    }

    /// Sets the page about the finding.
    #[must_use]
    pub fn url(self, url: impl Into<String>) -> Self {
        Self { url: url.into(), ..self }
    }
}

#[cfg(test)]
mod tests;
