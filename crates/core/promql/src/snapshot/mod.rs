//! Metrics snapshots: samples by series, for evaluation without a Prometheus server.
//!
//! [`Snapshot::parse`] reads exposition formats and responses of Prometheus.

mod builder;
mod error;
mod json;
mod text;

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

pub use builder::SnapshotBuilder;
pub use error::{SnapshotError, SnapshotProblem};

use crate::expr::{MatchType, Matcher, Selector};
use crate::labels::{LabelSet, METRIC};

/// Staleness marker of Prometheus: a special NaN that ends a series.
pub const STALE: f64 = f64::from_bits(0x7ff0_0000_0000_0002);

/// Whether a value is the staleness marker. Any other NaN is a value.
pub(crate) fn is_stale(value: f64) -> bool {
    value.to_bits() == STALE.to_bits()
}

/// A sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Unix time in milliseconds, the resolution of Prometheus.
    pub at: i64,
    /// The value.
    pub value: f64,
}

/// A series and its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Labels of the series.
    pub labels: LabelSet,
    /// Samples, sorted by time without duplicates.
    pub samples: Vec<Sample>,
}

/// Limits of a snapshot. The defaults are ten times what the queries of OpenShift's graph-data read
/// on a cluster of a thousand nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotLimits {
    /// Bytes of the text.
    pub bytes: usize,
    /// Series.
    pub series: usize,
    /// Samples of all series.
    pub samples: usize,
    /// Labels of one series.
    pub labels: usize,
    /// Bytes of a label name or value; regular expressions are applied to them.
    pub label_bytes: usize,
}

impl Default for SnapshotLimits {
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

/// Series, sorted by labels.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    series: Vec<Series>,
    by_metric: HashMap<Arc<str>, Vec<usize>>,
}

impl Snapshot {
    /// Parses the text format of Prometheus or OpenMetrics (which ends with `# EOF`), or a JSON
    /// response of Prometheus' API. Samples without a time get the time `at`.
    pub fn parse(
        text: &str,
        at: Timestamp,
        limits: &SnapshotLimits,
    ) -> Result<Self, SnapshotError> {
        if text.len() > limits.bytes {
            return Err(SnapshotProblem::TooLong { length: text.len(), limit: limits.bytes }.into());
        }
        let mut builder = SnapshotBuilder::new(limits.clone());
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

    /// The series, sorted by labels.
    pub fn series(&self) -> &[Series] {
        &self.series
    }

    /// Time of the latest sample, at which a stored snapshot is evaluated.
    pub fn latest(&self) -> Option<Timestamp> {
        let last = self.series.iter().filter_map(|series| series.samples.last());
        last.map(|sample| sample.at).max().and_then(|at| Timestamp::from_millisecond(at).ok())
    }

    /// The series that a selector may select, according to its metric name.
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
            |matcher: &&Matcher| matcher.label == METRIC && matcher.comparison == MatchType::Equal;
        selector.matchers.iter().find(is_name).map(|matcher| matcher.value.as_str())
    })
}

/// OpenMetrics and JSON have times in seconds with fractions.
#[expect(clippy::cast_possible_truncation, reason = "larger numbers are rejected earlier")]
fn from_seconds(seconds: f64) -> Option<i64> {
    /// Limit of exact milliseconds: the year 285,000.
    const MAX_SECONDS: f64 = 9e12;
    (seconds.abs() <= MAX_SECONDS).then(|| (seconds * 1000.0).round() as i64)
}
