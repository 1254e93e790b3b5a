//! Operators between the series of two sides: which of them belong together, and what they
//! become.

use std::collections::{HashMap, HashSet};

use crate::expr::{Grouping, Labels, Matching, Operator};
use crate::labels::LabelSet;

use super::binary::apply;
use super::error::{EvaluationError, Side};
use super::value::Element;

/// The labels in which two series have to agree. The name of the metric is only compared where a
/// query asks for it.
pub(super) fn key(labels: &LabelSet, matching: &Labels) -> LabelSet {
    match matching {
        Labels::Only(_) => labels.keep(matching),
        Labels::Except(_) => labels.keep(matching).without_metric(),
    }
}

/// The two sides by how many of each belong together.
struct Sides<'a> {
    many: Vec<Element>,
    one: Vec<Element>,
    /// Where the side is on which each is once.
    one_is: Side,
    /// The labels that are copied from it; none where each is once on the other side too.
    copied: Option<&'a [String]>,
}

impl<'a> Sides<'a> {
    fn of(left: Vec<Element>, right: Vec<Element>, grouping: &'a Grouping) -> Self {
        match grouping {
            Grouping::None => Self { many: left, one: right, one_is: Side::Right, copied: None },
            Grouping::Left(labels) => {
                Self { many: left, one: right, one_is: Side::Right, copied: Some(labels) }
            }
            Grouping::Right(labels) => {
                Self { many: right, one: left, one_is: Side::Left, copied: Some(labels) }
            }
        }
    }
}

/// What an operator makes of the series that belong together.
pub(super) fn combine(
    operator: Operator,
    left: Vec<Element>,
    right: Vec<Element>,
    matching: &Matching,
) -> Result<Vec<Element>, EvaluationError> {
    if left.is_empty() || right.is_empty() {
        return Ok(Vec::new());
    }
    let Sides { many, one, one_is, copied } = Sides::of(left, right, &matching.grouping);
    let one = unique(&one, &matching.labels, one_is)?;
    let mut results = Vec::new();
    let mut matched: HashSet<(LabelSet, LabelSet)> = HashSet::new();
    for element in &many {
        let key = key(&element.labels, &matching.labels);
        let Some(partner) = one.get(&key) else { continue };
        let value = match one_is {
            Side::Right => apply(operator, element.value, partner.value),
            Side::Left => apply(operator, partner.value, element.value),
        };
        let Some(value) = value else { continue };
        let labels = result(operator, element, partner, matching, copied);
        // Without grouping, a second match of the same partner is wrong whatever it becomes.
        let becomes = copied.map_or_else(LabelSet::default, |_| labels.clone());
        if !matched.insert((key, becomes)) {
            return Err(match copied {
                None => EvaluationError::ManyToOne { series: element.labels.clone() },
                Some(_) => EvaluationError::Grouping { series: labels },
            });
        }
        results.push(Element { labels, value });
    }
    Ok(results)
}

/// The series of the side on which each is once, by the labels that have to agree.
fn unique<'a>(
    one: &'a [Element],
    labels: &Labels,
    side: Side,
) -> Result<HashMap<LabelSet, &'a Element>, EvaluationError> {
    let mut found = HashMap::with_capacity(one.len());
    for element in one {
        let group = key(&element.labels, labels);
        if let Some(earlier) = found.insert(group.clone(), element) {
            let (first, second) = (earlier.labels.clone(), element.labels.clone());
            return Err(EvaluationError::ManyToMany { side, group, first, second });
        }
    }
    Ok(found)
}

/// The labels of a result: those of the side with many, with some copied from the other one.
fn result(
    operator: Operator,
    many: &Element,
    one: &Element,
    matching: &Matching,
    copied: Option<&[String]>,
) -> LabelSet {
    let kept = match operator {
        Operator::Arithmetic(_) => many.labels.without_metric(),
        _ => many.labels.clone(),
    };
    let labels = match copied {
        None => kept.keep(&matching.labels),
        Some(copied) => {
            copied.iter().fold(kept, |labels, label| labels.with(label, one.labels.get(label)))
        }
    };
    match operator {
        Operator::Compare { bool: true, .. } => labels.without_metric(),
        _ => labels,
    }
}
