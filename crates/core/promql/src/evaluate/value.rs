//! Results of an evaluation.

use std::fmt;

use crate::expr::ExprType;
use crate::labels::{LabelSet, truncated};
use crate::snapshot::Series;

use super::error::EvaluationError;
use super::number::Number;

/// Result of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryValue {
    /// A scalar.
    Scalar(f64),
    /// An instant vector.
    Vector(Vec<VectorSample>),
    /// A range vector.
    Range(Vec<Series>),
    /// A string.
    Text(String),
}

/// A series of an instant vector.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorSample {
    /// Labels of the series.
    pub labels: LabelSet,
    /// Value of the series.
    pub value: f64,
}

impl QueryValue {
    /// Type of the value.
    pub fn kind(&self) -> ExprType {
        match self {
            Self::Scalar(_) => ExprType::Scalar,
            Self::Vector(_) => ExprType::Vector,
            Self::Range(_) => ExprType::Range,
            Self::Text(_) => ExprType::Text,
        }
    }

    pub(super) fn into_vector(self) -> Result<Vec<VectorSample>, EvaluationError> {
        match self {
            Self::Vector(vector) => Ok(vector),
            other => Err(other.instead_of(ExprType::Vector)),
        }
    }

    pub(super) fn into_scalar(self) -> Result<f64, EvaluationError> {
        match self {
            Self::Scalar(number) => Ok(number),
            other => Err(other.instead_of(ExprType::Scalar)),
        }
    }

    fn instead_of(&self, expected: ExprType) -> EvaluationError {
        EvaluationError::Mismatch { expected, found: self.kind() }
    }
}

/// Maps the values, and drops the metric name as Prometheus does.
pub(super) fn map_values(
    vector: Vec<VectorSample>,
    function: impl Fn(f64) -> f64,
) -> Vec<VectorSample> {
    let calculate = |element: VectorSample| VectorSample {
        labels: element.labels.without_metric(),
        value: function(element.value),
    };
    vector.into_iter().map(calculate).collect()
}

/// Number of series that a message lists.
const MAX_LISTED_SERIES: usize = 3;

/// For messages such as "the query returned …".
impl fmt::Display for QueryValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(number) => write!(f, "the scalar {}", Number(*number)),
            Self::Vector(vector) if vector.is_empty() => f.write_str("no series"),
            Self::Vector(vector) => write!(f, "{} series: {}", vector.len(), SampleList(vector)),
            Self::Range(series) => write!(f, "a range vector of {} series", series.len()),
            Self::Text(text) => write!(f, "the string {:?}", truncated(text)),
        }
    }
}

struct SampleList<'a>(&'a [VectorSample]);

impl fmt::Display for SampleList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = self.0.iter().take(MAX_LISTED_SERIES);
        let named: Vec<String> = named.map(ToString::to_string).collect();
        f.write_str(&named.join(", "))?;
        match self.0.len().saturating_sub(MAX_LISTED_SERIES) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl fmt::Display for VectorSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.labels.brief(), Number(self.value))
    }
}
