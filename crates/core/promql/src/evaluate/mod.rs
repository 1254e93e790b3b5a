//! What a query yields over samples at hand: the answer of Prometheus to an instant query.
//!
//! Every construct that is covered is compared with a real Prometheus by the tests. What is not
//! covered is refused by name, never answered wrongly; `docs/platform/promql.md` lists both.

mod aggregate;
mod binary;
mod budget;
mod error;
mod function;
mod matching;
mod number;
mod rank;
mod select;
mod set;
mod value;

use std::collections::HashSet;

use jiff::Timestamp;

pub use budget::Limits;
pub use error::{EvaluationError, Side};
pub use value::{Element, Value};

use crate::Query;
use crate::expr::Expr;
use crate::labels::LabelSet;
use crate::snapshot::Snapshot;
use budget::Budget;

/// What a query yields at a time.
pub fn evaluate(
    query: &Query,
    snapshot: &Snapshot,
    now: Timestamp,
    limits: &Limits,
) -> Result<Value, EvaluationError> {
    let now = now.as_millisecond();
    let mut evaluation = Evaluation { snapshot, now, budget: Budget::new(limits) };
    let value = evaluation.value(query.expr())?;
    evaluation.budget.answer(&value)?;
    Ok(value)
}

/// One evaluation: what is read, when, and what it may still cost.
struct Evaluation<'a> {
    snapshot: &'a Snapshot,
    /// Milliseconds since 1970.
    now: i64,
    budget: Budget<'a>,
}

impl Evaluation<'_> {
    /// What an expression yields. A query is never deep enough to exhaust the stack.
    fn value(&mut self, expr: &Expr) -> Result<Value, EvaluationError> {
        let value = match expr {
            Expr::Number(number) => Value::Scalar(*number),
            Expr::Text(text) => Value::Text(text.clone()),
            Expr::Selector(selector) if selector.range.is_some() => {
                Value::Range(self.windows(expr)?.series)
            }
            Expr::Selector(selector) => Value::Vector(self.latest(selector)?),
            Expr::Negative(of) => self.negative(of)?,
            Expr::Binary(binary) => self.binary(binary)?,
            Expr::Aggregate(aggregate) => Value::Vector(self.aggregate(aggregate)?),
            Expr::Call(call) => self.call(call)?,
            Expr::Subquery(_) => return Err(EvaluationError::unsupported("a subquery")),
        };
        if let Value::Vector(vector) = &value {
            self.budget.work(vector.len())?;
            check_distinct(vector)?;
        }
        Ok(value)
    }

    fn negative(&mut self, of: &Expr) -> Result<Value, EvaluationError> {
        Ok(match self.value(of)? {
            Value::Scalar(number) => Value::Scalar(-number),
            other => Value::Vector(value::calculated(other.into_vector()?, |value| -value)),
        })
    }

    fn vector(&mut self, expr: &Expr) -> Result<Vec<Element>, EvaluationError> {
        self.value(expr)?.into_vector()
    }

    fn scalar(&mut self, expr: &Expr) -> Result<f64, EvaluationError> {
        self.value(expr)?.into_scalar()
    }
}

/// No operation may make two series the same.
fn check_distinct(vector: &[Element]) -> Result<(), EvaluationError> {
    let mut seen: HashSet<&LabelSet> = HashSet::with_capacity(vector.len());
    match vector.iter().find(|element| !seen.insert(&element.labels)) {
        Some(twice) => Err(EvaluationError::SameLabels { labels: twice.labels.clone() }),
        None => Ok(()),
    }
}
