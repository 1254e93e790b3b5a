//! What a release said about a cluster before it was updated, in short.

use schemars::JsonSchema;
use serde::Serialize;

/// What is known about the preflight of one release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Preflight {
    /// The version of the release.
    #[serde(skip)]
    pub version: String,
    /// What it comes to.
    pub result: PreflightResult,
    /// The names of findings that stand against the update and are not accepted.
    pub findings: Vec<String>,
    /// How old the oldest of its answers is.
    pub age_seconds: Option<i64>,
}

/// What a preflight comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PreflightResult {
    /// All checks answered, and nothing stands against the update.
    NothingFound,
    /// All answered, and what stands against it is accepted.
    FindingsAccepted,
    /// All answered, and something stands against it.
    Findings,
    /// Answers are still to come.
    Running,
    /// Some checks gave no answer.
    Incomplete,
    /// All answered, but the cluster has changed since, and some should have looked again.
    Stale,
    /// The answers are about another version of the cluster.
    Outdated,
    /// It could not be carried out.
    Failed,
    /// There was none.
    NotRun,
    /// The operator does not know preflights.
    Unsupported,
}
