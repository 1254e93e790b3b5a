//! Samples at hand, by series: what a query is evaluated over instead of a running Prometheus.
//!
//! [`Snapshot::parse`] reads what programs expose and what Prometheus answers, so that a saved state
//! can be asked again.

mod builder;
mod error;
mod json;
mod line;
mod text;

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

pub use builder::Builder;
pub use error::{SnapshotError, SnapshotProblem};

use crate::expr::{Comparison, Matcher, Selector};
use crate::labels::{LabelSet, METRIC};

/// The value with which Prometheus marks the end of a series: a NaN of its own.
pub const STALE: f64 = f64::from_bits(0x7ff0_0000_0000_0002);

/// Whether a value marks the end of a series. Any other NaN is a value.
pub(crate) fn is_stale(value: f64) -> bool {
    value.to_bits() == STALE.to_bits()
}

/// A value at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Milliseconds since 1970, as fine as Prometheus keeps it.
    pub at: i64,
    /// The value.
    pub value: f64,
}

/// A series and its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What is measured.
    pub labels: LabelSet,
    /// What was measured, the earliest first; no two at the same time.
    pub samples: Vec<Sample>,
}

/// How much a snapshot may hold. The defaults fit a file with everything that the queries of an
/// update graph read in a cluster of a thousand nodes, ten times over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The size of what is read.
    pub bytes: usize,
    /// Series.
    pub series: usize,
    /// Samples of all series.
    pub samples: usize,
    /// Labels of one series.
    pub labels: usize,
    /// The length of a label or its value: expressions are searched for in them.
    pub label_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 64 << 20,
            series: 200_000,
            samples: 2_000_000,
            labels: 64,
            label_bytes: 4 << 10,
        }
    }
}

/// Series in the order of their labels.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    series: Vec<Series>,
    by_metric: HashMap<Arc<str>, Vec<usize>>,
}

impl Snapshot {
    /// Reads samples in the text format of Prometheus or of `OpenMetrics`, which ends with
    /// `# EOF`, or an answer of Prometheus' API in JSON. Samples without a time are taken `at`
    /// this one.
    pub fn parse(text: &str, at: Timestamp, limits: &Limits) -> Result<Self, SnapshotError> {
        if text.len() > limits.bytes {
            return Err(SnapshotProblem::TooLong { length: text.len(), most: limits.bytes }.into());
        }
        let mut builder = Builder::new(limits.clone());
        if text.trim_start().starts_with('{') {
            json::read(text, &mut builder)?;
        } else {
            text::read(text, at, &mut builder)?;
        }
        builder.build()
    }

    fn new(series: Vec<Series>) -> Self {
        let mut by_metric: HashMap<Arc<str>, Vec<usize>> = HashMap::new();
        for (index, series) in series.iter().enumerate() {
            by_metric.entry(series.labels.metric().into()).or_default().push(index);
        }
        Self { series, by_metric }
    }

    /// The series, in the order of their labels.
    pub fn series(&self) -> &[Series] {
        &self.series
    }

    /// When the latest sample was taken. A state that was saved is evaluated at its own time.
    pub fn latest(&self) -> Option<Timestamp> {
        let last = self.series.iter().filter_map(|series| series.samples.last());
        last.map(|sample| sample.at).max().and_then(|at| Timestamp::from_millisecond(at).ok())
    }

    /// The series that a selector can mean, by its name alone.
    pub(crate) fn candidates(
        &self,
        selector: &Selector,
    ) -> Box<dyn ExactSizeIterator<Item = &Series> + '_> {
        let Some(metric) = metric(selector) else { return Box::new(self.series.iter()) };
        let found = self.by_metric.get(metric).map_or(&[][..], Vec::as_slice);
        Box::new(found.iter().map(|index| &self.series[*index]))
    }
}

fn metric(selector: &Selector) -> Option<&str> {
    selector.metric.as_deref().or_else(|| {
        let is_name =
            |matcher: &&Matcher| matcher.label == METRIC && matcher.comparison == Comparison::Equal;
        selector.matchers.iter().find(is_name).map(|matcher| matcher.value.as_str())
    })
}

/// Both formats that write seconds may write fractions of them.
#[expect(clippy::cast_possible_truncation, reason = "larger numbers are refused before")]
fn from_seconds(seconds: f64) -> Option<i64> {
    /// Where milliseconds are no longer exact: the year 285,000.
    const MOST: f64 = 9e12;
    (seconds.abs() <= MOST).then(|| (seconds * 1000.0).round() as i64)
}
