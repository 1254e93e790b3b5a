//! Exit codes.

use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

/// Result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExitStatus {
    /// The command succeeded, or found no blockers.
    Success,
    /// An error occurred.
    Error,
    /// The arguments are invalid.
    Usage,
    /// A risk or a check blocks the update.
    Refused,
    /// The data is incomplete, or the cluster does not support the command.
    Unknown,
    /// The expected state was not reached in time.
    TimedOut,
    /// New risks have appeared since the risks were accepted.
    NewRisks,
}

impl ExitStatus {
    /// Every status, in the order of the codes.
    pub const ALL: &[Self] = &[
        Self::Success,
        Self::Error,
        Self::Usage,
        Self::Refused,
        Self::Unknown,
        Self::TimedOut,
        Self::NewRisks,
    ];

    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Error => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::Unknown => 4,
            Self::TimedOut => 5,
            Self::NewRisks => 6,
        }
    }

    /// The meaning of the exit code.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Success => "success: the command completed, or found no issues",
            Self::Error => "error: the command failed",
            Self::Usage => "usage: invalid arguments",
            Self::Refused => {
                "no: the update is blocked, or the command found errors, differences or no path"
            }
            Self::Unknown => "unknown: no result, incomplete or not supported",
            Self::TimedOut => "timed out: the expected state was not reached in time",
            Self::NewRisks => "new risks: risks have appeared since the risks were accepted",
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.code())
    }
}
