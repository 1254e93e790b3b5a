//! Stored results: a ConfigMap for each target release, in the namespace of the operator.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::document::Document;

/// Key of the latest document in which all checks have a result, as JSON.
pub const COMPLETE: &str = "complete.json";

/// Key of a later document with checks without a result, as JSON.
pub const PARTIAL: &str = "partial.json";

/// Key of the history, as JSON: a list of [`RunRecord`], the newest first.
pub const HISTORY: &str = "history.json";

/// Key of the error that aborted the last run, as JSON: a [`RunFailure`]. Absent if there is none.
pub const FAILURE: &str = "failure.json";

/// Label of the `ConfigMaps`. Its value is `true`.
pub const LABEL: &str = "fairway.dev/preflight-record";

/// Annotation with the image of the target release.
pub const TARGET_IMAGE: &str = "fairway.dev/preflight-target";

/// Annotation of ClusterVersion that keeps results after the request is withdrawn. Its value is
/// `true`.
pub const KEEP_RESULTS: &str = "fairway.dev/preflight-keep-results";

/// Name of the ConfigMap of a target release; `None` for an image without a digest.
pub fn name(target_image: &str) -> Option<String> {
    let (_, digest) = target_image.rsplit_once("@sha256:")?;
    Some(format!("preflight-{}", digest.get(..16)?))
}

/// Stored results of one target release.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetRecord {
    /// Latest document in which all checks have a result.
    pub complete: Option<Document>,
    /// Later document with checks without a result.
    pub partial: Option<Document>,
    /// Ended runs, the newest first.
    pub history: Vec<RunRecord>,
}

/// Error that aborted a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunFailure {
    /// Reason of the condition `PreflightFailed`.
    pub reason: String,
    /// Description of the error.
    pub message: String,
    /// Whether the request of the run is still in the spec. Such a run is not repeated.
    pub requested: bool,
}

/// Summary of an ended run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunRecord {
    /// ID of the run.
    #[serde(rename = "preflightID")]
    pub preflight_id: String,
    /// Version of the cluster.
    pub source_version: String,
    /// Version of the target release.
    pub target_version: String,
    /// Start of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    /// End of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// Reason of the condition `PreflightCompleted` or `PreflightFailed`.
    pub outcome: String,
    /// Number of findings.
    pub risks: usize,
}
