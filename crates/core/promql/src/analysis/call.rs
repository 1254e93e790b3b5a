//! Functions over cases.

use crate::expr::{Call, Expr, Selector, Type};

use super::condition::{Condition, Need, guarded, simplified};
use super::evaluate::{TooLarge, evaluate as any, vector};
use super::labels::LabelSet;
use super::vector::{Case, Value, Vector};

pub(super) fn evaluate(call: &Call) -> Result<Value, TooLarge> {
    if call.returns != Type::Vector {
        return Ok(Value::Number(None));
    }
    let result = match (call.function.as_str(), call.arguments.as_slice()) {
        ("vector", [number]) => Vector::constant(match any(number)? {
            Value::Number(number) => number,
            _ => None,
        }),
        ("absent" | "absent_over_time", [of]) => absent(of)?,
        ("present_over_time", [of]) => vector(of)?.map(|_| Some(1.0)),
        ("label_replace", [of, label, replacement, source, pattern]) => {
            let constant = replaced(replacement, source, pattern);
            relabelled(vector(of)?, label, constant)
        }
        ("label_join", [of, label, ..]) => relabelled(vector(of)?, label, None),
        // The samples stay what they are.
        ("sort" | "sort_desc" | "sort_by_label" | "sort_by_label_desc", [of, ..]) => vector(of)?,
        // What a range of equal samples is, is that sample again.
        (
            "max_over_time" | "min_over_time" | "avg_over_time" | "last_over_time"
            | "quantile_over_time",
            arguments,
        ) => series(arguments)?,
        ("sgn", [of]) => vector(of)?.map(|value| value.map(sign)),
        ("abs", [of]) => vector(of)?.map(|value| value.map(f64::abs)),
        ("ceil" | "floor" | "round", [of]) => {
            vector(of)?.map(|value| value.filter(|v| v.fract() == 0.0))
        }
        (_, arguments) => series(arguments)?.map(|_| None),
    };
    Ok(Value::Vector(result))
}

/// The argument that is made of series; some functions without one yield one sample.
fn series(arguments: &[Expr]) -> Result<Vector, TooLarge> {
    let is_series = |argument: &&Expr| matches!(argument.result(), Type::Vector | Type::Range);
    arguments.iter().find(is_series).map_or(Ok(Vector::constant(None)), vector)
}

fn sign(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value.signum() }
}

/// One sample of value 1 where there is none.
fn absent(of: &Expr) -> Result<Vector, TooLarge> {
    let labels = match of {
        Expr::Selector(selector) => LabelSet::named(selector),
        _ => LabelSet::default(),
    };
    let found = vector(of)?;
    let alternatives = simplified(found.cases.into_iter().map(|case| case.when).collect());
    let when = match alternatives.as_slice() {
        [] => Vec::new(),
        // Always there, so never absent.
        [always] if always.is_empty() => return Ok(Vector::default()),
        [single] if matches!(single.as_slice(), [Condition { need: Need::Sample, .. }]) => {
            single.iter().map(|sample| absence(&sample.selector)).collect()
        }
        several => guarded(&several.concat()),
    };
    Ok(Vector::of(vec![Case { value: Some(1.0), labels, when }]))
}

fn absence(selector: &Selector) -> Condition {
    Condition { selector: selector.clone(), need: Need::NoSample }
}

fn relabelled(of: Vector, label: &Expr, value: Option<&str>) -> Vector {
    let Expr::Text(label) = label else { return of };
    let with = |case: Case| Case { labels: case.labels.with(label, value), ..case };
    let cases = of.cases.into_iter().map(with).collect();
    // Relabelling keeps the number of series, or fails.
    Vector { cases, bound: of.bound }
}

/// What a label is always replaced with, if it is always the same.
fn replaced<'a>(replacement: &'a Expr, source: &Expr, pattern: &Expr) -> Option<&'a str> {
    let (Expr::Text(replacement), Expr::Text(source), Expr::Text(pattern)) =
        (replacement, source, pattern)
    else {
        return None;
    };
    let always = pattern == ".*" || (source.is_empty() && pattern.is_empty());
    (always && !replacement.contains('$')).then_some(replacement)
}
