//! Operators: between numbers, and between series and a number.

use crate::expr::{Arithmetic, Binary, Operator};

use super::error::EvaluationError;
use super::value::{Element, Value};
use super::{Evaluation, matching, set};

/// What an operator makes of two values: a new one, or nothing.
pub(super) fn apply(operator: Operator, left: f64, right: f64) -> Option<f64> {
    match operator {
        Operator::Arithmetic(arithmetic) => Some(arithmetic.apply(left, right)),
        Operator::Compare { relation, bool: true } => {
            Some(f64::from(u8::from(relation.holds(left, right))))
        }
        Operator::Compare { relation, bool: false } => relation.holds(left, right).then_some(left),
        Operator::Set(_) => None,
    }
}

impl Evaluation<'_> {
    pub(super) fn binary(&mut self, binary: &Binary) -> Result<Value, EvaluationError> {
        let Binary { left, right, operator, matching } = binary;
        let operator = *operator;
        if operator == Operator::Arithmetic(Arithmetic::Atan2) {
            // Some versions of Prometheus forget to drop the name of the metric.
            return Err(EvaluationError::unsupported("atan2"));
        }
        Ok(match (self.value(left)?, self.value(right)?) {
            (Value::Scalar(left), Value::Scalar(right)) => {
                Value::Scalar(apply(operator, left, right).unwrap_or(f64::NAN))
            }
            (Value::Scalar(number), vector) => {
                let apply = |value| apply(operator, number, value);
                Value::Vector(with_number(vector.into_vector()?, operator, apply))
            }
            (vector, Value::Scalar(number)) => {
                let apply = |value| apply(operator, value, number);
                Value::Vector(with_number(vector.into_vector()?, operator, apply))
            }
            (left, right) => {
                let (left, right) = (left.into_vector()?, right.into_vector()?);
                Value::Vector(match operator {
                    Operator::Set(set) => set::combine(set, left, right, &matching.labels),
                    _ => matching::combine(operator, left, right, matching)?,
                })
            }
        })
    }
}

/// A comparison with a number keeps the value of the series, whichever side it is on.
fn with_number(
    vector: Vec<Element>,
    operator: Operator,
    apply: impl Fn(f64) -> Option<f64>,
) -> Vec<Element> {
    let calculate = |element: Element| {
        let value = apply(element.value)?;
        Some(match operator {
            Operator::Compare { bool: false, .. } => element,
            _ => Element { labels: element.labels.without_metric(), value },
        })
    };
    vector.into_iter().filter_map(calculate).collect()
}
