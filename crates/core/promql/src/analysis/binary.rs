//! Binary operators over abstract vectors.

use crate::expr::{
    ArithmeticOperator, BinaryExpr, BinaryOperator, ComparisonOperator, GroupModifier, SetOperator,
    VectorMatching,
};

use super::condition::{conjunction, implies, restricted};
use super::evaluate::{TooManyCases, evaluate as evaluate_expr};
use super::vector::{
    AbstractLabels, AbstractSeries, AbstractValue, AbstractVector, LabelMatch, SeriesBound, compare,
};

pub(super) fn evaluate(binary: &BinaryExpr) -> Result<AbstractValue, TooManyCases> {
    let (left, right) = (evaluate_expr(&binary.left)?, evaluate_expr(&binary.right)?);
    let vector = match (left, right, binary.operator) {
        (AbstractValue::Number(left), AbstractValue::Number(right), operator) => {
            return Ok(AbstractValue::Number(scalar_operation(operator, left, right)));
        }
        (
            AbstractValue::Vector(left),
            AbstractValue::Vector(right),
            BinaryOperator::Set(operator),
        ) => set_operation(operator, &left, &right, &binary.matching),
        (AbstractValue::Vector(left), AbstractValue::Vector(right), operator) => {
            match_vectors(operator, &left, &right, &binary.matching)
        }
        (AbstractValue::Vector(vector), AbstractValue::Number(number), operator) => {
            let cases = |case| apply(operator, case, |value| (value, number));
            map_series(vector, cases)
        }
        (AbstractValue::Number(number), AbstractValue::Vector(vector), operator) => {
            let cases = |case| apply(operator, case, |value| (number, value));
            map_series(vector, cases)
        }
        _ => AbstractVector::default(),
    };
    Ok(AbstractValue::Vector(vector))
}

fn scalar_operation(
    operator: BinaryOperator,
    left: Option<f64>,
    right: Option<f64>,
) -> Option<f64> {
    match operator {
        BinaryOperator::Arithmetic(operator) => arithmetic(operator, left, right),
        BinaryOperator::Compare { relation, .. } => {
            Some(f64::from(u8::from(relation.holds(left?, right?))))
        }
        BinaryOperator::Set(_) => None,
    }
}

/// 0 times an unknown value is 0: samples of risk queries are finite.
fn arithmetic(operator: ArithmeticOperator, left: Option<f64>, right: Option<f64>) -> Option<f64> {
    match (operator, left, right) {
        (operator, Some(left), Some(right)) => Some(operator.apply(left, right)),
        (ArithmeticOperator::Multiply, Some(0.0), None)
        | (ArithmeticOperator::Multiply, None, Some(0.0)) => Some(0.0),
        _ => None,
    }
}

fn map_series(
    vector: AbstractVector,
    cases: impl Fn(AbstractSeries) -> Vec<AbstractSeries>,
) -> AbstractVector {
    AbstractVector {
        cases: vector.cases.into_iter().flat_map(cases).collect(),
        bound: vector.bound,
    }
}

/// An abstract series after an operator; `operands` returns the values on both sides.
fn apply(
    operator: BinaryOperator,
    case: AbstractSeries,
    operands: impl Fn(Option<f64>) -> (Option<f64>, Option<f64>),
) -> Vec<AbstractSeries> {
    let (left, right) = operands(case.value);
    match operator {
        BinaryOperator::Arithmetic(operator) => {
            vec![AbstractSeries { value: arithmetic(operator, left, right), ..case }]
        }
        BinaryOperator::Compare { relation, bool: true } => {
            bool_comparison(relation, left, right, case)
        }
        BinaryOperator::Compare { relation, bool: false } => {
            filter_comparison(relation, left, right, case)
        }
        BinaryOperator::Set(_) => Vec::new(),
    }
}

/// Comparison with `bool`: 1 or 0, or both if the operands are unknown.
fn bool_comparison(
    relation: ComparisonOperator,
    left: Option<f64>,
    right: Option<f64>,
    case: AbstractSeries,
) -> Vec<AbstractSeries> {
    match left.zip(right) {
        Some((left, right)) => {
            let value = f64::from(u8::from(relation.holds(left, right)));
            vec![AbstractSeries { value: Some(value), ..case }]
        }
        None => {
            [1.0, 0.0].map(|value| AbstractSeries { value: Some(value), ..case.clone() }).to_vec()
        }
    }
}

/// Comparison without `bool`: keeps the series, possibly for some samples only, or drops it.
fn filter_comparison(
    relation: ComparisonOperator,
    left: Option<f64>,
    right: Option<f64>,
    case: AbstractSeries,
) -> Vec<AbstractSeries> {
    match left.zip(right) {
        Some((left, right)) if relation.holds(left, right) => vec![case],
        Some(_) => Vec::new(),
        None => {
            let equal = (relation == ComparisonOperator::Equal).then_some(left.or(right)).flatten();
            let when = restricted(&case.when);
            vec![AbstractSeries { value: equal.or(case.value), when, ..case }]
        }
    }
}

/// Vector matching of both sides.
fn match_vectors(
    operator: BinaryOperator,
    left: &AbstractVector,
    right: &AbstractVector,
    matching: &VectorMatching,
) -> AbstractVector {
    let mut cases = Vec::new();
    for one in &left.cases {
        for other in &right.cases {
            let when = match compare(&one.labels, &other.labels, &matching.labels) {
                LabelMatch::Never => continue,
                LabelMatch::Always => conjunction(&one.when, &other.when),
                LabelMatch::Possible => {
                    conjunction(&restricted(&one.when), &restricted(&other.when))
                }
            };
            let labels = joined_labels(one, other, matching);
            let case = AbstractSeries { value: one.value, labels, when };
            cases.extend(apply(operator, case, |value| (value, other.value)));
        }
    }
    let bound = match matching.grouping {
        GroupModifier::None => left.bound.clone().and(right.bound.clone()),
        GroupModifier::Left(_) => left.bound.clone(),
        GroupModifier::Right(_) => right.bound.clone(),
    };
    AbstractVector::new(cases).bounded(bound)
}

fn joined_labels(
    left: &AbstractSeries,
    right: &AbstractSeries,
    matching: &VectorMatching,
) -> AbstractLabels {
    let copied = |to: &AbstractLabels, from: &AbstractLabels, labels: &[String]| {
        labels.iter().fold(to.clone(), |to, label| to.with(label, from.constant(label)))
    };
    match &matching.grouping {
        GroupModifier::None => left.labels.keep(&matching.labels),
        GroupModifier::Left(labels) => copied(&left.labels, &right.labels, labels),
        GroupModifier::Right(labels) => copied(&right.labels, &left.labels, labels),
    }
}

fn set_operation(
    operator: SetOperator,
    left: &AbstractVector,
    right: &AbstractVector,
    matching: &VectorMatching,
) -> AbstractVector {
    match operator {
        SetOperator::Or => union_of(left, right, matching),
        SetOperator::And => intersection(left, right, matching),
        SetOperator::Unless => difference(left, right, matching),
    }
}

fn intersection(
    left: &AbstractVector,
    right: &AbstractVector,
    matching: &VectorMatching,
) -> AbstractVector {
    let matched = |one: &AbstractSeries, other: &AbstractSeries| {
        let when = match compare(&one.labels, &other.labels, &matching.labels) {
            LabelMatch::Never => return None,
            LabelMatch::Always => conjunction(&one.when, &other.when),
            LabelMatch::Possible => conjunction(&restricted(&one.when), &restricted(&other.when)),
        };
        Some(AbstractSeries { when, ..one.clone() })
    };
    let pairs = left.cases.iter().flat_map(|one| right.cases.iter().map(move |other| (one, other)));
    let cases = pairs.filter_map(|(one, other)| matched(one, other)).collect();
    AbstractVector { cases, bound: left.bound.clone() }
}

fn difference(
    left: &AbstractVector,
    right: &AbstractVector,
    matching: &VectorMatching,
) -> AbstractVector {
    if left.compare(right, &matching.labels) == LabelMatch::Never {
        return left.clone();
    }
    let left_over =
        |case: &AbstractSeries| AbstractSeries { when: restricted(&case.when), ..case.clone() };
    AbstractVector { cases: left.cases.iter().map(left_over).collect(), bound: left.bound.clone() }
}

/// `or`: the left side, and the series of the right side without a match there.
fn union_of(
    left: &AbstractVector,
    right: &AbstractVector,
    matching: &VectorMatching,
) -> AbstractVector {
    let exclusive = left.compare(right, &matching.labels) == LabelMatch::Always;
    let is_shadowed = |case: &AbstractSeries| {
        exclusive && left.cases.iter().any(|shadow| implies(&case.when, &shadow.when))
    };
    let remaining: Vec<AbstractSeries> =
        right.cases.iter().filter(|case| !is_shadowed(case)).cloned().collect();
    let alone = exclusive || remaining.is_empty();
    let cases: Vec<AbstractSeries> = left.cases.iter().cloned().chain(remaining).collect();
    let bound = left.bound.clone().or(right.bound.clone());
    let bound = if alone { bound } else { bound.or(SeriesBound::new(&cases)) };
    AbstractVector { cases, bound }
}
