//! The Jobs that the target release asks for. It may write nothing itself: the release that runs
//! looks at every one and creates it, or says why not.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::words::words;
use crate::{json, text};

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JobState {
    /// It exists.
    #[default]
    Created,
    /// It asks for more of the node than a check may have, or the release does not have it.
    Refused,
    /// It asks for permissions beyond reading, or for others than the release has.
    AccessRefused,
    /// The API server did not take it.
    NotCreated,
}

words!(JobState, unknown NotCreated,
    Created = "created",
    Refused = "refused",
    AccessRefused = "accessRefused",
    NotCreated = "notCreated",
);

/// Bytes of either file: a manifest takes a few hundred, and there is one for each operator.
pub const MAX_BYTES: usize = 1 << 20;

/// Jobs of one run: more than platforms have operators that could bring one.
pub const MAX_JOBS: usize = 64;

/// Jobs that can be asked for: all, and as many that replace them. Each is answered, and named in a
/// question to the API server, so whoever asks for more is not listened to at all.
pub const MAX_REQUESTS: usize = 2 * MAX_JOBS;

/// Bytes that are quoted of something unexpected.
const QUOTED: usize = 80;

/// Why one of the files is not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobsError {
    /// It is too large.
    #[error("it has {0} bytes; the limit is {MAX_BYTES} bytes")]
    TooLarge(usize),
    /// It cannot be understood.
    #[error("cannot parse it: {0}")]
    Invalid(String),
    /// It is in a format that this release does not know.
    #[error("unsupported format {0:?}; this release supports {FORMAT:?}")]
    UnknownFormat(String),
    /// It belongs to another run.
    #[error("it belongs to the preflight run {0:?}")]
    OtherRun(String),
    /// It asks for too much.
    #[error("it requests {0} Jobs; the limit is {MAX_REQUESTS}")]
    TooMany(usize),
}

impl JobRequests {
    /// Reads what is asked for in that run.
    pub fn read(bytes: &[u8], run: &str) -> Result<Self, JobsError> {
        let requests: Self = read(bytes, run)?;
        match requests.jobs.len() {
            count if count > MAX_REQUESTS => Err(JobsError::TooMany(count)),
            _ => Ok(requests),
        }
    }
}

impl JobAnswers {
    /// Reads what became of that.
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
        return Err(JobsError::UnknownFormat(text::beginning(word("format"), QUOTED)));
    }
    if word("preflightID") != run {
        return Err(JobsError::OtherRun(text::beginning(word("preflightID"), QUOTED)));
    }
    T::deserialize(&value).map_err(|error| JobsError::Invalid(error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_asked_for_is_read_if_it_is_of_this_run() {
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
