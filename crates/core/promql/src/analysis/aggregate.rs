//! Aggregations over cases.

use std::collections::BTreeSet;

use crate::expr::{Aggregate, Aggregation, Expr, Labels};

use super::evaluate::{TooLarge, vector};
use super::labels::{LabelSet, common};
use super::vector::{Bound, Case, Vector};

pub(super) fn evaluate(aggregate: &Aggregate) -> Result<Vector, TooLarge> {
    let of = vector(&aggregate.of)?;
    let grouped = match aggregate.operation {
        Aggregation::TopK | Aggregation::BottomK => return Ok(ranked(aggregate, of)),
        Aggregation::Group => group(&of, &aggregate.by).map(|_| Some(1.0)),
        // Each group has the value of one of its series.
        Aggregation::Max | Aggregation::Min => group(&of, &aggregate.by),
        Aggregation::Sum if is_alone(&of, &aggregate.by) => group(&of, &aggregate.by),
        Aggregation::Average if is_alone(&of, &aggregate.by) || is_uniform(&of) => {
            group(&of, &aggregate.by)
        }
        Aggregation::Count if is_alone(&of, &aggregate.by) => {
            group(&of, &aggregate.by).map(|_| Some(1.0))
        }
        Aggregation::CountValues => counted_values(aggregate, &of),
        _ => group(&of, &aggregate.by).map(|_| None),
    };
    Ok(grouped)
}

fn group(of: &Vector, by: &Labels) -> Vector {
    let keep = |case: &Case| Case { labels: case.labels.keep(by), ..case.clone() };
    Vector::of(of.cases.iter().map(keep).collect()).bounded(of.bound.clone())
}

/// Whether every series is a group of its own.
fn is_alone(of: &Vector, by: &Labels) -> bool {
    match (&of.bound, by) {
        (Bound::Many, _) => false,
        (Bound::OnePer(labels), Labels::Only(by)) => labels.iter().all(|label| by.contains(label)),
        (Bound::OnePer(labels), Labels::Except(by)) => {
            !labels.iter().any(|label| by.contains(label))
        }
    }
}

fn is_uniform(of: &Vector) -> bool {
    of.cases.windows(2).all(|pair| pair[0].value.is_some() && pair[0].value == pair[1].value)
        && of.cases.iter().all(|case| case.value.is_some())
}

fn counted_values(aggregate: &Aggregate, of: &Vector) -> Vector {
    let Some(Expr::Text(label)) = aggregate.parameter.as_deref() else { return Vector::default() };
    let named = |case: Case| Case { labels: case.labels.with(label, None), value: None, ..case };
    Vector::of(group(of, &aggregate.by).cases.into_iter().map(named).collect())
}

/// The series of each group that come first.
fn ranked(aggregate: &Aggregate, of: Vector) -> Vector {
    match (aggregate.parameter.as_deref(), &aggregate.by) {
        (Some(Expr::Number(most)), _) if *most < 1.0 => Vector::default(),
        (Some(Expr::Number(most)), Labels::Only(by)) if *most < 2.0 => {
            let labels: Vec<&LabelSet> = of.cases.iter().map(|case| &case.labels).collect();
            let differing: BTreeSet<String> =
                by.iter().filter(|label| common(&labels, label).is_none()).cloned().collect();
            of.bounded(Bound::OnePer(differing))
        }
        _ => of,
    }
}
