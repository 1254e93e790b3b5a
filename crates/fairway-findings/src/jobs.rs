//! The Jobs that the target release asks for. It may write nothing itself: the release that runs
//! looks at every one and creates it, or says why not.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The format of both files.
pub const FORMAT: &str = "preflight-v1-jobs";

/// The file with what is asked for, beside the results.
pub const REQUESTS: &str = "jobs.json";

/// The file with what became of it.
pub const ANSWERS: &str = "jobs-answer.json";

/// Every Job that is to exist now. One that is not in it any more is deleted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobRequests {
    /// [`FORMAT`].
    pub format: String,
    /// The run that they belong to.
    #[serde(rename = "preflightID")]
    pub preflight_id: String,
    /// The Jobs.
    pub jobs: Vec<JobRequest>,
}

/// One Job that is to exist.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobRequest {
    /// The name of the Job: that of its manifest and a random suffix. It is created once.
    pub name: String,
    /// The check that it belongs to.
    pub check: String,
    /// Its manifest, as the release has it, with images in place.
    pub manifest: Value,
    /// What the check needs to read: ServiceAccount, Roles and bindings of the same release.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub access: Vec<Value>,
}

/// What became of every Job that was asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobAnswers {
    /// [`FORMAT`].
    pub format: String,
    /// The run that they belong to.
    #[serde(rename = "preflightID")]
    pub preflight_id: String,
    /// One for each.
    pub jobs: Vec<JobAnswer>,
}

/// What became of one Job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobAnswer {
    /// The name that was asked for.
    pub name: String,
    /// What became of it.
    pub state: JobState,
    /// Why it does not exist.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// What became of a Job that was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum JobState {
    /// It exists.
    #[default]
    Created,
    /// It asks for more of the node than a check may have.
    Refused,
    /// It asks for permissions beyond reading.
    AccessRefused,
    /// The API server did not take it.
    NotCreated,
}
