//! Many series made one for each group.

use std::collections::HashMap;

use crate::expr::{Aggregate, Aggregation, Expr, Labels};
use crate::labels::{LabelSet, is_label_name};

use super::error::EvaluationError;
use super::number;
use super::rank::{self, Rank};
use super::value::Element;
use super::{Evaluation, matching};

impl Evaluation<'_> {
    pub(super) fn aggregate(
        &mut self,
        aggregate: &Aggregate,
    ) -> Result<Vec<Element>, EvaluationError> {
        let Aggregate { operation, parameter, of, by } = aggregate;
        let parameter = parameter.as_deref();
        match operation {
            Aggregation::TopK => self.ranked(Rank::Top, parameter, of, by),
            Aggregation::BottomK => self.ranked(Rank::Bottom, parameter, of, by),
            Aggregation::CountValues => self.count_values(parameter, of, by),
            Aggregation::Quantile => {
                let share = self.parameter(parameter)?;
                self.reduced(of, by, |values| number::quantile(share, values))
            }
            Aggregation::Average => self.reduced(of, by, |values| average(&values)),
            Aggregation::Count => self.reduced(of, by, |values| count(&values)),
            Aggregation::Group => self.reduced(of, by, |_| 1.0),
            Aggregation::Max => self.reduced(of, by, |values| extreme(&values, |a, b| a < b)),
            Aggregation::Min => self.reduced(of, by, |values| extreme(&values, |a, b| a > b)),
            Aggregation::StandardDeviation => {
                self.reduced(of, by, |values| variance(&values).sqrt())
            }
            Aggregation::StandardVariance => self.reduced(of, by, |values| variance(&values)),
            Aggregation::Sum => self.reduced(of, by, |values| values.iter().sum()),
        }
    }

    fn parameter(&mut self, parameter: Option<&Expr>) -> Result<f64, EvaluationError> {
        parameter.map_or(Ok(f64::NAN), |parameter| self.scalar(parameter))
    }

    fn reduced(
        &mut self,
        of: &Expr,
        by: &Labels,
        reduce: impl Fn(Vec<f64>) -> f64,
    ) -> Result<Vec<Element>, EvaluationError> {
        let groups = groups(self.vector(of)?, by);
        let reduced = |(labels, members): (LabelSet, Vec<Element>)| {
            let values = members.into_iter().map(|element| element.value).collect();
            Element { labels, value: reduce(values) }
        };
        Ok(groups.into_iter().map(reduced).collect())
    }

    /// Some series of each group, as they are.
    fn ranked(
        &mut self,
        rank: Rank,
        parameter: Option<&Expr>,
        of: &Expr,
        by: &Labels,
    ) -> Result<Vec<Element>, EvaluationError> {
        let count = rank::count(self.parameter(parameter)?)?;
        let groups = groups(self.vector(of)?, by);
        Ok(groups.into_iter().flat_map(|(_, members)| rank.first(count, members)).collect())
    }

    fn count_values(
        &mut self,
        parameter: Option<&Expr>,
        of: &Expr,
        by: &Labels,
    ) -> Result<Vec<Element>, EvaluationError> {
        let Some(Expr::Text(label)) = parameter else {
            return Err(EvaluationError::unsupported("count_values without a label in quotes"));
        };
        if !is_label_name(label) {
            let (function, name) = ("count_values", label.clone());
            return Err(EvaluationError::LabelName { function, name });
        }
        let by = match by {
            Labels::Only(names) => {
                Labels::Only([names.as_slice(), std::slice::from_ref(label)].concat())
            }
            Labels::Except(names) => Labels::Except(names.clone()),
        };
        let mut vector = self.vector(of)?;
        for element in &mut vector {
            let value = number::as_label(element.value);
            self.budget.text(value.len())?;
            element.labels = element.labels.with(label, &value);
        }
        let counted = |(labels, members): (LabelSet, Vec<Element>)| {
            let values: Vec<f64> = members.iter().map(|element| element.value).collect();
            Element { labels, value: count(&values) }
        };
        Ok(groups(vector, &by).into_iter().map(counted).collect())
    }
}

/// The series of each group, in the order in which groups are met.
fn groups(vector: Vec<Element>, by: &Labels) -> Vec<(LabelSet, Vec<Element>)> {
    let mut places: HashMap<LabelSet, usize> = HashMap::new();
    let mut groups: Vec<(LabelSet, Vec<Element>)> = Vec::new();
    for element in vector {
        let labels = matching::key(&element.labels, by);
        let place = *places.entry(labels.clone()).or_insert(groups.len());
        if place == groups.len() {
            groups.push((labels, Vec::new()));
        }
        groups[place].1.push(element);
    }
    groups
}

#[expect(clippy::cast_precision_loss, reason = "nothing holds that many values")]
fn count(values: &[f64]) -> f64 {
    values.len() as f64
}

/// The last one that beats all before; any number beats NaN.
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
            // Dividing first, the sum cannot overflow.
            mean += value / f64::from(count) - mean / f64::from(count);
        }
    }
    mean
}

/// Of a single value it is nought, whatever that value is.
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
