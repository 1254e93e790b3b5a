//! Functions of range vectors: `…_over_time`, `rate` and related.

use super::aggregate::extreme;
use super::number::{CompensatedSum, ignores};
use super::select::RangeSamples;
use super::value::VectorSample;
use super::{Evaluation, EvaluationError};
use crate::expr::Expr;
use crate::snapshot::{Sample, Series};

/// The samples of one series in a range; never empty.
pub(super) struct RangeWindow<'a> {
    /// Start in milliseconds.
    pub(super) from: i64,
    /// End in milliseconds.
    pub(super) to: i64,
    pub(super) samples: &'a [Sample],
}

/// A function of a range; `None` if it has too few samples.
pub(super) type RangeFunction = fn(&RangeWindow<'_>) -> Option<f64>;

impl RangeWindow<'_> {
    pub(super) fn values(&self) -> impl Iterator<Item = f64> {
        self.samples.iter().map(|sample| sample.value)
    }

    /// Number of consecutive pairs for which `are` holds.
    fn count_pairs(&self, are: impl Fn(f64, f64) -> bool) -> f64 {
        let pairs = self.samples.array_windows();
        count(pairs.filter(|[first, second]| are(first.value, second.value)).count())
    }
}

impl Evaluation<'_> {
    pub(super) fn over_time(
        &mut self,
        of: &Expr,
        function: impl Fn(&RangeWindow<'_>) -> Option<f64>,
    ) -> Result<Vec<VectorSample>, EvaluationError> {
        let RangeSamples { from, to, series } = self.windows(of)?;
        let element = |series: &Series| {
            let value = function(&RangeWindow { from, to, samples: &series.samples })?;
            Some(VectorSample { labels: series.labels.without_metric(), value })
        };
        Ok(series.iter().filter_map(element).collect())
    }

    /// The only range function that keeps the metric name.
    pub(super) fn last_over_time(
        &mut self,
        of: &Expr,
    ) -> Result<Vec<VectorSample>, EvaluationError> {
        let last = |series: Series| {
            let value = series.samples.last()?.value;
            Some(VectorSample { labels: series.labels, value })
        };
        Ok(self.windows(of)?.series.into_iter().filter_map(last).collect())
    }
}

/// The range function with a name.
pub(super) fn over_time_function(name: &str) -> Option<RangeFunction> {
    Some(match name {
        "avg_over_time" => |window| Some(average(window)),
        "changes" => |window| Some(window.count_pairs(differ)),
        "count_over_time" => |window| Some(count(window.samples.len())),
        "max_over_time" => |window| Some(extreme_value(window, |best, value| best < value)),
        "min_over_time" => |window| Some(extreme_value(window, |best, value| best > value)),
        "present_over_time" => |_| Some(1.0),
        "resets" => |window| Some(window.count_pairs(|first, second| second < first)),
        "stddev_over_time" => |window| Some(variance(window).sqrt()),
        "stdvar_over_time" => |window| Some(variance(window)),
        "sum_over_time" => |window| Some(sum(window)),
        _ => return None,
    })
}

#[allow(clippy::float_cmp, reason = "every difference in value counts as a change")]
fn differ(first: f64, second: f64) -> bool {
    first != second && !(first.is_nan() && second.is_nan())
}

fn extreme_value(window: &RangeWindow<'_>, is_beaten: impl Fn(f64, f64) -> bool) -> f64 {
    extreme(&window.values().collect::<Vec<_>>(), is_beaten)
}

fn sum(window: &RangeWindow<'_>) -> f64 {
    let mut sum = CompensatedSum::default();
    window.values().for_each(|value| sum.add(value));
    sum.total()
}

fn average(window: &RangeWindow<'_>) -> f64 {
    let mut mean = CompensatedSum::default();
    for (number, value) in (1u32..).zip(window.values()) {
        let number = f64::from(number);
        if !ignores(mean.rough(), value) {
            mean.add(value / number - mean.rough() / number);
        }
    }
    mean.total()
}

fn variance(window: &RangeWindow<'_>) -> f64 {
    let (mut mean, mut squares) = (CompensatedSum::default(), CompensatedSum::default());
    for (number, value) in (1u32..).zip(window.values()) {
        let difference = value - mean.exact();
        mean.add(difference / f64::from(number));
        squares.add(difference * (value - mean.exact()));
    }
    squares.exact() / count(window.samples.len())
}

#[expect(clippy::cast_precision_loss, reason = "the number of samples is below 2^53")]
pub(super) fn count(samples: usize) -> f64 {
    samples as f64
}

/// The rate function with a name.
pub(super) fn rate_function(name: &str) -> Option<RangeFunction> {
    Some(match name {
        "delta" => |window| extrapolated(window, MetricType::Gauge, 1.0),
        "idelta" => |window| last_change(window).map(|step| step.change),
        "increase" => |window| extrapolated(window, MetricType::Counter, 1.0),
        "irate" => |window| last_change(window).map(|step| step.increase / step.seconds),
        "rate" => {
            |window| extrapolated(window, MetricType::Counter, seconds(window.from, window.to))
        }
        _ => return None,
    })
}

/// Metric type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MetricType {
    /// Values may decrease.
    Gauge,
    /// Values increase from 0, and restart at 0 after a reset.
    Counter,
}

/// The change over the range, extrapolated from the samples as in Prometheus (`extrapolatedRate`),
/// and divided.
fn extrapolated(window: &RangeWindow<'_>, kind: MetricType, divisor: f64) -> Option<f64> {
    let [first, .., last] = window.samples else { return None };
    let difference = last.value - first.value;
    let change = match kind {
        MetricType::Gauge => difference,
        MetricType::Counter => lost_in_resets(window).fold(difference, |sum, lost| sum + lost),
    };
    let sampled = seconds(first.at, last.at);
    let interval = sampled / (count(window.samples.len()) - 1.0);
    let mut before = seconds(window.from, first.at);
    let after = seconds(last.at, window.to);
    if kind == MetricType::Counter && change > 0.0 && first.value >= 0.0 {
        // A counter starts at 0, so the extrapolation must not go below it.
        before = before.min(sampled * (first.value / change));
    }
    let reach =
        |gap: f64| if gap < interval * MAX_EXTRAPOLATED_INTERVALS { gap } else { interval / 2.0 };
    Some(change * ((sampled + reach(before) + reach(after)) / sampled / divisor))
}

/// Number of sample intervals within which a series is extrapolated to the end of the range; beyond
/// it, by half an interval.
const MAX_EXTRAPOLATED_INTERVALS: f64 = 1.1;

/// Values of a counter before each reset.
fn lost_in_resets(window: &RangeWindow<'_>) -> impl Iterator<Item = f64> {
    let pairs = window.samples.array_windows();
    pairs.filter(|[before, after]| after.value < before.value).map(|[before, _]| before.value)
}

struct LastChange {
    change: f64,
    /// Increase of a counter; after a reset, its value.
    increase: f64,
    seconds: f64,
}

fn last_change(window: &RangeWindow<'_>) -> Option<LastChange> {
    let [.., before, last] = window.samples else { return None };
    let change = last.value - before.value;
    let increase = if last.value < before.value { last.value } else { change };
    Some(LastChange { change, increase, seconds: seconds(before.at, last.at) })
}

#[expect(clippy::cast_precision_loss, reason = "differences of times are small enough")]
fn seconds(from: i64, to: i64) -> f64 {
    to.saturating_sub(from) as f64 / 1000.0
}
