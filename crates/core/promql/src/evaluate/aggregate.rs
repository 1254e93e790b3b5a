//! Aggregation operators.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::binary::match_key;
use super::error::EvaluationError;
use super::value::VectorSample;
use super::{Evaluation, number};
use crate::expr::{AggregateExpr, AggregationOperator, Expr, GroupingLabels};
use crate::labels::{LabelSet, is_label_name};

impl Evaluation<'_> {
    pub(super) fn aggregate(
        &mut self,
        aggregate: &AggregateExpr,
    ) -> Result<Vec<VectorSample>, EvaluationError> {
        let AggregateExpr { operation, parameter, of, by } = aggregate;
        let parameter = parameter.as_deref();
        match operation {
            AggregationOperator::TopK => self.ranked(RankOrder::Top, parameter, of, by),
            AggregationOperator::BottomK => self.ranked(RankOrder::Bottom, parameter, of, by),
            AggregationOperator::CountValues => self.count_values(parameter, of, by),
            AggregationOperator::Quantile => {
                let share = self.parameter(parameter)?;
                self.reduced(of, by, |values| number::quantile(share, values))
            }
            AggregationOperator::Average => self.reduced(of, by, |values| average(&values)),
            AggregationOperator::Count => self.reduced(of, by, |values| count(&values)),
            AggregationOperator::Group => self.reduced(of, by, |_| 1.0),
            AggregationOperator::Max => {
                self.reduced(of, by, |values| extreme(&values, |a, b| a < b))
            }
            AggregationOperator::Min => {
                self.reduced(of, by, |values| extreme(&values, |a, b| a > b))
            }
            AggregationOperator::StandardDeviation => {
                self.reduced(of, by, |values| variance(&values).sqrt())
            }
            AggregationOperator::StandardVariance => {
                self.reduced(of, by, |values| variance(&values))
            }
            AggregationOperator::Sum => self.reduced(of, by, |values| values.iter().sum()),
        }
    }

    fn parameter(&mut self, parameter: Option<&Expr>) -> Result<f64, EvaluationError> {
        parameter.map_or(Ok(f64::NAN), |parameter| self.scalar(parameter))
    }

    fn reduced(
        &mut self,
        of: &Expr,
        by: &GroupingLabels,
        reduce: impl Fn(Vec<f64>) -> f64,
    ) -> Result<Vec<VectorSample>, EvaluationError> {
        let groups = groups(self.vector(of)?, by);
        let reduced = |(labels, members): (LabelSet, Vec<VectorSample>)| {
            let values = members.into_iter().map(|element| element.value).collect();
            VectorSample { labels, value: reduce(values) }
        };
        Ok(groups.into_iter().map(reduced).collect())
    }

    /// `topk` and `bottomk`: some series of each group, unchanged.
    fn ranked(
        &mut self,
        rank: RankOrder,
        parameter: Option<&Expr>,
        of: &Expr,
        by: &GroupingLabels,
    ) -> Result<Vec<VectorSample>, EvaluationError> {
        let count = rank_count(self.parameter(parameter)?)?;
        let groups = groups(self.vector(of)?, by);
        Ok(groups.into_iter().flat_map(|(_, members)| rank.first(count, members)).collect())
    }

    fn count_values(
        &mut self,
        parameter: Option<&Expr>,
        of: &Expr,
        by: &GroupingLabels,
    ) -> Result<Vec<VectorSample>, EvaluationError> {
        let Some(Expr::Text(label)) = parameter else {
            return Err(EvaluationError::unsupported("count_values without a label in quotes"));
        };
        if !is_label_name(label) {
            let (function, name) = ("count_values", label.clone());
            return Err(EvaluationError::LabelName { function, name });
        }
        let by = match by {
            GroupingLabels::Only(names) => {
                GroupingLabels::Only([names.as_slice(), std::slice::from_ref(label)].concat())
            }
            GroupingLabels::Except(names) => GroupingLabels::Except(names.clone()),
        };
        let mut vector = self.vector(of)?;
        for element in &mut vector {
            let value = number::as_label(element.value);
            self.budget.text(value.len())?;
            element.labels = element.labels.with(label, &value);
        }
        let counted = |(labels, members): (LabelSet, Vec<VectorSample>)| {
            let values: Vec<f64> = members.iter().map(|element| element.value).collect();
            VectorSample { labels, value: count(&values) }
        };
        Ok(groups(vector, &by).into_iter().map(counted).collect())
    }
}

/// The series of each group, in the order of their first series.
fn groups(vector: Vec<VectorSample>, by: &GroupingLabels) -> Vec<(LabelSet, Vec<VectorSample>)> {
    let mut indexes: HashMap<LabelSet, usize> = HashMap::new();
    let mut groups: Vec<(LabelSet, Vec<VectorSample>)> = Vec::new();
    for element in vector {
        let labels = match_key(&element.labels, by);
        let index = *indexes.entry(labels.clone()).or_insert(groups.len());
        if index == groups.len() {
            groups.push((labels, Vec::new()));
        }
        groups[index].1.push(element);
    }
    groups
}

#[expect(clippy::cast_precision_loss, reason = "the number of values is below 2^53")]
fn count(values: &[f64]) -> f64 {
    values.len() as f64
}

/// The maximum or minimum, as `is_beaten` defines it. Any number wins over NaN.
pub(super) fn extreme(values: &[f64], is_beaten: impl Fn(f64, f64) -> bool) -> f64 {
    let better = |best: f64, value: f64| {
        if best.is_nan() || is_beaten(best, value) { value } else { best }
    };
    values.iter().copied().fold(f64::NAN, better)
}

fn average(values: &[f64]) -> f64 {
    let mut mean = 0.0;
    for (count, value) in (1u32..).zip(values) {
        if !number::ignores(mean, *value) {
            // Dividing first avoids an overflow of the sum.
            mean += value / f64::from(count) - mean / f64::from(count);
        }
    }
    mean
}

/// Variance by Welford's algorithm, as in Prometheus. It is 0 for a single value, even for NaN.
fn variance(values: &[f64]) -> f64 {
    let Some((first, others)) = values.split_first() else { return f64::NAN };
    let (mut mean, mut squares) = (*first, 0.0);
    for (count, value) in (2u32..).zip(others) {
        let difference = value - mean;
        mean += difference / f64::from(count);
        squares += difference * (value - mean);
    }
    squares / count(values)
}

/// Order of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RankOrder {
    /// Largest first.
    Top,
    /// Smallest first.
    Bottom,
}

impl RankOrder {
    /// The first `count` series of a group.
    ///
    /// For equal values, the selection of Prometheus depends on its heap. This heap has the same
    /// algorithm, and so the same selection.
    pub(super) fn first(self, count: usize, members: Vec<VectorSample>) -> Vec<VectorSample> {
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

    /// Sorts in this order, NaN last.
    pub(super) fn sorted(self, mut elements: Vec<VectorSample>) -> Vec<VectorSample> {
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

    /// Whether a new value replaces the worst one. Any value replaces NaN, even NaN.
    fn is_beaten(self, worst: &VectorSample, new: &VectorSample) -> bool {
        self.is_worse(worst.value, new.value)
    }

    /// Whether the first value is worse than the second. NaN is worse than any value.
    fn is_worse(self, first: f64, second: f64) -> bool {
        first.is_nan()
            || match self {
                Self::Top => first < second,
                Self::Bottom => first > second,
            }
    }
}

/// A binary heap with the worst element on top.
struct Heap {
    rank: RankOrder,
    elements: Vec<VectorSample>,
}

impl Heap {
    fn is_worse(&self, first: usize, second: usize) -> bool {
        self.rank.is_worse(self.elements[first].value, self.elements[second].value)
    }

    fn push(&mut self, element: VectorSample) {
        self.elements.push(element);
        let mut index = self.elements.len() - 1;
        while index > 0 {
            let parent = (index - 1) / 2;
            if !self.is_worse(index, parent) {
                break;
            }
            self.elements.swap(index, parent);
            index = parent;
        }
    }

    /// Removes the top.
    fn pop(&mut self) {
        self.elements.swap_remove(0);
        let mut index = 0;
        loop {
            let (left, right) = (2 * index + 1, 2 * index + 2);
            if left >= self.elements.len() {
                break;
            }
            let goes_right = right < self.elements.len() && self.is_worse(right, left);
            let child = if goes_right { right } else { left };
            if !self.is_worse(child, index) {
                break;
            }
            self.elements.swap(index, child);
            index = child;
        }
    }
}

/// The parameter of `topk` or `bottomk` as a count.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a negative number selects no series; a number above the series count selects all"
)]
pub(super) fn rank_count(number: f64) -> Result<usize, EvaluationError> {
    if number >= i64::MIN as f64 && number <= i64::MAX as f64 {
        Ok(number as usize)
    } else {
        Err(EvaluationError::Count(number))
    }
}
