//! Evaluation of queries over a metrics snapshot, with the results of Prometheus' instant queries.
//!
//! `fairway-oracles` compares every supported construct with a real Prometheus. Unsupported
//! constructs are errors, never wrong results; `docs/platform/promql.md` lists both.
//!
//! | module | content |
//! | --- | --- |
//! | `select` | selectors: samples of the snapshot |
//! | `binary` | binary operators and vector matching |
//! | `aggregate` | aggregation operators |
//! | `functions` | dispatch of function calls, functions of one value, `absent` |
//! | `range_functions` | functions of range vectors |
//! | `label_functions` | functions that change labels |
//! | `number` | number formats, comparisons and sums of Prometheus |
//! | `value`, `error` | results and errors |

mod aggregate;
mod binary;
mod error;
mod functions;
mod label_functions;
mod number;
mod range_functions;
mod select;
mod value;

pub use error::{EvaluationError, Side};
pub use value::{QueryValue, VectorSample};

use std::collections::HashSet;

use jiff::Timestamp;

use crate::Query;
use crate::expr::Expr;
use crate::labels::LabelSet;
use crate::snapshot::Snapshot;

/// Limits of an evaluation. With the defaults, the most expensive query takes about a second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluationLimits {
    /// Series that selectors examine, multiplied by their label matchers.
    pub series: usize,
    /// Samples that are read.
    pub samples: usize,
    /// Values that functions and operators process.
    pub steps: usize,
    /// Bytes of labels that are matched with regular expressions, or created.
    pub text: usize,
    /// Series in the result.
    pub output: usize,
}

impl Default for EvaluationLimits {
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

/// Usage so far.
pub(super) struct Budget<'a> {
    limits: &'a EvaluationLimits,
    spent: EvaluationLimits,
}

impl<'a> Budget<'a> {
    pub(super) fn new(limits: &'a EvaluationLimits) -> Self {
        Self {
            limits,
            spent: EvaluationLimits { series: 0, samples: 0, steps: 0, text: 0, output: 0 },
        }
    }

    pub(super) fn examine(&mut self, series: usize) -> Result<(), EvaluationError> {
        spend(&mut self.spent.series, series, self.limits.series, "reads", "series")
    }

    pub(super) fn read(&mut self, samples: usize) -> Result<(), EvaluationError> {
        spend(&mut self.spent.samples, samples, self.limits.samples, "reads", "samples")
    }

    pub(super) fn process(&mut self, steps: usize) -> Result<(), EvaluationError> {
        spend(&mut self.spent.steps, steps, self.limits.steps, "processes", "values")
    }

    pub(super) fn text(&mut self, bytes: usize) -> Result<(), EvaluationError> {
        spend(&mut self.spent.text, bytes, self.limits.text, "handles", "bytes of labels")
    }

    pub(super) fn returned(&mut self, value: &QueryValue) -> Result<(), EvaluationError> {
        let series = match value {
            QueryValue::Vector(vector) => vector.len(),
            QueryValue::Range(series) => series.len(),
            QueryValue::Scalar(_) | QueryValue::Text(_) => 1,
        };
        spend(&mut self.spent.output, series, self.limits.output, "returns", "series")
    }
}

fn spend(
    spent: &mut usize,
    amount: usize,
    limit: usize,
    what: &'static str,
    unit: &'static str,
) -> Result<(), EvaluationError> {
    *spent = spent.saturating_add(amount);
    if *spent > limit { Err(EvaluationError::Budget { what, unit, limit }) } else { Ok(()) }
}

/// Evaluates a query at a time.
pub fn evaluate(
    query: &Query,
    snapshot: &Snapshot,
    now: Timestamp,
    limits: &EvaluationLimits,
) -> Result<QueryValue, EvaluationError> {
    let now = now.as_millisecond();
    let mut evaluation = Evaluation { snapshot, now, budget: Budget::new(limits) };
    let value = evaluation.value(query.expr())?;
    evaluation.budget.returned(&value)?;
    Ok(value)
}

/// State of an evaluation.
struct Evaluation<'a> {
    snapshot: &'a Snapshot,
    /// Evaluation time in Unix milliseconds.
    now: i64,
    budget: Budget<'a>,
}

impl Evaluation<'_> {
    /// Evaluates an expression. Recursion is bounded by the limits of the parser.
    fn value(&mut self, expr: &Expr) -> Result<QueryValue, EvaluationError> {
        let value = match expr {
            Expr::Number(number) => QueryValue::Scalar(*number),
            Expr::Text(text) => QueryValue::Text(text.clone()),
            Expr::Selector(selector) if selector.range.is_some() => {
                QueryValue::Range(self.windows(expr)?.series)
            }
            Expr::Selector(selector) => QueryValue::Vector(self.latest(selector)?),
            Expr::Negative(of) => self.negative(of)?,
            Expr::Binary(binary) => self.binary(binary)?,
            Expr::Aggregate(aggregate) => QueryValue::Vector(self.aggregate(aggregate)?),
            Expr::Call(call) => self.call(call)?,
            Expr::Subquery(_) => return Err(EvaluationError::unsupported("a subquery")),
        };
        if let QueryValue::Vector(vector) = &value {
            self.budget.process(vector.len())?;
            check_distinct(vector)?;
        }
        Ok(value)
    }

    fn negative(&mut self, of: &Expr) -> Result<QueryValue, EvaluationError> {
        Ok(match self.value(of)? {
            QueryValue::Scalar(number) => QueryValue::Scalar(-number),
            other => QueryValue::Vector(value::map_values(other.into_vector()?, |value| -value)),
        })
    }

    fn vector(&mut self, expr: &Expr) -> Result<Vec<VectorSample>, EvaluationError> {
        self.value(expr)?.into_vector()
    }

    fn scalar(&mut self, expr: &Expr) -> Result<f64, EvaluationError> {
        self.value(expr)?.into_scalar()
    }
}

/// Rejects vectors with duplicate labels, as Prometheus does.
fn check_distinct(vector: &[VectorSample]) -> Result<(), EvaluationError> {
    let mut seen: HashSet<&LabelSet> = HashSet::with_capacity(vector.len());
    match vector.iter().find(|element| !seen.insert(&element.labels)) {
        Some(twice) => Err(EvaluationError::SameLabels(twice.labels.clone())),
        None => Ok(()),
    }
}
