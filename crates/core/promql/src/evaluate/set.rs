//! `and`, `or` and `unless`.

use std::collections::HashSet;

use crate::expr::{Labels, SetOperator};
use crate::labels::LabelSet;

use super::matching::key;
use super::value::Element;

/// The series of the left side that also are, or are not, on the right side; or both sides.
pub(super) fn combine(
    operator: SetOperator,
    left: Vec<Element>,
    right: Vec<Element>,
    labels: &Labels,
) -> Vec<Element> {
    let keys = |vector: &[Element]| -> HashSet<LabelSet> {
        vector.iter().map(|element| key(&element.labels, labels)).collect()
    };
    let found =
        |keys: &HashSet<LabelSet>, element: &Element| keys.contains(&key(&element.labels, labels));
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
