//! What was asked of the cluster's metrics and what came back, for people who want to know why.
//!
//! The operator keeps it in a ConfigMap beside itself. Anybody may have edited that: what is read
//! has limits, and an entry that cannot be understood costs the others nothing.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::{Answer, Failure};
use crate::sample::Sample;
use crate::schedule::MAX_QUERIES;
use crate::{fit, text};

/// The ConfigMap, in the namespace of the operator.
pub const CONFIG_MAP: &str = "risk-evaluations";

/// The key under which it has all of it, as JSON.
pub const KEY: &str = "evaluations.json";

/// Changes when a field changes its meaning or goes away.
const VERSION: u32 = 1;

/// Bytes that are written: half of what an API server takes, so that there is room for the rest of
/// the object. The real data of a whole platform has a twentieth of it.
const MAX_WRITTEN: usize = 512 << 10;

/// Bytes that are read: an API server takes no more.
const MAX_READ: usize = 1 << 20;

/// Series that are kept of an answer: one is expected, and a few show what is wrong.
const MAX_SAMPLES: usize = 5;

/// Labels that are kept of a series.
const MAX_LABELS: usize = 20;

/// Bytes that are kept of a label's name, and of its value.
const MAX_LABEL: usize = 200;

/// Bytes that are kept of why there is no answer.
const MAX_WHY: usize = 1 << 10;

/// Results of all evaluated queries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluations {
    /// One result for each query.
    pub queries: Vec<Evaluation>,
    /// How many more there are, for which there was no room or which cannot be understood.
    pub omitted: usize,
}

/// What came of a query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evaluation {
    /// The query.
    pub query: String,
    /// What the answer means.
    #[serde(flatten)]
    pub conclusion: Conclusion,
    /// When it was answered; of a failure that repeats itself, when it began.
    pub at: Timestamp,
    /// When it is asked again. After a failure that is sooner, with growing pauses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Timestamp>,
    /// How many series the answer has.
    #[serde(default)]
    pub series: usize,
    /// The first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Sample>,
}

/// Outcome of an evaluation, as stored in the ConfigMap `risk-evaluations`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "outcome", content = "why")]
pub enum Conclusion {
    /// The risk applies.
    Matches,
    /// The risk does not apply.
    DoesNotMatch,
    /// The evaluation failed with this error.
    Failed(String),
}

/// Why nothing can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationsError {
    /// There is too much of it.
    #[error("{0} bytes exceed the limit of {MAX_READ} bytes")]
    TooLarge(usize),
    /// It is no such document.
    #[error("cannot parse it: {0}")]
    Malformed(String),
    /// It is of another time.
    #[error("unsupported version {0}; the supported version is {VERSION}")]
    UnknownVersion(u32),
}

impl Evaluation {
    /// What came of a query at that time.
    pub fn new(
        query: &str,
        came: &Result<Answer, Failure>,
        at: Timestamp,
        next: Option<Timestamp>,
    ) -> Self {
        let outcome = came.clone().and_then(|answer| answer.outcome());
        let samples = match came {
            Ok(Answer::Samples(samples)) => samples.as_slice(),
            Ok(Answer::Other(_)) | Err(_) => &[],
        };
        let conclusion = match outcome {
            Ok(true) => Conclusion::Matches,
            Ok(false) => Conclusion::DoesNotMatch,
            Err(failure) => Conclusion::Failed(failure.to_string()),
        };
        let next = next.filter(|_| !matches!(conclusion, Conclusion::Failed(_)));
        let series = samples.len();
        let samples = samples.iter().take(MAX_SAMPLES).cloned().collect();
        let (at, next) = (whole_second(at), next.map(whole_second));
        Self { query: query.to_owned(), conclusion, at, next, series, samples }.bounded()
    }

    /// Whether it is the failure that is known already: it is no news that it lasts.
    pub fn repeats(&self, before: &Self) -> bool {
        matches!(self.conclusion, Conclusion::Failed(_)) && self.conclusion == before.conclusion
    }

    fn bounded(mut self) -> Self {
        self.samples.truncate(MAX_SAMPLES);
        for sample in &mut self.samples {
            let labels = std::mem::take(&mut sample.labels).into_iter().take(MAX_LABELS);
            let short = |text: String| text::excerpt(&text, MAX_LABEL);
            sample.labels = labels.map(|(name, value)| (short(name), short(value))).collect();
        }
        if let Conclusion::Failed(why) = &mut self.conclusion {
            *why = text::excerpt(why, MAX_WHY);
        }
        self
    }
}

/// People read it.
fn whole_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

#[derive(Serialize)]
struct Written<'a> {
    version: u32,
    queries: &'a [Evaluation],
    #[serde(skip_serializing_if = "is_zero")]
    omitted: usize,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Read {
    version: u32,
    #[serde(default)]
    queries: Vec<Value>,
    #[serde(default)]
    omitted: usize,
}

impl Evaluations {
    /// As many of them as there is room for.
    pub fn of(all: &BTreeMap<String, Evaluation>) -> Self {
        let mut room = MAX_WRITTEN;
        let mut fits = |evaluation: &&Evaluation| {
            let left = room.checked_sub(fit::size(evaluation));
            room = left.unwrap_or(room);
            left.is_some()
        };
        let queries: Vec<_> =
            all.values().take(MAX_QUERIES).filter(|one| fits(one)).cloned().collect();
        Self { omitted: all.len() - queries.len(), queries }
    }

    /// What came of that query.
    pub fn get(&self, query: &str) -> Option<&Evaluation> {
        self.queries.iter().find(|evaluation| evaluation.query == query)
    }

    /// As it is stored.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let Self { queries, omitted } = self;
        serde_json::to_string(&Written { version: VERSION, queries, omitted: *omitted })
    }

    /// What is stored, as far as it can be understood.
    pub fn read(json: &str) -> Result<Self, EvaluationsError> {
        if json.len() > MAX_READ {
            return Err(EvaluationsError::TooLarge(json.len()));
        }
        let malformed = |error: serde_json::Error| {
            EvaluationsError::Malformed(text::excerpt(&error.to_string(), MAX_LABEL))
        };
        let Read { version, queries, omitted } = serde_json::from_str(json).map_err(malformed)?;
        if version != VERSION {
            return Err(EvaluationsError::UnknownVersion(version));
        }
        let all = queries.len();
        let understood = queries.into_iter().take(MAX_QUERIES);
        let understood = understood.filter_map(|one| serde_json::from_value(one).ok());
        let queries: Vec<_> = understood.map(Evaluation::bounded).collect();
        Ok(Self { omitted: omitted.saturating_add(all - queries.len()), queries })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}
