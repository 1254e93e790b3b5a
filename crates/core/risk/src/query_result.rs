//! Results of PromQL queries, and whether a risk matches according to them.

use std::collections::BTreeMap;
use std::fmt;

use fairway_promql::evaluate::{QueryValue, VectorSample};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::query_policy::QueryRefusal;
use crate::text;

/// Result of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryResult {
    /// An instant vector: one sample for each series.
    Samples(Vec<Sample>),
    /// Another type of result.
    Other(QueryResultType),
}

/// PromQL result types besides instant vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryResultType {
    /// A scalar.
    Scalar,
    /// A range vector.
    Range,
    /// A string.
    Text,
}

impl fmt::Display for QueryResultType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scalar => "a scalar",
            Self::Range => "a range vector",
            Self::Text => "a string",
        })
    }
}

impl From<QueryValue> for QueryResult {
    fn from(value: QueryValue) -> Self {
        let sample = |VectorSample { labels, value }: &VectorSample| {
            let labels = labels.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
            Sample { labels: labels.collect(), value: *value }
        };
        match value {
            QueryValue::Vector(vector) => Self::Samples(vector.iter().map(sample).collect()),
            QueryValue::Scalar(_) => Self::Other(QueryResultType::Scalar),
            QueryValue::Range(_) => Self::Other(QueryResultType::Range),
            QueryValue::Text(_) => Self::Other(QueryResultType::Text),
        }
    }
}

impl QueryResult {
    /// Whether the cluster matches. The result must be one sample: 1 for a match, 0 otherwise.
    pub fn outcome(&self) -> QueryOutcome {
        let samples = match self {
            Self::Samples(samples) => samples.as_slice(),
            Self::Other(result_type) => return Err(QueryFailure::NotAVector(*result_type)),
        };
        match samples {
            [Sample { value: 1.0, .. }] => Ok(true),
            [Sample { value: 0.0, .. }] => Ok(false),
            [Sample { value, .. }] => Err(QueryFailure::NotZeroOrOne(value.to_string())),
            [] => Err(QueryFailure::NoSeries),
            several => Err(QueryFailure::SeveralSeries(several.len())),
        }
    }
}

/// Whether the cluster matches, or why this is unknown.
pub type QueryOutcome = Result<bool, QueryFailure>;

/// The latest outcome of every query, by query.
pub type QueryOutcomes = BTreeMap<String, QueryOutcome>;

/// Reason why a query does not determine whether the cluster matches.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryFailure {
    /// The operator has not evaluated the query yet. Contains the expected time of the evaluation
    /// if the delay is long enough to be reported.
    #[error("the operator has not evaluated the query yet{}", turn(*.0))]
    Pending(Option<Timestamp>),
    /// The result is empty: the metric may be missing.
    #[error("the query returned no series")]
    NoSeries,
    /// The result has several series.
    #[error("the query returned {0} series instead of one")]
    SeveralSeries(usize),
    /// The value is neither 0 nor 1.
    #[error("the query returned {0} instead of 0 or 1")]
    NotZeroOrOne(String),
    /// The result is not an instant vector.
    #[error("the query returned {0} instead of one sample")]
    NotAVector(QueryResultType),
    /// The request failed.
    #[error("cannot evaluate the query: {0}")]
    RequestFailed(String),
    /// The query policy does not allow the query.
    #[error("the query is not allowed: {0}")]
    Refused(#[from] QueryRefusal),
}

fn turn(at: Option<Timestamp>) -> String {
    at.map(|at| format!("; scheduled for {at}")).unwrap_or_default()
}

/// Bytes of an error message; conditions repeat it.
const MAX_ERROR_BYTES: usize = 500;

impl QueryFailure {
    /// A failed request with its error.
    pub fn request_failed(error: &dyn fmt::Display) -> Self {
        Self::RequestFailed(text::truncate(&error.to_string(), MAX_ERROR_BYTES))
    }
}

/// Series of an instant vector, with its value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sample {
    /// Labels of the series.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Value, as text: JSON has no NaN and no infinity.
    #[serde(serialize_with = "to_text", deserialize_with = "from_text")]
    #[schemars(with = "String")]
    pub value: f64,
}

impl From<f64> for Sample {
    /// A sample without labels.
    fn from(value: f64) -> Self {
        Self { labels: BTreeMap::new(), value }
    }
}

impl fmt::Display for Sample {
    /// The text format of Prometheus: `{type="VSphere"} 1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (index, (name, value)) in self.labels.iter().enumerate() {
            write!(f, "{}{name}={value:?}", if index == 0 { "" } else { ", " })?;
        }
        write!(f, "}} {}", self.value)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn to_text<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|_| serde::de::Error::custom("the value of a sample is not a number"))
}
