//! The checks of a run in the documents of the command line.

use fairway_findings::{CheckKind, CheckReport, CheckStatus};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// Result of one check. [`CheckReport`] is the format of results in the cluster, whose names are
/// fixed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CheckSummary<'a> {
    /// Name of the component, or of a built-in check such as `removed-apis`.
    name: &'a str,
    /// Owner of the check.
    kind: CheckKind,
    /// Status of the check.
    status: CheckStatus,
    /// Why there is no result, or what the result does not cover.
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    /// Start of the latest execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    start_time: Option<Timestamp>,
    /// End of the latest execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    completion_time: Option<Timestamp>,
    /// Resources that the check watches, such as `nodes`.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    watched_resources: &'a [String],
    /// Whether a watched resource has changed since, so that the check runs again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stale: bool,
    /// Read permissions beyond those of all checks, as reported by the operator that granted them.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    granted_access: &'a [String],
}

impl<'a> From<&'a CheckReport> for CheckSummary<'a> {
    fn from(check: &'a CheckReport) -> Self {
        Self {
            name: &check.name,
            kind: check.kind,
            status: check.status,
            message: &check.message,
            start_time: check.started,
            completion_time: check.ended,
            watched_resources: &check.looked_at,
            stale: check.stale,
            granted_access: &check.granted,
        }
    }
}

/// Serializes checks as [`CheckSummary`].
pub(super) fn serialize<S: Serializer>(checks: &[CheckReport], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(checks.iter().map(CheckSummary::from))
}
