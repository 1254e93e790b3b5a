//! Functions.

mod absent;
mod elementwise;
mod label;
mod over_time;
mod rate;

use crate::expr::{Call, Expr};
use crate::labels::LabelSet;

use super::Evaluation;
use super::error::EvaluationError;
use super::number::{larger, quantile, smaller};
use super::rank::Rank;
use super::value::{Element, Value, calculated};

impl Evaluation<'_> {
    pub(super) fn call(&mut self, call: &Call) -> Result<Value, EvaluationError> {
        let name = call.function.as_str();
        let arguments = call.arguments.as_slice();
        Ok(match (name, arguments) {
            ("time", []) => Value::Scalar(self.seconds()),
            ("pi", []) => Value::Scalar(std::f64::consts::PI),
            ("scalar", [of]) => Value::Scalar(only(&self.vector(of)?)),
            ("vector", [number]) => Value::Vector(vec![unlabelled(self.scalar(number)?)]),
            ("timestamp", [of]) => Value::Vector(self.timestamp(of)?),
            ("sort", [of]) => Value::Vector(Rank::Bottom.sorted(self.vector(of)?)),
            ("sort_desc", [of]) => Value::Vector(Rank::Top.sorted(self.vector(of)?)),
            ("absent", [of]) => Value::Vector(self.absent(of)?),
            ("absent_over_time", [of]) => Value::Vector(self.absent_over_time(of)?),
            ("label_replace", [of, texts @ ..]) => Value::Vector(self.label_replace(of, texts)?),
            ("label_join", [of, texts @ ..]) => Value::Vector(self.label_join(of, texts)?),
            ("round" | "clamp" | "clamp_min" | "clamp_max", [of, numbers @ ..]) => {
                Value::Vector(self.bounded(name, of, numbers)?)
            }
            ("quantile_over_time", [share, of]) => {
                let share = self.scalar(share)?;
                let quantile = |window: &over_time::Window<'_>| {
                    Some(quantile(share, window.values().collect()))
                };
                Value::Vector(self.over_time(of, quantile)?)
            }
            ("last_over_time", [of]) => Value::Vector(self.last_over_time(of)?),
            (name, [of]) => Value::Vector(self.of_one(name, of)?),
            (name, _) => return Err(unsupported(name)),
        })
    }

    /// Functions of one argument that treat each series alike.
    fn of_one(&mut self, name: &str, of: &Expr) -> Result<Vec<Element>, EvaluationError> {
        if let Some(function) = elementwise::function(name) {
            return Ok(calculated(self.vector(of)?, function));
        }
        match over_time::function(name).or_else(|| rate::function(name)) {
            Some(function) => self.over_time(of, function),
            None => Err(unsupported(name)),
        }
    }

    fn bounded(
        &mut self,
        name: &str,
        of: &Expr,
        numbers: &[Expr],
    ) -> Result<Vec<Element>, EvaluationError> {
        let vector = self.vector(of)?;
        let numbers: Vec<f64> =
            numbers.iter().map(|number| self.scalar(number)).collect::<Result<_, _>>()?;
        Ok(match (name, numbers.as_slice()) {
            ("round", []) => calculated(vector, |value| elementwise::round(value, 1.0)),
            ("round", [nearest]) => calculated(vector, |value| elementwise::round(value, *nearest)),
            ("clamp", [least, most]) if most < least => Vec::new(),
            ("clamp", [least, most]) => {
                calculated(vector, |value| larger(*least, smaller(*most, value)))
            }
            ("clamp_min", [least]) => calculated(vector, |value| larger(*least, value)),
            ("clamp_max", [most]) => calculated(vector, |value| smaller(*most, value)),
            _ => return Err(unsupported(name)),
        })
    }

    /// When samples were taken; what was calculated is from now.
    fn timestamp(&mut self, of: &Expr) -> Result<Vec<Element>, EvaluationError> {
        let Expr::Selector(selector) = of else {
            let now = self.seconds();
            return Ok(calculated(self.vector(of)?, |_| now));
        };
        let taken = self.latest_samples(selector)?.into_iter().map(|(series, sample)| Element {
            labels: series.labels.without_metric(),
            value: seconds(sample.at),
        });
        Ok(taken.collect())
    }

    fn seconds(&self) -> f64 {
        seconds(self.now)
    }
}

fn unsupported(name: &str) -> EvaluationError {
    EvaluationError::unsupported(format!("the function {name}"))
}

#[expect(clippy::cast_precision_loss, reason = "times are small enough to be exact")]
fn seconds(milliseconds: i64) -> f64 {
    milliseconds as f64 / 1000.0
}

fn unlabelled(value: f64) -> Element {
    Element { labels: LabelSet::default(), value }
}

/// The value of the only series; no number where there are more, or none.
fn only(vector: &[Element]) -> f64 {
    match vector {
        [only] => only.value,
        _ => f64::NAN,
    }
}
