//! What comes out of an evaluation.

use std::fmt;

use crate::expr::Type;
use crate::labels::{LabelSet, shortened};
use crate::snapshot::Series;

use super::error::EvaluationError;
use super::number::Number;

/// The answer to a query.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// One number, without labels.
    Scalar(f64),
    /// One value of each of several series, or of none.
    Vector(Vec<Element>),
    /// Several samples of each of several series.
    Range(Vec<Series>),
    /// A text.
    Text(String),
}

/// One series of a vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// Its labels.
    pub labels: LabelSet,
    /// Its value.
    pub value: f64,
}

impl Value {
    /// What it is.
    pub fn kind(&self) -> Type {
        match self {
            Self::Scalar(_) => Type::Scalar,
            Self::Vector(_) => Type::Vector,
            Self::Range(_) => Type::Range,
            Self::Text(_) => Type::Text,
        }
    }

    pub(super) fn into_vector(self) -> Result<Vec<Element>, EvaluationError> {
        match self {
            Self::Vector(vector) => Ok(vector),
            other => Err(other.instead_of(Type::Vector)),
        }
    }

    pub(super) fn into_scalar(self) -> Result<f64, EvaluationError> {
        match self {
            Self::Scalar(number) => Ok(number),
            other => Err(other.instead_of(Type::Scalar)),
        }
    }

    fn instead_of(&self, expected: Type) -> EvaluationError {
        EvaluationError::Mismatch { expected, found: self.kind() }
    }
}

/// New values, which are no longer those of the metric.
pub(super) fn calculated(vector: Vec<Element>, function: impl Fn(f64) -> f64) -> Vec<Element> {
    let calculate = |element: Element| Element {
        labels: element.labels.without_metric(),
        value: function(element.value),
    };
    vector.into_iter().map(calculate).collect()
}

/// How many series are named: enough to recognise what went wrong.
const NAMED: usize = 3;

/// For sentences such as "the query yields …".
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(number) => write!(f, "the scalar {}", Number(*number)),
            Self::Vector(vector) if vector.is_empty() => f.write_str("no series"),
            Self::Vector(vector) => write!(f, "{} series: {}", vector.len(), Elements(vector)),
            Self::Range(series) => write!(f, "a range vector of {} series", series.len()),
            Self::Text(text) => write!(f, "the string {:?}", shortened(text)),
        }
    }
}

struct Elements<'a>(&'a [Element]);

impl fmt::Display for Elements<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = self.0.iter().take(NAMED);
        let named: Vec<String> = named.map(ToString::to_string).collect();
        f.write_str(&named.join(", "))?;
        match self.0.len().saturating_sub(NAMED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.labels.brief(), Number(self.value))
    }
}
