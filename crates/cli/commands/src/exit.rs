//! How a command ends: codes that scripts can rely on.

use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExitStatus {
    /// It did what it was asked to; a question was answered with yes.
    Yes,
    /// Something went wrong.
    Error,
    /// The arguments make no sense.
    Usage,
    /// A risk or a check says no.
    No,
    /// It cannot be told.
    CannotTell,
    /// What was waited for did not happen in time.
    TimedOut,
    /// Risks have appeared since the last acceptance.
    NewRisks,
}

impl ExitStatus {
    /// Every status, in the order of the codes.
    pub const ALL: &[Self] = &[
        Self::Yes,
        Self::Error,
        Self::Usage,
        Self::No,
        Self::CannotTell,
        Self::TimedOut,
        Self::NewRisks,
    ];

    /// The number that the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Self::Yes => 0,
            Self::Error => 1,
            Self::Usage => 2,
            Self::No => 3,
            Self::CannotTell => 4,
            Self::TimedOut => 5,
            Self::NewRisks => 6,
        }
    }

    /// What the number means.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Yes => "yes: done, or no issues",
            Self::Error => "error: the command failed",
            Self::Usage => "usage: invalid arguments",
            Self::No => "no: a risk, a check or a finding blocks it",
            Self::CannotTell => "unknown: no result, incomplete or not supported",
            Self::TimedOut => "timed out: the expected state did not occur in time",
            Self::NewRisks => "new risks: risks have appeared since the last acceptance",
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.code())
    }
}
