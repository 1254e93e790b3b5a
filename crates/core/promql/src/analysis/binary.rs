//! Operators over cases.

use crate::expr::{Arithmetic, Binary, Grouping, Matching, Operator, Relation, SetOperator};

use super::condition::{both, guarded, implies};
use super::evaluate::{TooLarge, evaluate as any};
use super::labels::{LabelSet, Match, compare};
use super::vector::{Bound, Case, Value, Vector};

pub(super) fn evaluate(binary: &Binary) -> Result<Value, TooLarge> {
    let (left, right) = (any(&binary.left)?, any(&binary.right)?);
    let vector = match (left, right, binary.operator) {
        (Value::Number(left), Value::Number(right), operator) => {
            return Ok(Value::Number(numbers(operator, left, right)));
        }
        (Value::Vector(left), Value::Vector(right), Operator::Set(operator)) => {
            sets(operator, &left, &right, &binary.matching)
        }
        (Value::Vector(left), Value::Vector(right), operator) => {
            joined(operator, &left, &right, &binary.matching)
        }
        (Value::Vector(vector), Value::Number(number), operator) => {
            let cases = |case| applied(operator, case, |value| (value, number));
            with_number(vector, cases)
        }
        (Value::Number(number), Value::Vector(vector), operator) => {
            let cases = |case| applied(operator, case, |value| (number, value));
            with_number(vector, cases)
        }
        _ => Vector::default(),
    };
    Ok(Value::Vector(vector))
}

fn numbers(operator: Operator, left: Option<f64>, right: Option<f64>) -> Option<f64> {
    match operator {
        Operator::Arithmetic(operator) => calculated(operator, left, right),
        Operator::Compare { relation, .. } => {
            Some(f64::from(u8::from(relation.holds(left?, right?))))
        }
        Operator::Set(_) => None,
    }
}

/// Nothing times whatever is nothing: the samples that matter here are finite.
fn calculated(operator: Arithmetic, left: Option<f64>, right: Option<f64>) -> Option<f64> {
    match (operator, left, right) {
        (operator, Some(left), Some(right)) => Some(operator.apply(left, right)),
        (Arithmetic::Multiply, Some(0.0), None) | (Arithmetic::Multiply, None, Some(0.0)) => {
            Some(0.0)
        }
        _ => None,
    }
}

fn with_number(vector: Vector, cases: impl Fn(Case) -> Vec<Case>) -> Vector {
    Vector { cases: vector.cases.into_iter().flat_map(cases).collect(), bound: vector.bound }
}

/// A case after an operator; `operands` are the values left and right of it.
fn applied(
    operator: Operator,
    case: Case,
    operands: impl Fn(Option<f64>) -> (Option<f64>, Option<f64>),
) -> Vec<Case> {
    let (left, right) = operands(case.value);
    match operator {
        Operator::Arithmetic(operator) => {
            vec![Case { value: calculated(operator, left, right), ..case }]
        }
        Operator::Compare { relation, bool: true } => said(relation, left, right, case),
        Operator::Compare { relation, bool: false } => kept(relation, left, right, case),
        Operator::Set(_) => Vec::new(),
    }
}

/// With `bool`: 1 or 0, or either where that is not known.
fn said(relation: Relation, left: Option<f64>, right: Option<f64>, case: Case) -> Vec<Case> {
    match left.zip(right) {
        Some((left, right)) => {
            let value = f64::from(u8::from(relation.holds(left, right)));
            vec![Case { value: Some(value), ..case }]
        }
        None => [1.0, 0.0].map(|value| Case { value: Some(value), ..case.clone() }).to_vec(),
    }
}

/// Without `bool`: the case, perhaps for some samples only, or nothing.
fn kept(relation: Relation, left: Option<f64>, right: Option<f64>, case: Case) -> Vec<Case> {
    match left.zip(right) {
        Some((left, right)) if relation.holds(left, right) => vec![case],
        Some(_) => Vec::new(),
        None => {
            let equal = (relation == Relation::Equal).then_some(left.or(right)).flatten();
            let when = guarded(&case.when);
            vec![Case { value: equal.or(case.value), when, ..case }]
        }
    }
}

/// Series of both sides that belong together.
fn joined(operator: Operator, left: &Vector, right: &Vector, matching: &Matching) -> Vector {
    let mut cases = Vec::new();
    for one in &left.cases {
        for other in &right.cases {
            let when = match compare(&one.labels, &other.labels, &matching.labels) {
                Match::Never => continue,
                Match::Surely => both(&one.when, &other.when),
                Match::Perhaps => both(&guarded(&one.when), &guarded(&other.when)),
            };
            let labels = joined_labels(one, other, matching);
            let case = Case { value: one.value, labels, when };
            cases.extend(applied(operator, case, |value| (value, other.value)));
        }
    }
    let bound = match matching.grouping {
        Grouping::None => left.bound.clone().and(right.bound.clone()),
        Grouping::Left(_) => left.bound.clone(),
        Grouping::Right(_) => right.bound.clone(),
    };
    Vector::of(cases).bounded(bound)
}

fn joined_labels(left: &Case, right: &Case, matching: &Matching) -> LabelSet {
    let copied = |to: &LabelSet, from: &LabelSet, labels: &[String]| {
        labels.iter().fold(to.clone(), |to, label| to.with(label, from.constant(label)))
    };
    match &matching.grouping {
        Grouping::None => left.labels.keep(&matching.labels),
        Grouping::Left(labels) => copied(&left.labels, &right.labels, labels),
        Grouping::Right(labels) => copied(&right.labels, &left.labels, labels),
    }
}

fn sets(operator: SetOperator, left: &Vector, right: &Vector, matching: &Matching) -> Vector {
    match operator {
        SetOperator::Or => either(left, right, matching),
        SetOperator::And => intersection(left, right, matching),
        SetOperator::Unless => difference(left, right, matching),
    }
}

fn intersection(left: &Vector, right: &Vector, matching: &Matching) -> Vector {
    let matched = |one: &Case, other: &Case| {
        let when = match compare(&one.labels, &other.labels, &matching.labels) {
            Match::Never => return None,
            Match::Surely => both(&one.when, &other.when),
            Match::Perhaps => both(&guarded(&one.when), &guarded(&other.when)),
        };
        Some(Case { when, ..one.clone() })
    };
    let pairs = left.cases.iter().flat_map(|one| right.cases.iter().map(move |other| (one, other)));
    let cases = pairs.filter_map(|(one, other)| matched(one, other)).collect();
    Vector { cases, bound: left.bound.clone() }
}

fn difference(left: &Vector, right: &Vector, matching: &Matching) -> Vector {
    if left.compare(right, &matching.labels) == Match::Never {
        return left.clone();
    }
    let left_over = |case: &Case| Case { when: guarded(&case.when), ..case.clone() };
    Vector { cases: left.cases.iter().map(left_over).collect(), bound: left.bound.clone() }
}

/// The left side, and of the right side what belongs to nothing there.
fn either(left: &Vector, right: &Vector, matching: &Matching) -> Vector {
    let exclusive = left.compare(right, &matching.labels) == Match::Surely;
    let is_shadowed = |case: &Case| {
        exclusive && left.cases.iter().any(|shadow| implies(&case.when, &shadow.when))
    };
    let remaining: Vec<Case> =
        right.cases.iter().filter(|case| !is_shadowed(case)).cloned().collect();
    let alone = exclusive || remaining.is_empty();
    let cases: Vec<Case> = left.cases.iter().cloned().chain(remaining).collect();
    let bound = left.bound.clone().or(right.bound.clone());
    let bound = if alone { bound } else { bound.or(Bound::of(&cases)) };
    Vector { cases, bound }
}
