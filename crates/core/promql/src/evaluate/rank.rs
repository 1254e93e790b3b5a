//! `topk`, `bottomk` and sorting.

use std::cmp::Ordering;

use super::error::EvaluationError;
use super::value::Element;

/// Which values come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rank {
    /// The largest.
    Top,
    /// The smallest.
    Bottom,
}

impl Rank {
    /// The first so many series of a group.
    ///
    /// Of equal ones Prometheus takes those that its heap happens to keep. The heap is the same
    /// here, so that the same series are taken.
    pub(super) fn first(self, count: usize, members: Vec<Element>) -> Vec<Element> {
        let mut heap = Heap { rank: self, elements: Vec::new() };
        for element in members {
            if heap.elements.len() < count {
                heap.push(element);
            } else if heap.elements.first().is_some_and(|worst| self.is_beaten(worst, &element)) {
                heap.pop();
                heap.push(element);
            }
        }
        self.sorted(heap.elements)
    }

    /// In this order; NaN comes last.
    pub(super) fn sorted(self, mut elements: Vec<Element>) -> Vec<Element> {
        elements.sort_by(|left, right| self.order(left.value, right.value));
        elements
    }

    fn order(self, left: f64, right: f64) -> Ordering {
        let by_value = left.partial_cmp(&right).map(|order| match self {
            Self::Top => order.reverse(),
            Self::Bottom => order,
        });
        by_value.unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
    }

    /// Whether a new one takes the place of the worst one. Anything is better than NaN, even NaN.
    fn is_beaten(self, worst: &Element, new: &Element) -> bool {
        self.goes_first(worst.value, new.value)
    }

    /// Whether the first of two goes before the second one does. NaN goes before anything.
    fn goes_first(self, first: f64, second: f64) -> bool {
        first.is_nan()
            || match self {
                Self::Top => first < second,
                Self::Bottom => first > second,
            }
    }
}

/// A binary heap with what goes first on top.
struct Heap {
    rank: Rank,
    elements: Vec<Element>,
}

impl Heap {
    fn goes_first(&self, first: usize, second: usize) -> bool {
        self.rank.goes_first(self.elements[first].value, self.elements[second].value)
    }

    fn push(&mut self, element: Element) {
        self.elements.push(element);
        let mut place = self.elements.len() - 1;
        while place > 0 {
            let parent = (place - 1) / 2;
            if !self.goes_first(place, parent) {
                break;
            }
            self.elements.swap(place, parent);
            place = parent;
        }
    }

    /// Removes what is on top.
    fn pop(&mut self) {
        self.elements.swap_remove(0);
        let mut place = 0;
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            if left >= self.elements.len() {
                break;
            }
            let goes_right = right < self.elements.len() && self.goes_first(right, left);
            let child = if goes_right { right } else { left };
            if !self.goes_first(child, place) {
                break;
            }
            self.elements.swap(place, child);
            place = child;
        }
    }
}

/// The number of series that a number means.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a negative number means none, and larger ones than there are series mean all"
)]
pub(super) fn count(number: f64) -> Result<usize, EvaluationError> {
    if number >= i64::MIN as f64 && number <= i64::MAX as f64 {
        Ok(number as usize)
    } else {
        Err(EvaluationError::Count { number })
    }
}
