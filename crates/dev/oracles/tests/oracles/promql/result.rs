//! Query results of both implementations.

use std::collections::BTreeMap;

use fairway_promql::QueryValue;
use serde_json::Value as Json;

type Labels = BTreeMap<String, String>;

/// A query result without the order of its series, which only sort functions define.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum QueryResult {
    Scalar(f64),
    Vector(Vec<(Labels, f64)>),
    Range(Vec<(Labels, Vec<(f64, f64)>)>),
    Text(String),
}

impl QueryResult {
    /// Parses a response of Prometheus.
    pub(crate) fn read(body: &str) -> Result<Self, String> {
        let json: Json = serde_json::from_str(body).unwrap_or_else(|_| panic!("no JSON: {body}"));
        if json["status"] != "success" {
            return Err(json["error"].as_str().unwrap_or(body).to_owned());
        }
        let result = &json["data"]["result"];
        let labels =
            |series: &Json| -> Labels { serde_json::from_value(series["metric"].clone()).unwrap() };
        let series = || result.as_array().unwrap().iter();
        Ok(match json["data"]["resultType"].as_str().unwrap() {
            "scalar" => Self::Scalar(number(&result[1])),
            "string" => Self::Text(result[1].as_str().unwrap().to_owned()),
            "vector" => {
                Self::Vector(series().map(|one| (labels(one), number(&one["value"][1]))).collect())
            }
            _ => {
                let samples = |one: &Json| {
                    let samples = one["values"].as_array().unwrap().iter();
                    samples.map(|one| (one[0].as_f64().unwrap(), number(&one[1]))).collect()
                };
                Self::Range(series().map(|one| (labels(one), samples(one))).collect())
            }
        })
    }

    /// The values of a vector in order, as text, so that NaN equals NaN.
    pub(crate) fn values(&self) -> Vec<String> {
        match self {
            Self::Vector(vector) => vector.iter().map(|(_, value)| value.to_string()).collect(),
            other => panic!("{other:?} is no vector"),
        }
    }

    /// Whether both results are equal up to rounding.
    pub(crate) fn is_equal(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Scalar(left), Self::Scalar(right)) => are_equal(*left, *right),
            (Self::Text(left), Self::Text(right)) => left == right,
            (Self::Vector(left), Self::Vector(right)) => {
                let (left, right) = (sorted(left), sorted(right));
                left.len() == right.len()
                    && left.iter().zip(&right).all(|((labels, value), (others, other))| {
                        labels == others && are_equal(*value, *other)
                    })
            }
            (Self::Range(left), Self::Range(right)) => {
                let (left, right) = (sorted(left), sorted(right));
                left.len() == right.len()
                    && left.iter().zip(&right).all(|((labels, samples), (others, other))| {
                        labels == others && are_all_equal(samples, other)
                    })
            }
            _ => false,
        }
    }
}

impl From<QueryValue> for QueryResult {
    fn from(value: QueryValue) -> Self {
        let owned = |labels: &fairway_promql::LabelSet| -> Labels {
            labels.iter().map(|(label, value)| (label.to_owned(), value.to_owned())).collect()
        };
        match value {
            QueryValue::Scalar(number) => Self::Scalar(number),
            QueryValue::Text(text) => Self::Text(text),
            QueryValue::Vector(vector) => {
                Self::Vector(vector.iter().map(|one| (owned(&one.labels), one.value)).collect())
            }
            QueryValue::Range(series) => {
                let samples = |one: &fairway_promql::snapshot::Series| {
                    one.samples.iter().map(|sample| (seconds(sample.at), sample.value)).collect()
                };
                Self::Range(series.iter().map(|one| (owned(&one.labels), samples(one))).collect())
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "these times are exact")]
fn seconds(milliseconds: i64) -> f64 {
    milliseconds as f64 / 1000.0
}

fn sorted<T: Clone>(series: &[(Labels, T)]) -> Vec<(Labels, T)> {
    let mut series = series.to_vec();
    series.sort_by(|left, right| left.0.cmp(&right.0));
    series
}

fn are_all_equal(left: &[(f64, f64)], right: &[(f64, f64)]) -> bool {
    left.len() == right.len()
        && left
            .iter()
            .zip(right)
            .all(|(left, right)| are_equal(left.0, right.0) && are_equal(left.1, right.1))
}

/// Whether numbers are equal up to the last digits: Go and C round sines and powers differently.
#[expect(clippy::float_cmp, reason = "infinities are only like themselves")]
fn are_equal(left: f64, right: f64) -> bool {
    const NEARLY: f64 = 1e-12;
    left == right
        || (left.is_nan() && right.is_nan())
        || (left - right).abs() <= NEARLY * left.abs().max(right.abs())
}

fn number(json: &Json) -> f64 {
    json.as_str().unwrap().parse().unwrap()
}
