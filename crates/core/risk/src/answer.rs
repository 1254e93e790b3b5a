//! What a query against the cluster's metrics yields, and what that says about a risk.

use std::collections::BTreeMap;
use std::fmt;

use fairway_promql::evaluate::{Element, Value};
use jiff::Timestamp;

use crate::policy::Refused;
use crate::sample::Sample;
use crate::text;

/// What came back from a query.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// An instant vector: one sample for each series.
    Samples(Vec<Sample>),
    /// Something else that PromQL can yield.
    Other(ResultType),
}

/// What PromQL can yield besides an instant vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultType {
    /// A number without labels.
    Scalar,
    /// Several samples of each series.
    Range,
    /// A text.
    Text,
}

impl fmt::Display for ResultType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scalar => "a scalar",
            Self::Range => "a range vector",
            Self::Text => "a string",
        })
    }
}

impl From<Value> for Answer {
    fn from(value: Value) -> Self {
        let sample = |Element { labels, value }: &Element| {
            let labels = labels.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
            Sample { labels: labels.collect(), value: *value }
        };
        match value {
            Value::Vector(vector) => Self::Samples(vector.iter().map(sample).collect()),
            Value::Scalar(_) => Self::Other(ResultType::Scalar),
            Value::Range(_) => Self::Other(ResultType::Range),
            Value::Text(_) => Self::Other(ResultType::Text),
        }
    }
}

impl Answer {
    /// Whether the cluster matches: exactly one sample, 1 if it does and 0 if it does not.
    pub fn outcome(&self) -> Outcome {
        let samples = match self {
            Self::Samples(samples) => samples.as_slice(),
            Self::Other(result_type) => return Err(Failure::NotAVector(*result_type)),
        };
        match samples {
            [Sample { value: 1.0, .. }] => Ok(true),
            [Sample { value: 0.0, .. }] => Ok(false),
            [Sample { value, .. }] => Err(Failure::NotZeroOrOne(value.to_string())),
            [] => Err(Failure::NoSeries),
            several => Err(Failure::SeveralSeries(several.len())),
        }
    }
}

/// Whether the cluster matches, or why that cannot be told.
pub type Outcome = Result<bool, Failure>;

/// The latest outcome of every query that was asked.
pub type Outcomes = BTreeMap<String, Outcome>;

/// Why a query does not tell whether the cluster matches.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It was not answered yet; it has to wait until then, where that is long.
    #[error("the query is not evaluated yet{}", turn(*.0))]
    Pending(Option<Timestamp>),
    /// No series: the metric may be missing.
    #[error("the query returned no series")]
    NoSeries,
    /// Which of them is meant cannot be told.
    #[error("the query returned {0} series instead of one")]
    SeveralSeries(usize),
    /// A value that means nothing.
    #[error("the query returned {0} instead of 0 or 1")]
    NotZeroOrOne(String),
    /// Something that has no value.
    #[error("the query returned {0} instead of one sample")]
    NotAVector(ResultType),
    /// Asking failed.
    #[error("cannot evaluate the query: {0}")]
    NotAsked(String),
    /// It is not sent to the cluster's metrics.
    #[error("the query is not allowed: {0}")]
    Refused(#[from] Refused),
}

fn turn(at: Option<Timestamp>) -> String {
    at.map(|at| format!("; scheduled for {at}")).unwrap_or_default()
}

/// Bytes of what went wrong while asking: texts of servers are repeated in conditions.
const MAX_ERROR: usize = 500;

impl Failure {
    /// Asking failed, as the text says.
    pub fn asking(error: &dyn fmt::Display) -> Self {
        Self::NotAsked(text::excerpt(&error.to_string(), MAX_ERROR))
    }
}
