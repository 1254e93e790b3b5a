//! Function calls: dispatch, functions of one value, and `absent`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Evaluation;
use super::aggregate::RankOrder;
use super::error::EvaluationError;
use super::number::{larger, quantile, smaller};
use super::range_functions::{RangeWindow, over_time_function, rate_function};
use super::value::{QueryValue, VectorSample, map_values};
use crate::expr::{Expr, FunctionCall, MatchType, Selector};
use crate::labels::{LabelSet, METRIC};

impl Evaluation<'_> {
    pub(super) fn call(&mut self, call: &FunctionCall) -> Result<QueryValue, EvaluationError> {
        let name = call.function.as_str();
        let arguments = call.arguments.as_slice();
        Ok(match (name, arguments) {
            ("time", []) => QueryValue::Scalar(self.seconds()),
            ("pi", []) => QueryValue::Scalar(std::f64::consts::PI),
            ("scalar", [of]) => QueryValue::Scalar(only(&self.vector(of)?)),
            ("vector", [number]) => QueryValue::Vector(vec![unlabelled(self.scalar(number)?)]),
            ("timestamp", [of]) => QueryValue::Vector(self.timestamp(of)?),
            ("sort", [of]) => QueryValue::Vector(RankOrder::Bottom.sorted(self.vector(of)?)),
            ("sort_desc", [of]) => QueryValue::Vector(RankOrder::Top.sorted(self.vector(of)?)),
            ("absent", [of]) => QueryValue::Vector(self.absent(of)?),
            ("absent_over_time", [of]) => QueryValue::Vector(self.absent_over_time(of)?),
            ("label_replace", [of, texts @ ..]) => {
                QueryValue::Vector(self.label_replace(of, texts)?)
            }
            ("label_join", [of, texts @ ..]) => QueryValue::Vector(self.label_join(of, texts)?),
            ("round" | "clamp" | "clamp_min" | "clamp_max", [of, numbers @ ..]) => {
                QueryValue::Vector(self.bounded(name, of, numbers)?)
            }
            ("quantile_over_time", [share, of]) => {
                let share = self.scalar(share)?;
                let quantile =
                    |window: &RangeWindow<'_>| Some(quantile(share, window.values().collect()));
                QueryValue::Vector(self.over_time(of, quantile)?)
            }
            ("last_over_time", [of]) => QueryValue::Vector(self.last_over_time(of)?),
            (name, [of]) => QueryValue::Vector(self.of_one(name, of)?),
            (name, _) => return Err(unsupported(name)),
        })
    }

    /// Functions of one argument that map each series.
    fn of_one(&mut self, name: &str, of: &Expr) -> Result<Vec<VectorSample>, EvaluationError> {
        if let Some(function) = elementwise_function(name) {
            return Ok(map_values(self.vector(of)?, function));
        }
        match over_time_function(name).or_else(|| rate_function(name)) {
            Some(function) => self.over_time(of, function),
            None => Err(unsupported(name)),
        }
    }

    fn bounded(
        &mut self,
        name: &str,
        of: &Expr,
        numbers: &[Expr],
    ) -> Result<Vec<VectorSample>, EvaluationError> {
        let vector = self.vector(of)?;
        let numbers: Vec<f64> =
            numbers.iter().map(|number| self.scalar(number)).collect::<Result<_, _>>()?;
        Ok(match (name, numbers.as_slice()) {
            ("round", []) => map_values(vector, |value| round(value, 1.0)),
            ("round", [nearest]) => map_values(vector, |value| round(value, *nearest)),
            ("clamp", [least, most]) if most < least => Vec::new(),
            ("clamp", [least, most]) => {
                map_values(vector, |value| larger(*least, smaller(*most, value)))
            }
            ("clamp_min", [least]) => map_values(vector, |value| larger(*least, value)),
            ("clamp_max", [most]) => map_values(vector, |value| smaller(*most, value)),
            _ => return Err(unsupported(name)),
        })
    }

    /// `timestamp`: the times of samples, or the evaluation time for computed values.
    fn timestamp(&mut self, of: &Expr) -> Result<Vec<VectorSample>, EvaluationError> {
        let Expr::Selector(selector) = of else {
            let now = self.seconds();
            return Ok(map_values(self.vector(of)?, |_| now));
        };
        let taken = self.latest_samples(selector)?.into_iter().map(|(series, sample)| {
            VectorSample { labels: series.labels.without_metric(), value: seconds(sample.at) }
        });
        Ok(taken.collect())
    }

    fn seconds(&self) -> f64 {
        seconds(self.now)
    }
}

pub(super) fn unsupported(name: &str) -> EvaluationError {
    EvaluationError::unsupported(format!("the function {name}"))
}

#[expect(clippy::cast_precision_loss, reason = "times are small enough to be exact")]
fn seconds(milliseconds: i64) -> f64 {
    milliseconds as f64 / 1000.0
}

fn unlabelled(value: f64) -> VectorSample {
    VectorSample { labels: LabelSet::default(), value }
}

/// The value of the only series, otherwise NaN.
fn only(vector: &[VectorSample]) -> f64 {
    match vector {
        [only] => only.value,
        _ => f64::NAN,
    }
}

/// The function of one value with a name.
fn elementwise_function(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "abs" => f64::abs,
        "acos" => f64::acos,
        "acosh" => f64::acosh,
        "asin" => f64::asin,
        "asinh" => f64::asinh,
        "atan" => f64::atan,
        "atanh" => f64::atanh,
        "ceil" => f64::ceil,
        "cos" => f64::cos,
        "cosh" => f64::cosh,
        "deg" => f64::to_degrees,
        "exp" => f64::exp,
        "floor" => f64::floor,
        "ln" => f64::ln,
        "log10" => f64::log10,
        "log2" => f64::log2,
        "rad" => f64::to_radians,
        "sgn" => sign,
        "sin" => f64::sin,
        "sinh" => f64::sinh,
        "sqrt" => f64::sqrt,
        "tan" => f64::tan,
        "tanh" => f64::tanh,
        _ => return None,
    })
}

fn sign(value: f64) -> f64 {
    if value < 0.0 {
        -1.0
    } else if value > 0.0 {
        1.0
    } else {
        value
    }
}

/// The nearest multiple; halves round up. As in Prometheus, the inverse is used, because 0.1 is not
/// exact, but 10 is.
fn round(value: f64, nearest: f64) -> f64 {
    let inverse = 1.0 / nearest;
    (value * inverse + 0.5).floor() / inverse
}

impl Evaluation<'_> {
    pub(super) fn absent(&mut self, of: &Expr) -> Result<Vec<VectorSample>, EvaluationError> {
        let found = self.vector(of)?;
        Ok(if found.is_empty() { vec![absent_sample(of)] } else { Vec::new() })
    }

    pub(super) fn absent_over_time(
        &mut self,
        of: &Expr,
    ) -> Result<Vec<VectorSample>, EvaluationError> {
        let found = self.windows(of)?.series;
        Ok(if found.is_empty() { vec![absent_sample(of)] } else { Vec::new() })
    }
}

fn absent_sample(of: &Expr) -> VectorSample {
    let labels = match of {
        Expr::Selector(selector) => absent_labels(selector),
        _ => LabelSet::default(),
    };
    VectorSample { labels, value: 1.0 }
}

/// The labels with a single equality matcher, as Prometheus sets them for `absent`.
fn absent_labels(selector: &Selector) -> LabelSet {
    let mut labels: BTreeMap<&str, &str> = BTreeMap::new();
    let matchers = selector.matchers.iter().filter(|matcher| matcher.label != METRIC);
    let mut seen = Vec::new();
    for matcher in matchers {
        let label = matcher.label.as_str();
        if matcher.comparison == MatchType::Equal && !seen.contains(&label) {
            labels.insert(label, &matcher.value);
            seen.push(label);
        } else {
            labels.remove(label);
        }
    }
    let shared = |text: &str| -> Arc<str> { text.into() };
    labels.into_iter().map(|(label, value)| (shared(label), shared(value))).collect()
}
