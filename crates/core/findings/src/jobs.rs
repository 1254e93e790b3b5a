//! Job requests of the target release, and the answers of the operator. The target release has no
//! write access; the operator verifies and creates every Job.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::lenient::string_enum;
use crate::{json, text};

/// Version of the format of both files.
pub const FORMAT: &str = "preflight-v1-jobs";

/// Name of the file with requests, beside the results.
pub const REQUESTS: &str = "jobs.json";

/// Name of the file with answers.
pub const ANSWERS: &str = "jobs-answer.json";

/// All Jobs that should exist. Others are deleted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobRequests {
    /// Version of the format: [`FORMAT`].
    pub format: String,
    /// ID of the run.
    #[serde(rename = "preflightID")]
    pub preflight_id: String,
    /// Requested Jobs.
    pub jobs: Vec<JobRequest>,
}

/// A Job that should exist.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobRequest {
    /// Name of the Job: that of its manifest and a random suffix. A Job is created only once.
    pub name: String,
    /// Name of the check.
    pub check: String,
    /// Manifest of the Job in the release, with resolved images.
    pub manifest: Value,
    /// ServiceAccount, Roles and bindings of the check in the release.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub access: Vec<Value>,
}

/// States of all requested Jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobAnswers {
    /// Version of the format: [`FORMAT`].
    pub format: String,
    /// ID of the run.
    #[serde(rename = "preflightID")]
    pub preflight_id: String,
    /// One entry for each request.
    pub jobs: Vec<JobAnswer>,
}

/// State of a requested Job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobAnswer {
    /// Name of the Job.
    pub name: String,
    /// State of the Job.
    pub state: JobState,
    /// Why the Job does not exist.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// State of a requested Job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JobState {
    /// The Job exists.
    #[default]
    Created,
    /// The Job requests more than checks may use, or is not part of the release.
    Refused,
    /// The permissions exceed read access, or are not part of the release.
    AccessRefused,
    /// The API server refused the Job.
    NotCreated,
}

string_enum!(JobState, unknown NotCreated,
    Created = "created",
    Refused = "refused",
    AccessRefused = "accessRefused",
    NotCreated = "notCreated",
);

/// Maximum bytes of each file. A manifest has a few hundred bytes, and each component has one
/// check.
pub const MAX_BYTES: usize = 1 << 20;

/// Maximum number of Jobs of a run: more than the components of a platform.
pub const MAX_JOBS: usize = 64;

/// Maximum number of requests: all Jobs and their replacements. Each is part of the answers and of
/// a label selector, so a file with more is refused.
pub const MAX_REQUESTS: usize = 2 * MAX_JOBS;

/// Maximum bytes of a quoted value.
const MAX_QUOTED_BYTES: usize = 80;

/// Why a file is not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobsError {
    /// The file exceeds [`MAX_BYTES`].
    #[error("it has {0} bytes; the limit is {MAX_BYTES} bytes")]
    TooLarge(usize),
    /// The file is invalid.
    #[error("cannot parse it: {0}")]
    Invalid(String),
    /// The format is not supported.
    #[error("unsupported format {0:?}; this release supports {FORMAT:?}")]
    UnknownFormat(String),
    /// The file belongs to another run.
    #[error("it belongs to the preflight run {0:?}")]
    OtherRun(String),
    /// The file has more than [`MAX_REQUESTS`] requests.
    #[error("it requests {0} Jobs; the limit is {MAX_REQUESTS}")]
    TooMany(usize),
}

impl JobRequests {
    /// Parses the requests of a run.
    pub fn read(bytes: &[u8], run: &str) -> Result<Self, JobsError> {
        let requests: Self = read(bytes, run)?;
        match requests.jobs.len() {
            count if count > MAX_REQUESTS => Err(JobsError::TooMany(count)),
            _ => Ok(requests),
        }
    }
}

impl JobAnswers {
    /// Parses the answers of a run.
    pub fn read(bytes: &[u8], run: &str) -> Result<Self, JobsError> {
        read(bytes, run)
    }
}

fn read<T: DeserializeOwned>(bytes: &[u8], run: &str) -> Result<T, JobsError> {
    if bytes.len() > MAX_BYTES {
        return Err(JobsError::TooLarge(bytes.len()));
    }
    let value = json::parse(bytes).map_err(|error| JobsError::Invalid(error.to_string()))?;
    let word = |field: &str| value[field].as_str().unwrap_or_default();
    if word("format") != FORMAT {
        return Err(JobsError::UnknownFormat(text::beginning(word("format"), MAX_QUOTED_BYTES)));
    }
    if word("preflightID") != run {
        return Err(JobsError::OtherRun(text::beginning(word("preflightID"), MAX_QUOTED_BYTES)));
    }
    T::deserialize(&value).map_err(|error| JobsError::Invalid(error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn read_requests_verifies_format_and_run() {
        let jobs =
            json!([{"name": "a-x1y2z", "check": "a", "manifest": {"kind": "Job"}, "new": 1}]);
        let file = json!({"format": FORMAT, "preflightID": "run", "jobs": jobs}).to_string();
        let requests = JobRequests::read(file.as_bytes(), "run").unwrap();
        assert_eq!(requests.jobs[0].check, "a");
        let many = json!({"format": FORMAT, "preflightID": "run", "jobs": vec![json!({}); 129]})
            .to_string();
        let cases: [(&[u8], &str); 5] = [
            (many.as_bytes(), "run"),
            (file.as_bytes(), "another"),
            (&file.as_bytes()[..30], "run"),
            (b"{\"format\": \"preflight-v2-jobs\"}", "run"),
            (&vec![b' '; MAX_BYTES + 1], "run"),
        ];
        let told = cases.map(|(bytes, run)| JobRequests::read(bytes, run).unwrap_err().to_string());
        insta::assert_snapshot!(told.join("\n"), @r#"
        it requests 129 Jobs; the limit is 128
        it belongs to the preflight run "run"
        cannot parse it: unexpected end at line 1, column 30
        unsupported format "preflight-v2-jobs"; this release supports "preflight-v1-jobs"
        it has 1048577 bytes; the limit is 1048576 bytes
        "#);
    }
}
