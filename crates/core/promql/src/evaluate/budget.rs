//! What an evaluation may cost, whoever wrote the query.

use super::error::EvaluationError;
use super::value::Value;

/// How much an evaluation may read, do and answer. With the defaults the worst query takes about a
/// second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Series that selectors look at, once for each label that they compare.
    pub series: usize,
    /// Samples that are read.
    pub samples: usize,
    /// Values that functions and operators work on.
    pub steps: usize,
    /// Bytes of labels that are searched with regular expressions, or written.
    pub text: usize,
    /// Series in the answer.
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            series: 4_000_000,
            samples: 2_000_000,
            steps: 1_000_000,
            text: 16 << 20,
            output: 10_000,
        }
    }
}

/// What is left.
pub(super) struct Budget<'a> {
    limits: &'a Limits,
    spent: Limits,
}

impl<'a> Budget<'a> {
    pub(super) fn new(limits: &'a Limits) -> Self {
        Self { limits, spent: Limits { series: 0, samples: 0, steps: 0, text: 0, output: 0 } }
    }

    pub(super) fn look_at(&mut self, series: usize) -> Result<(), EvaluationError> {
        spend(&mut self.spent.series, series, self.limits.series, "reads", "series")
    }

    pub(super) fn read(&mut self, samples: usize) -> Result<(), EvaluationError> {
        spend(&mut self.spent.samples, samples, self.limits.samples, "reads", "samples")
    }

    pub(super) fn work(&mut self, steps: usize) -> Result<(), EvaluationError> {
        spend(&mut self.spent.steps, steps, self.limits.steps, "processes", "values")
    }

    pub(super) fn text(&mut self, bytes: usize) -> Result<(), EvaluationError> {
        spend(&mut self.spent.text, bytes, self.limits.text, "handles", "bytes of labels")
    }

    pub(super) fn answer(&mut self, value: &Value) -> Result<(), EvaluationError> {
        let series = match value {
            Value::Vector(vector) => vector.len(),
            Value::Range(series) => series.len(),
            Value::Scalar(_) | Value::Text(_) => 1,
        };
        spend(&mut self.spent.output, series, self.limits.output, "returns", "series")
    }
}

fn spend(
    spent: &mut usize,
    amount: usize,
    most: usize,
    what: &'static str,
    unit: &'static str,
) -> Result<(), EvaluationError> {
    *spent = spent.saturating_add(amount);
    if *spent > most { Err(EvaluationError::Budget { what, unit, most }) } else { Ok(()) }
}
