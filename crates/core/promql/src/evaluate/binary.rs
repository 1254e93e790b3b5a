//! Binary operators: arithmetic, comparison, vector matching and set operators.

use std::collections::{HashMap, HashSet};

use super::Evaluation;
use super::error::{EvaluationError, Side};
use super::value::{QueryValue, VectorSample};
use crate::expr::{
    ArithmeticOperator, BinaryExpr, BinaryOperator, GroupModifier, GroupingLabels, SetOperator,
    VectorMatching,
};
use crate::labels::LabelSet;

/// Applies an operator to two values; `None` drops the series.
pub(super) fn apply(operator: BinaryOperator, left: f64, right: f64) -> Option<f64> {
    match operator {
        BinaryOperator::Arithmetic(arithmetic) => Some(arithmetic.apply(left, right)),
        BinaryOperator::Compare { relation, bool: true } => {
            Some(f64::from(u8::from(relation.holds(left, right))))
        }
        BinaryOperator::Compare { relation, bool: false } => {
            relation.holds(left, right).then_some(left)
        }
        BinaryOperator::Set(_) => None,
    }
}

impl Evaluation<'_> {
    pub(super) fn binary(&mut self, binary: &BinaryExpr) -> Result<QueryValue, EvaluationError> {
        let BinaryExpr { left, right, operator, matching } = binary;
        let operator = *operator;
        if operator == BinaryOperator::Arithmetic(ArithmeticOperator::Atan2) {
            // Some versions of Prometheus keep the metric name here.
            return Err(EvaluationError::unsupported("atan2"));
        }
        Ok(match (self.value(left)?, self.value(right)?) {
            (QueryValue::Scalar(left), QueryValue::Scalar(right)) => {
                QueryValue::Scalar(apply(operator, left, right).unwrap_or(f64::NAN))
            }
            (QueryValue::Scalar(number), vector) => {
                let apply = |value| apply(operator, number, value);
                QueryValue::Vector(with_number(vector.into_vector()?, operator, apply))
            }
            (vector, QueryValue::Scalar(number)) => {
                let apply = |value| apply(operator, value, number);
                QueryValue::Vector(with_number(vector.into_vector()?, operator, apply))
            }
            (left, right) => {
                let (left, right) = (left.into_vector()?, right.into_vector()?);
                QueryValue::Vector(match operator {
                    BinaryOperator::Set(set) => set_operation(set, left, right, &matching.labels),
                    _ => vector_match(operator, left, right, matching)?,
                })
            }
        })
    }
}

/// Applies an operator to a vector and a scalar. A filter comparison keeps the value of the series
/// on either side.
fn with_number(
    vector: Vec<VectorSample>,
    operator: BinaryOperator,
    apply: impl Fn(f64) -> Option<f64>,
) -> Vec<VectorSample> {
    let calculate = |element: VectorSample| {
        let value = apply(element.value)?;
        Some(match operator {
            BinaryOperator::Compare { bool: false, .. } => element,
            _ => VectorSample { labels: element.labels.without_metric(), value },
        })
    };
    vector.into_iter().filter_map(calculate).collect()
}

/// The labels that two series must share. The metric name is compared only if the query lists it.
pub(super) fn match_key(labels: &LabelSet, matching: &GroupingLabels) -> LabelSet {
    match matching {
        GroupingLabels::Only(_) => labels.keep(matching),
        GroupingLabels::Except(_) => labels.keep(matching).without_metric(),
    }
}

/// The sides of a vector match.
struct MatchSides<'a> {
    many: Vec<VectorSample>,
    one: Vec<VectorSample>,
    /// Side with unique labels.
    unique: Side,
    /// Labels that are copied from the unique side; `None` for a one-to-one match.
    copied: Option<&'a [String]>,
}

impl<'a> MatchSides<'a> {
    fn new(left: Vec<VectorSample>, right: Vec<VectorSample>, grouping: &'a GroupModifier) -> Self {
        match grouping {
            GroupModifier::None => {
                Self { many: left, one: right, unique: Side::Right, copied: None }
            }
            GroupModifier::Left(labels) => {
                Self { many: left, one: right, unique: Side::Right, copied: Some(labels) }
            }
            GroupModifier::Right(labels) => {
                Self { many: right, one: left, unique: Side::Left, copied: Some(labels) }
            }
        }
    }
}

/// Vector matching: applies an operator to matching series.
pub(super) fn vector_match(
    operator: BinaryOperator,
    left: Vec<VectorSample>,
    right: Vec<VectorSample>,
    matching: &VectorMatching,
) -> Result<Vec<VectorSample>, EvaluationError> {
    if left.is_empty() || right.is_empty() {
        return Ok(Vec::new());
    }
    let MatchSides { many, one, unique, copied } = MatchSides::new(left, right, &matching.grouping);
    let one = unique_side(&one, &matching.labels, unique)?;
    let mut results = Vec::new();
    let mut matched: HashSet<(LabelSet, LabelSet)> = HashSet::new();
    for element in &many {
        let key = match_key(&element.labels, &matching.labels);
        let Some(partner) = one.get(&key) else { continue };
        let value = match unique {
            Side::Right => apply(operator, element.value, partner.value),
            Side::Left => apply(operator, partner.value, element.value),
        };
        let Some(value) = value else { continue };
        let labels = result_labels(operator, element, partner, matching, copied);
        // Without a group modifier, a second match is an error, whatever its result.
        let result_key = copied.map_or_else(LabelSet::default, |_| labels.clone());
        if !matched.insert((key, result_key)) {
            return Err(match copied {
                None => EvaluationError::ManyToOne(element.labels.clone()),
                Some(_) => EvaluationError::Grouping(labels),
            });
        }
        results.push(VectorSample { labels, value });
    }
    Ok(results)
}

/// The series of the unique side, by matched labels.
fn unique_side<'a>(
    one: &'a [VectorSample],
    labels: &GroupingLabels,
    side: Side,
) -> Result<HashMap<LabelSet, &'a VectorSample>, EvaluationError> {
    let mut found = HashMap::with_capacity(one.len());
    for element in one {
        let group = match_key(&element.labels, labels);
        if let Some(earlier) = found.insert(group.clone(), element) {
            let (first, second) = (earlier.labels.clone(), element.labels.clone());
            return Err(EvaluationError::ManyToMany { side, group, first, second });
        }
    }
    Ok(found)
}

/// Labels of a result: those of the "many" side, with the copied ones.
fn result_labels(
    operator: BinaryOperator,
    many: &VectorSample,
    one: &VectorSample,
    matching: &VectorMatching,
    copied: Option<&[String]>,
) -> LabelSet {
    let kept = match operator {
        BinaryOperator::Arithmetic(_) => many.labels.without_metric(),
        _ => many.labels.clone(),
    };
    let labels = match copied {
        None => kept.keep(&matching.labels),
        Some(copied) => {
            copied.iter().fold(kept, |labels, label| labels.with(label, one.labels.get(label)))
        }
    };
    match operator {
        BinaryOperator::Compare { bool: true, .. } => labels.without_metric(),
        _ => labels,
    }
}

/// Applies a set operator.
pub(super) fn set_operation(
    operator: SetOperator,
    left: Vec<VectorSample>,
    right: Vec<VectorSample>,
    labels: &GroupingLabels,
) -> Vec<VectorSample> {
    let keys = |vector: &[VectorSample]| -> HashSet<LabelSet> {
        vector.iter().map(|element| match_key(&element.labels, labels)).collect()
    };
    let found = |keys: &HashSet<LabelSet>, element: &VectorSample| {
        keys.contains(&match_key(&element.labels, labels))
    };
    match operator {
        SetOperator::And => {
            let right = keys(&right);
            left.into_iter().filter(|element| found(&right, element)).collect()
        }
        SetOperator::Unless => {
            let right = keys(&right);
            left.into_iter().filter(|element| !found(&right, element)).collect()
        }
        SetOperator::Or => {
            let known = keys(&left);
            let new = right.into_iter().filter(|element| !found(&known, element));
            left.into_iter().chain(new).collect()
        }
    }
}
