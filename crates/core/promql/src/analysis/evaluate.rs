//! Evaluating a query over cases.

use crate::expr::Expr;

use super::vector::{Value, Vector};
use super::{aggregate, binary, call};

/// There are too many cases to say anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

/// What an expression can yield. A query is never deep enough to exhaust the stack.
pub(super) fn evaluate(expr: &Expr) -> Result<Value, TooLarge> {
    let value = match expr {
        Expr::Number(number) => Value::Number(Some(*number)),
        Expr::Text(_) => Value::Text,
        Expr::Selector(selector) => Value::Vector(Vector::selected(selector)),
        Expr::Subquery(subquery) => evaluate(&subquery.of)?,
        Expr::Negative(of) => match evaluate(of)? {
            Value::Number(number) => Value::Number(number.map(|number| -number)),
            Value::Vector(vector) => Value::Vector(vector.map(|value| value.map(|value| -value))),
            Value::Text => Value::Text,
        },
        Expr::Binary(found) => binary::evaluate(found)?,
        Expr::Aggregate(found) => Value::Vector(aggregate::evaluate(found)?),
        Expr::Call(found) => call::evaluate(found)?,
    };
    match &value {
        Value::Vector(vector) if vector.is_too_large() => Err(TooLarge),
        _ => Ok(value),
    }
}

/// The series of an expression that yields series.
pub(super) fn vector(expr: &Expr) -> Result<Vector, TooLarge> {
    Ok(match evaluate(expr)? {
        Value::Vector(vector) => vector,
        Value::Number(_) | Value::Text => Vector::default(),
    })
}
