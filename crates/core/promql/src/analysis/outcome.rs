//! The answer of a query, as far as it can be told.

use std::collections::BTreeSet;
use std::fmt;

use crate::expr::Type;
use crate::query::Query;

use super::coverage::{self, Coverage};
use super::evaluate::evaluate;
use super::vector::{Bound, Value, Vector};

/// What a query can yield.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What kind of result it is; an answer has to be a vector.
    pub result: Type,
    /// How many series.
    pub series: Series,
    /// Which values.
    pub values: Values,
    /// For which clusters.
    pub coverage: Coverage,
}

/// How many series a query can yield.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Series {
    /// None, ever.
    None,
    /// One or none.
    AtMostOne,
    /// One, always.
    ExactlyOne,
    /// One for each combination of the values that these labels have in a cluster.
    OnePer(BTreeSet<String>),
    /// As many as a cluster has.
    Many,
    /// It cannot be told.
    Unknown,
}

/// Which values a query can yield.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// No others than these, in ascending order.
    Only(Vec<f64>),
    /// Whatever the samples are.
    Any,
    /// It cannot be told.
    Unknown,
}

impl Values {
    /// The known ones that are neither 0 nor 1, and so are no answer.
    #[allow(clippy::float_cmp, reason = "clients compare them like that")]
    pub fn strange(&self) -> Vec<f64> {
        match self {
            Self::Only(values) => {
                values.iter().copied().filter(|value| *value != 0.0 && *value != 1.0).collect()
            }
            Self::Any | Self::Unknown => Vec::new(),
        }
    }

    /// Whether no answer can be yes.
    pub fn are_never_one(&self) -> bool {
        matches!(self, Self::Only(values) if values.iter().all(|value| *value == 0.0))
    }
}

/// What a query can yield.
pub fn outcome(query: &Query) -> Outcome {
    let result = query.expr().result();
    match evaluate(query.expr()) {
        Ok(Value::Vector(vector)) => {
            let coverage = coverage::of(&vector, &query.selectors());
            let series = series(&vector, &coverage);
            Outcome { result, series, values: values(&vector), coverage }
        }
        Ok(Value::Number(number)) => Outcome {
            result,
            series: Series::None,
            values: number.map_or(Values::Any, |number| Values::Only(vec![number])),
            coverage: Coverage::Nobody,
        },
        Ok(Value::Text) => Outcome {
            result,
            series: Series::None,
            values: Values::Only(Vec::new()),
            coverage: Coverage::Nobody,
        },
        Err(_) => Outcome {
            result,
            series: Series::Unknown,
            values: Values::Unknown,
            coverage: Coverage::Unknown,
        },
    }
}

fn series(vector: &Vector, coverage: &Coverage) -> Series {
    match &vector.bound {
        _ if vector.cases.is_empty() => Series::None,
        Bound::Many => Series::Many,
        Bound::OnePer(labels) if !labels.is_empty() => Series::OnePer(labels.clone()),
        Bound::OnePer(_) if *coverage == Coverage::Always => Series::ExactlyOne,
        Bound::OnePer(_) => Series::AtMostOne,
    }
}

fn values(vector: &Vector) -> Values {
    let known: Option<Vec<f64>> = vector.cases.iter().map(|case| case.value).collect();
    known.map_or(Values::Any, |mut values| {
        values.sort_by(f64::total_cmp);
        values.dedup();
        Values::Only(values)
    })
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { result, series, values, coverage } = self;
        if *result != Type::Vector {
            return write!(f, "{result}, which is not a valid result");
        }
        write!(f, "{series} of {values}; {coverage}")
    }
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("no series"),
            Self::AtMostOne => f.write_str("at most one series"),
            Self::ExactlyOne => f.write_str("one series"),
            Self::OnePer(labels) => {
                let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
                write!(f, "a series for each {}", labels.join(", "))
            }
            Self::Many => f.write_str("any number of series"),
            Self::Unknown => f.write_str("an unknown number of series"),
        }
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Only(values) if values.is_empty() => f.write_str("no value"),
            Self::Only(values) => {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                write!(f, "value {}", values.join(" or "))
            }
            Self::Any => f.write_str("any value"),
            Self::Unknown => f.write_str("unknown value"),
        }
    }
}
