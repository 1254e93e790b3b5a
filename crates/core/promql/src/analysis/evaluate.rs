//! Evaluation of expressions over abstract values.

use std::collections::BTreeSet;

use super::binary;
use super::condition::{SampleCondition, SampleRequirement, restricted, simplify};
use super::vector::{
    AbstractLabels, AbstractSeries, AbstractValue, AbstractVector, SeriesBound, common,
};
use crate::expr::{
    AggregateExpr, AggregationOperator, Expr, ExprType, FunctionCall, GroupingLabels, Selector,
};

pub(super) fn call(call: &FunctionCall) -> Result<AbstractValue, TooManyCases> {
    if call.returns != ExprType::Vector {
        return Ok(AbstractValue::Number(None));
    }
    let result = match (call.function.as_str(), call.arguments.as_slice()) {
        ("vector", [number]) => AbstractVector::constant(match evaluate(number)? {
            AbstractValue::Number(number) => number,
            _ => None,
        }),
        ("absent" | "absent_over_time", [of]) => absent(of)?,
        ("present_over_time", [of]) => vector(of)?.map(|_| Some(1.0)),
        ("label_replace", [of, label, replacement, source, pattern]) => {
            let constant = replaced(replacement, source, pattern);
            relabelled(vector(of)?, label, constant)
        }
        ("label_join", [of, label, ..]) => relabelled(vector(of)?, label, None),
        // Sorting does not change samples.
        ("sort" | "sort_desc" | "sort_by_label" | "sort_by_label_desc", [of, ..]) => vector(of)?,
        // Aggregated over equal samples, these functions return the same value.
        (
            "max_over_time" | "min_over_time" | "avg_over_time" | "last_over_time"
            | "quantile_over_time",
            arguments,
        ) => vector_argument(arguments)?,
        ("sgn", [of]) => vector(of)?.map(|value| value.map(sign)),
        ("abs", [of]) => vector(of)?.map(|value| value.map(f64::abs)),
        ("ceil" | "floor" | "round", [of]) => {
            vector(of)?.map(|value| value.filter(|v| v.fract() == 0.0))
        }
        (_, arguments) => vector_argument(arguments)?.map(|_| None),
    };
    Ok(AbstractValue::Vector(result))
}

/// The vector argument. Functions without one, such as `time`, return one sample.
fn vector_argument(arguments: &[Expr]) -> Result<AbstractVector, TooManyCases> {
    let is_series =
        |argument: &&Expr| matches!(argument.result(), ExprType::Vector | ExprType::Range);
    arguments.iter().find(is_series).map_or(Ok(AbstractVector::constant(None)), vector)
}

fn sign(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value.signum() }
}

/// `absent`: one sample with value 1 if the argument is empty.
fn absent(of: &Expr) -> Result<AbstractVector, TooManyCases> {
    let labels = match of {
        Expr::Selector(selector) => AbstractLabels::named(selector),
        _ => AbstractLabels::default(),
    };
    let found = vector(of)?;
    let alternatives = simplify(found.cases.into_iter().map(|case| case.when).collect());
    let when = match alternatives.as_slice() {
        [] => Vec::new(),
        // The argument is never empty.
        [always] if always.is_empty() => return Ok(AbstractVector::default()),
        [single]
            if matches!(
                single.as_slice(),
                [SampleCondition { need: SampleRequirement::Sample, .. }]
            ) =>
        {
            single.iter().map(|sample| absence(&sample.selector)).collect()
        }
        several => restricted(&several.concat()),
    };
    Ok(AbstractVector::new(vec![AbstractSeries { value: Some(1.0), labels, when }]))
}

fn absence(selector: &Selector) -> SampleCondition {
    SampleCondition { selector: selector.clone(), need: SampleRequirement::NoSample }
}

fn relabelled(of: AbstractVector, label: &Expr, value: Option<&str>) -> AbstractVector {
    let Expr::Text(label) = label else { return of };
    let with =
        |case: AbstractSeries| AbstractSeries { labels: case.labels.with(label, value), ..case };
    let cases = of.cases.into_iter().map(with).collect();
    // Relabelling keeps the number of series, or fails.
    AbstractVector { cases, bound: of.bound }
}

/// The constant value that `label_replace` sets, if it always sets the same one.
fn replaced<'a>(replacement: &'a Expr, source: &Expr, pattern: &Expr) -> Option<&'a str> {
    let (Expr::Text(replacement), Expr::Text(source), Expr::Text(pattern)) =
        (replacement, source, pattern)
    else {
        return None;
    };
    let always = pattern == ".*" || (source.is_empty() && pattern.is_empty());
    (always && !replacement.contains('$')).then_some(replacement)
}

/// The query has too many cases for the analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooManyCases;

/// The abstract value of an expression. Recursion is bounded by the limits of the parser.
pub(super) fn evaluate(expr: &Expr) -> Result<AbstractValue, TooManyCases> {
    let value = match expr {
        Expr::Number(number) => AbstractValue::Number(Some(*number)),
        Expr::Text(_) => AbstractValue::Text,
        Expr::Selector(selector) => AbstractValue::Vector(AbstractVector::selected(selector)),
        Expr::Subquery(subquery) => evaluate(&subquery.of)?,
        Expr::Negative(of) => match evaluate(of)? {
            AbstractValue::Number(number) => AbstractValue::Number(number.map(|number| -number)),
            AbstractValue::Vector(vector) => {
                AbstractValue::Vector(vector.map(|value| value.map(|value| -value)))
            }
            AbstractValue::Text => AbstractValue::Text,
        },
        Expr::Binary(found) => binary::evaluate(found)?,
        Expr::Aggregate(found) => AbstractValue::Vector(aggregate(found)?),
        Expr::Call(found) => call(found)?,
    };
    match &value {
        AbstractValue::Vector(vector) if vector.is_too_large() => Err(TooManyCases),
        _ => Ok(value),
    }
}

/// The abstract vector of an expression; empty for scalars and strings.
pub(super) fn vector(expr: &Expr) -> Result<AbstractVector, TooManyCases> {
    Ok(match evaluate(expr)? {
        AbstractValue::Vector(vector) => vector,
        AbstractValue::Number(_) | AbstractValue::Text => AbstractVector::default(),
    })
}

pub(super) fn aggregate(aggregate: &AggregateExpr) -> Result<AbstractVector, TooManyCases> {
    let of = vector(&aggregate.of)?;
    let grouped = match aggregate.operation {
        AggregationOperator::TopK | AggregationOperator::BottomK => {
            return Ok(ranked(aggregate, of));
        }
        AggregationOperator::Group => group_by(&of, &aggregate.by).map(|_| Some(1.0)),
        // The result has the value of one series of the group.
        AggregationOperator::Max | AggregationOperator::Min => group_by(&of, &aggregate.by),
        AggregationOperator::Sum if is_alone(&of, &aggregate.by) => group_by(&of, &aggregate.by),
        AggregationOperator::Average if is_alone(&of, &aggregate.by) || is_uniform(&of) => {
            group_by(&of, &aggregate.by)
        }
        AggregationOperator::Count if is_alone(&of, &aggregate.by) => {
            group_by(&of, &aggregate.by).map(|_| Some(1.0))
        }
        AggregationOperator::CountValues => counted_values(aggregate, &of),
        _ => group_by(&of, &aggregate.by).map(|_| None),
    };
    Ok(grouped)
}

fn group_by(of: &AbstractVector, by: &GroupingLabels) -> AbstractVector {
    let keep =
        |case: &AbstractSeries| AbstractSeries { labels: case.labels.keep(by), ..case.clone() };
    AbstractVector::new(of.cases.iter().map(keep).collect()).bounded(of.bound.clone())
}

/// Whether every group has exactly one series.
fn is_alone(of: &AbstractVector, by: &GroupingLabels) -> bool {
    match (&of.bound, by) {
        (SeriesBound::Many, _) => false,
        (SeriesBound::OnePer(labels), GroupingLabels::Only(by)) => {
            labels.iter().all(|label| by.contains(label))
        }
        (SeriesBound::OnePer(labels), GroupingLabels::Except(by)) => {
            !labels.iter().any(|label| by.contains(label))
        }
    }
}

fn is_uniform(of: &AbstractVector) -> bool {
    of.cases.windows(2).all(|pair| pair[0].value.is_some() && pair[0].value == pair[1].value)
        && of.cases.iter().all(|case| case.value.is_some())
}

fn counted_values(aggregate: &AggregateExpr, of: &AbstractVector) -> AbstractVector {
    let Some(Expr::Text(label)) = aggregate.parameter.as_deref() else {
        return AbstractVector::default();
    };
    let named = |case: AbstractSeries| AbstractSeries {
        labels: case.labels.with(label, None),
        value: None,
        ..case
    };
    AbstractVector::new(group_by(of, &aggregate.by).cases.into_iter().map(named).collect())
}

/// `topk` and `bottomk`.
fn ranked(aggregate: &AggregateExpr, of: AbstractVector) -> AbstractVector {
    match (aggregate.parameter.as_deref(), &aggregate.by) {
        (Some(Expr::Number(most)), _) if *most < 1.0 => AbstractVector::default(),
        (Some(Expr::Number(most)), GroupingLabels::Only(by)) if *most < 2.0 => {
            let labels: Vec<&AbstractLabels> = of.cases.iter().map(|case| &case.labels).collect();
            let differing: BTreeSet<String> =
                by.iter().filter(|label| common(&labels, label).is_none()).cloned().collect();
            of.bounded(SeriesBound::OnePer(differing))
        }
        _ => of,
    }
}
