//! What is kept of preflights: a ConfigMap for each target, in the namespace of the operator.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::document::Document;

/// The key of the last document in which every check had answered, as JSON.
pub const COMPLETE: &str = "complete.json";

/// The key of a later document in which some had not, as JSON.
pub const PARTIAL: &str = "partial.json";

/// The key of the last runs, as JSON: a list of [`Run`], the newest first.
pub const HISTORY: &str = "history.json";

/// The key of why the last run was given up, as JSON: a [`Failure`]. Without it, it was not.
pub const FAILURE: &str = "failure.json";

/// The label that says that a ConfigMap is such a record; its value is `true`.
pub const LABEL: &str = "fairway.dev/preflight-record";

/// The annotation with the image of the target.
pub const TARGET_IMAGE: &str = "fairway.dev/preflight-target";

/// The annotation of ClusterVersion that keeps records when the request is withdrawn; its value is
/// `true`.
pub const KEEP_RESULTS: &str = "fairway.dev/preflight-keep-results";

/// The name of the ConfigMap of a target; `None` for an image that is not named by its digest.
pub fn name(target_image: &str) -> Option<String> {
    let (_, digest) = target_image.rsplit_once("@sha256:")?;
    Some(format!("preflight-{}", digest.get(..16)?))
}

/// What is kept of one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// The last document in which every check had answered.
    pub complete: Option<Document>,
    /// A later one in which some had not.
    pub partial: Option<Document>,
    /// The last runs, the newest first.
    pub history: Vec<Run>,
}

/// Why a run was given up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Failure {
    /// A reason of the condition `PreflightFailed`.
    pub reason: String,
    /// The explanation for people.
    pub message: String,
    /// Whether the request stands that the run was for: it is not repeated then.
    pub requested: bool,
}

/// One run, in short.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Run {
    /// Its identity.
    #[serde(rename = "preflightID")]
    pub preflight_id: String,
    /// The version of the cluster.
    pub source_version: String,
    /// The version of the target.
    pub target_version: String,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    /// When it was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// How it ended: a reason of the conditions `PreflightCompleted` or `PreflightFailed`.
    pub outcome: String,
    /// How many risks it had found.
    pub risks: usize,
}
