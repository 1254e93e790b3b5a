//! What a release said about a cluster before it was updated, in short.

use schemars::JsonSchema;
use serde::Serialize;

/// Preflight of one release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Preflight {
    /// Version of the release.
    #[serde(skip)]
    pub version: String,
    /// Result of the preflight.
    pub result: PreflightResult,
    /// Names of unaccepted findings that block the update.
    pub findings: Vec<String>,
    /// Age of the oldest result of a check.
    pub age_seconds: Option<i64>,
}

/// Result of a preflight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PreflightResult {
    /// All checks have a result, and no finding blocks the update.
    NoFindings,
    /// All checks have a result, and all findings are accepted.
    FindingsAccepted,
    /// All checks have a result, and a finding blocks the update.
    Findings,
    /// Some checks have not completed.
    Running,
    /// Some checks completed without a result.
    Incomplete,
    /// All checks have a result, but the cluster has changed and some have not run again.
    Stale,
    /// The results are from another version of the cluster.
    Outdated,
    /// The preflight failed.
    Failed,
    /// No preflight was run.
    NotRun,
    /// The operator does not support preflights.
    Unsupported,
}
