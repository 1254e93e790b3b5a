//! Functions of the samples of a time.

use crate::expr::Expr;
use crate::snapshot::{Sample, Series};

use super::super::aggregate::extreme;
use super::super::number::{Sum, ignores};
use super::super::select::Windows;
use super::super::value::Element;
use super::super::{Evaluation, EvaluationError};

/// The samples of one series over a time; there is at least one.
pub(super) struct Window<'a> {
    /// When it begins, in milliseconds.
    pub(super) from: i64,
    /// When it ends.
    pub(super) to: i64,
    pub(super) samples: &'a [Sample],
}

/// What becomes of the samples of a series; nothing where there are too few.
pub(super) type Function = fn(&Window<'_>) -> Option<f64>;

impl Window<'_> {
    pub(super) fn values(&self) -> impl Iterator<Item = f64> {
        self.samples.iter().map(|sample| sample.value)
    }

    /// How often one value and the next are so.
    fn count_pairs(&self, are: impl Fn(f64, f64) -> bool) -> f64 {
        let pairs = self.samples.array_windows();
        count(pairs.filter(|[first, second]| are(first.value, second.value)).count())
    }
}

impl Evaluation<'_> {
    pub(super) fn over_time(
        &mut self,
        of: &Expr,
        function: impl Fn(&Window<'_>) -> Option<f64>,
    ) -> Result<Vec<Element>, EvaluationError> {
        let Windows { from, to, series } = self.windows(of)?;
        let element = |series: &Series| {
            let value = function(&Window { from, to, samples: &series.samples })?;
            Some(Element { labels: series.labels.without_metric(), value })
        };
        Ok(series.iter().filter_map(element).collect())
    }

    /// The one function whose result still is what was measured.
    pub(super) fn last_over_time(&mut self, of: &Expr) -> Result<Vec<Element>, EvaluationError> {
        let last = |series: Series| {
            let value = series.samples.last()?.value;
            Some(Element { labels: series.labels, value })
        };
        Ok(self.windows(of)?.series.into_iter().filter_map(last).collect())
    }
}

/// The function of that name.
pub(super) fn function(name: &str) -> Option<Function> {
    Some(match name {
        "avg_over_time" => |window| Some(average(window)),
        "changes" => |window| Some(window.count_pairs(differ)),
        "count_over_time" => |window| Some(count(window.samples.len())),
        "max_over_time" => |window| Some(most(window, |best, value| best < value)),
        "min_over_time" => |window| Some(most(window, |best, value| best > value)),
        "present_over_time" => |_| Some(1.0),
        "resets" => |window| Some(window.count_pairs(|first, second| second < first)),
        "stddev_over_time" => |window| Some(variance(window).sqrt()),
        "stdvar_over_time" => |window| Some(variance(window)),
        "sum_over_time" => |window| Some(sum(window)),
        _ => return None,
    })
}

#[allow(clippy::float_cmp, reason = "any change is one")]
fn differ(first: f64, second: f64) -> bool {
    first != second && !(first.is_nan() && second.is_nan())
}

fn most(window: &Window<'_>, is_beaten: impl Fn(f64, f64) -> bool) -> f64 {
    extreme(&window.values().collect::<Vec<_>>(), is_beaten)
}

fn sum(window: &Window<'_>) -> f64 {
    let mut sum = Sum::default();
    window.values().for_each(|value| sum.add(value));
    sum.total()
}

fn average(window: &Window<'_>) -> f64 {
    let mut mean = Sum::default();
    for (number, value) in (1u32..).zip(window.values()) {
        let number = f64::from(number);
        if !ignores(mean.rough(), value) {
            mean.add(value / number - mean.rough() / number);
        }
    }
    mean.total()
}

fn variance(window: &Window<'_>) -> f64 {
    let (mut mean, mut squares) = (Sum::default(), Sum::default());
    for (number, value) in (1u32..).zip(window.values()) {
        let difference = value - mean.exact();
        mean.add(difference / f64::from(number));
        squares.add(difference * (value - mean.exact()));
    }
    squares.exact() / count(window.samples.len())
}

#[expect(clippy::cast_precision_loss, reason = "nothing holds that many samples")]
pub(super) fn count(samples: usize) -> f64 {
    samples as f64
}
