//! What a preflight has found so far.

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient::{self, StandIn};
use crate::text;
use crate::words::words;

/// How long an answer counts although something has changed since: as long as a new one may take. In
/// a busy cluster something changes all the time, and no answer is ever younger than that.
const RENEWAL: SignedDuration = SignedDuration::from_mins(10);

/// Results of a preflight: the file that the target release writes and updates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Document {
    /// Version of the format: [`crate::FORMAT`].
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

/// How far a preflight is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExecutionStatus {
    /// The first pass over all checks is not done.
    #[default]
    Running,
    /// It is done.
    Completed,
    /// It cannot be done.
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
    /// Read permissions beyond those of all checks, as reported by the operator that granted them.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "lenient::texts")]
    pub granted: Vec<String>,
}

/// Whose check it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CheckKind {
    /// That of an operator of the release: a Job.
    #[default]
    Operator,
    /// One of Fairway's own.
    BuiltIn,
}

/// What became of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CheckStatus {
    /// It has not begun.
    #[default]
    Waiting,
    /// It is at work for the first time.
    Running,
    /// It has nothing to say against the update.
    Passed,
    /// It has found something.
    Found,
    /// It does not concern this cluster: the operator has no check, or is new.
    Skipped,
    /// It has looked, and cannot tell.
    CannotTell,
    /// The versions are too far apart for it.
    VersionSkew,
    /// It took too long.
    TimedOut,
    /// It crashed, or gave an answer that cannot be understood.
    Failed,
    /// It asks for more than a check may have.
    Refused,
    /// It asks for permissions beyond reading.
    AccessRefused,
    /// It could not be started.
    NotStarted,
}

impl CheckStatus {
    /// Whether nothing more is to come of this pass.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Waiting | Self::Running)
    }

    /// Whether it was at work, be it in vain.
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

    /// Whether the question that the check asks was answered.
    pub fn is_answer(self) -> bool {
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

/// How bad something is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know; it stands against no update.
    Info,
    /// Something will not work as before.
    #[default]
    Warning,
    /// The update, or the platform after it, will fail.
    Critical,
}

/// How sure a finding is: the word of its condition `Applies`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A check that was carried out to its end says so.
    #[default]
    PreflightValidation,
    /// A check could not be carried out, so nobody knows.
    PreflightPartial,
    /// The versions are too far apart to be compared.
    PreflightVersionSkew,
}

/// How many checks have come to an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Those that have an answer.
    pub answered: usize,
    /// Those that ended without one.
    pub failed: usize,
    /// All.
    pub total: usize,
}

impl Document {
    /// How far the checks of one kind are. What is skipped is not counted.
    pub fn progress(&self, kind: CheckKind) -> Progress {
        let checks = self.checks.iter().filter(|check| check.kind == kind);
        let counted = checks.filter(|check| check.status != CheckStatus::Skipped);
        counted.fold(Progress::default(), |progress, check| Progress {
            answered: progress.answered + usize::from(check.status.is_answer()),
            failed: progress.failed
                + usize::from(check.status.is_final() && !check.status.is_answer()),
            total: progress.total + 1,
        })
    }

    /// Whether the first pass is done, and every check has answered.
    pub fn is_complete(&self) -> bool {
        self.execution_status == ExecutionStatus::Completed
            && self.checks.iter().all(|check| check.status.is_answer())
    }

    /// Whether it is complete, and none of its answers is overtaken: what an update may rely on.
    pub fn is_current(&self) -> bool {
        self.is_complete() && self.overtaken().next().is_none()
    }

    /// Checks that should have looked again by the time at which this was written, and have not.
    pub fn overtaken(&self) -> impl Iterator<Item = &CheckReport> {
        self.checks.iter().filter(|check| check.is_overtaken(self.updated))
    }

    /// When the oldest of its answers was given; nothing where one does not tell. What is skipped
    /// gave none that could grow old.
    pub fn oldest_answer(&self) -> Option<Timestamp> {
        let answers = self.checks.iter().filter(|check| check.status.is_answer());
        let answers = answers.filter(|check| check.status != CheckStatus::Skipped);
        answers.map(|check| check.ended).min().unwrap_or(self.completed)
    }

    /// Whether it says something else than another. That it was written again is no news.
    pub fn is_news_after(&self, before: &Self) -> bool {
        let said = |document: &Self| Self { updated: None, ..document.clone() };
        said(self) != said(before)
    }
}

impl CheckReport {
    /// Whether something has changed since its answer, and a new one is overdue.
    fn is_overtaken(&self, now: Option<Timestamp>) -> bool {
        let is_young = |ended, now: Timestamp| now.duration_since(ended) <= RENEWAL;
        self.stale && !self.ended.zip(now).is_some_and(|(ended, now)| is_young(ended, now))
    }
}

impl Progress {
    /// Those that are not done.
    pub fn remaining(&self) -> usize {
        self.total.saturating_sub(self.answered).saturating_sub(self.failed)
    }
}

words!(ExecutionStatus, unknown Failed,
    Running = "running",
    Completed = "completed",
    Failed = "failed",
);

words!(CheckKind, unknown Operator,
    Operator = "operator",
    BuiltIn = "builtIn",
);

words!(CheckStatus, unknown Failed,
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

words!(Severity, unknown Warning,
    Info = "info",
    Warning = "warning",
    Critical = "critical",
);

words!(Reason, unknown PreflightValidation,
    PreflightValidation = "PreflightValidation",
    PreflightPartial = "PreflightPartial",
    PreflightVersionSkew = "PreflightVersionSkew",
);

/// Bytes that are quoted of what cannot be read.
const QUOTED: usize = 200;

impl StandIn for Finding {
    /// Something was found, though nobody knows what: without a name it cannot be accepted.
    fn stand_in(found: String) -> Self {
        let found = text::beginning(&found, QUOTED);
        Self { message: format!("A finding that cannot be read: {found}"), ..Self::default() }
    }
}

impl StandIn for CheckReport {
    /// A check without an answer.
    fn stand_in(found: String) -> Self {
        let message = format!("a report that cannot be read: {}", text::beginning(&found, QUOTED));
        Self { status: CheckStatus::Failed, message, ..Self::default() }
    }
}

#[cfg(test)]
mod tests;
