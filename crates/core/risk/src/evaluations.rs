//! Results of queries, stored for `fairway upgrade explain`.
//!
//! The operator writes them to a ConfigMap in its namespace. Other clients may edit it, so reads
//! have limits, and an invalid entry does not affect the others.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::query_result::Sample;
use crate::query_result::{QueryFailure, QueryResult};
use crate::schedule::MAX_QUERIES;
use crate::{status_limits, text};

/// Name of the ConfigMap in the operator's namespace.
pub const CONFIG_MAP: &str = "risk-evaluations";

/// Key of the JSON document in the ConfigMap.
pub const KEY: &str = "evaluations.json";

/// Version of the document. It changes if a field is removed or changes its meaning.
const VERSION: u32 = 1;

/// Bytes of a written document: half of the limit of API servers, which leaves room for the rest of
/// the object. OpenShift's queries need a twentieth of it.
const MAX_WRITTEN_BYTES: usize = 512 << 10;

/// Bytes of a read document: the limit of API servers.
const MAX_READ_BYTES: usize = 1 << 20;

/// Stored series of a result: one is expected, and a few show the problem.
const MAX_SAMPLES: usize = 5;

/// Stored labels of a series.
const MAX_LABELS: usize = 20;

/// Stored bytes of a label name or value.
const MAX_LABEL_BYTES: usize = 200;

/// Stored bytes of an error.
const MAX_ERROR_BYTES: usize = 1 << 10;

/// Results of all evaluated queries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluations {
    /// One result for each query.
    pub queries: Vec<Evaluation>,
    /// Number of results that do not fit or are invalid.
    pub omitted: usize,
}

/// Result of one query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evaluation {
    /// The query.
    pub query: String,
    /// Meaning of the result.
    #[serde(flatten)]
    pub conclusion: EvaluationOutcome,
    /// Time of the result; of a repeated failure, time of the first one.
    pub at: Timestamp,
    /// Time of the next evaluation; `None` after a failure, which is retried sooner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Timestamp>,
    /// Number of series of the result.
    #[serde(default)]
    pub series: usize,
    /// The first series of the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Sample>,
}

/// Outcome of an evaluation, as stored in the ConfigMap `risk-evaluations`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "outcome", content = "why")]
pub enum EvaluationOutcome {
    /// The risk applies.
    Matches,
    /// The risk does not apply.
    DoesNotMatch,
    /// The evaluation failed with this error.
    Failed(String),
}

/// Reason why stored results cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationsError {
    /// The document is too large.
    #[error("{0} bytes exceed the limit of {MAX_READ_BYTES} bytes")]
    TooLarge(usize),
    /// The document is invalid.
    #[error("cannot parse it: {0}")]
    Malformed(String),
    /// The version of the document is not supported.
    #[error("unsupported version {0}; the supported version is {VERSION}")]
    UnknownVersion(u32),
}

impl Evaluation {
    /// The result of a query at a time.
    pub fn new(
        query: &str,
        result: &Result<QueryResult, QueryFailure>,
        at: Timestamp,
        next: Option<Timestamp>,
    ) -> Self {
        let outcome = result.clone().and_then(|answer| answer.outcome());
        let samples = match result {
            Ok(QueryResult::Samples(samples)) => samples.as_slice(),
            Ok(QueryResult::Other(_)) | Err(_) => &[],
        };
        let conclusion = match outcome {
            Ok(true) => EvaluationOutcome::Matches,
            Ok(false) => EvaluationOutcome::DoesNotMatch,
            Err(failure) => EvaluationOutcome::Failed(failure.to_string()),
        };
        let next = next.filter(|_| !matches!(conclusion, EvaluationOutcome::Failed(_)));
        let series = samples.len();
        let samples = samples.iter().take(MAX_SAMPLES).cloned().collect();
        let (at, next) = (whole_second(at), next.map(whole_second));
        Self { query: query.to_owned(), conclusion, at, next, series, samples }.bounded()
    }

    /// Whether it is the same failure as before, so that no update of the ConfigMap is needed.
    pub fn repeats(&self, before: &Self) -> bool {
        matches!(self.conclusion, EvaluationOutcome::Failed(_))
            && self.conclusion == before.conclusion
    }

    fn bounded(mut self) -> Self {
        self.samples.truncate(MAX_SAMPLES);
        for sample in &mut self.samples {
            let labels = std::mem::take(&mut sample.labels).into_iter().take(MAX_LABELS);
            let short = |text: String| text::truncate(&text, MAX_LABEL_BYTES);
            sample.labels = labels.map(|(name, value)| (short(name), short(value))).collect();
        }
        if let EvaluationOutcome::Failed(why) = &mut self.conclusion {
            *why = text::truncate(why, MAX_ERROR_BYTES);
        }
        self
    }
}

/// Truncates to seconds.
fn whole_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

#[derive(Serialize)]
struct StoredEvaluations<'a> {
    version: u32,
    queries: &'a [Evaluation],
    #[serde(skip_serializing_if = "is_zero")]
    omitted: usize,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct RawEvaluations {
    version: u32,
    #[serde(default)]
    queries: Vec<Value>,
    #[serde(default)]
    omitted: usize,
}

impl Evaluations {
    /// The results that fit into the size limit.
    pub fn new(all: &BTreeMap<String, Evaluation>) -> Self {
        let mut room = MAX_WRITTEN_BYTES;
        let mut fits = |evaluation: &&Evaluation| {
            let left = room.checked_sub(status_limits::size(evaluation));
            room = left.unwrap_or(room);
            left.is_some()
        };
        let queries: Vec<_> =
            all.values().take(MAX_QUERIES).filter(|one| fits(one)).cloned().collect();
        Self { omitted: all.len() - queries.len(), queries }
    }

    /// The result of a query.
    pub fn get(&self, query: &str) -> Option<&Evaluation> {
        self.queries.iter().find(|evaluation| evaluation.query == query)
    }

    /// The document that is stored in the ConfigMap.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let Self { queries, omitted } = self;
        serde_json::to_string(&StoredEvaluations { version: VERSION, queries, omitted: *omitted })
    }

    /// Reads the document and omits invalid entries.
    pub fn read(json: &str) -> Result<Self, EvaluationsError> {
        if json.len() > MAX_READ_BYTES {
            return Err(EvaluationsError::TooLarge(json.len()));
        }
        let malformed = |error: serde_json::Error| {
            EvaluationsError::Malformed(text::truncate(&error.to_string(), MAX_LABEL_BYTES))
        };
        let RawEvaluations { version, queries, omitted } =
            serde_json::from_str(json).map_err(malformed)?;
        if version != VERSION {
            return Err(EvaluationsError::UnknownVersion(version));
        }
        let all = queries.len();
        let valid = queries.into_iter().take(MAX_QUERIES);
        let valid = valid.filter_map(|one| serde_json::from_value(one).ok());
        let queries: Vec<_> = valid.map(Evaluation::bounded).collect();
        Ok(Self { omitted: omitted.saturating_add(all - queries.len()), queries })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}
