//! Construction of snapshots with limits.

use std::collections::HashMap;
use std::sync::Arc;

use crate::labels::{LabelSet, METRIC, is_label_name, is_metric_name};

use super::error::{SnapshotError, SnapshotProblem};
use super::{Sample, Series, Snapshot, SnapshotLimits};

/// Collects samples in any order.
#[derive(Debug)]
pub struct SnapshotBuilder {
    limits: SnapshotLimits,
    samples: usize,
    series: HashMap<LabelSet, Vec<ReadSample>>,
}

/// A sample and its line.
#[derive(Debug)]
struct ReadSample {
    sample: Sample,
    line: Option<usize>,
}

impl SnapshotBuilder {
    /// A builder without samples.
    pub fn new(limits: SnapshotLimits) -> Self {
        Self { limits, samples: 0, series: HashMap::new() }
    }

    /// Adds a sample to a series. The value [`STALE`](super::STALE) ends the series.
    pub fn add(&mut self, series: LabelSet, sample: Sample) -> Result<(), SnapshotProblem> {
        self.read(series, sample, None)
    }

    pub(super) fn read(
        &mut self,
        series: LabelSet,
        sample: Sample,
        line: Option<usize>,
    ) -> Result<(), SnapshotProblem> {
        self.samples += 1;
        if self.samples > self.limits.samples {
            return Err(SnapshotProblem::TooManySamples(self.limits.samples));
        }
        let count = self.series.len();
        let samples = self.series.entry(series).or_default();
        if samples.is_empty() && count == self.limits.series {
            return Err(SnapshotProblem::TooManySeries(self.limits.series));
        }
        samples.push(ReadSample { sample, line });
        Ok(())
    }

    pub(super) fn max_labels(&self) -> usize {
        self.limits.labels
    }

    /// Validates the labels of a series.
    pub(super) fn labels<'a>(
        &self,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<LabelSet, SnapshotProblem> {
        let mut checked: Vec<(Arc<str>, Arc<str>)> = Vec::new();
        for (label, value) in labels {
            self.check(label, value)?;
            if checked.iter().any(|(earlier, _)| **earlier == *label) {
                return Err(SnapshotProblem::LabelTwice(label.to_owned()));
            }
            checked.push((label.into(), value.into()));
            if checked.len() > self.limits.labels {
                let (count, limit) = (checked.len(), self.limits.labels);
                return Err(SnapshotProblem::TooManyLabels { count, limit });
            }
        }
        Ok(checked.into_iter().collect())
    }

    fn check(&self, label: &str, value: &str) -> Result<(), SnapshotProblem> {
        let limit = self.limits.label_bytes;
        if label.len() > limit || value.len() > limit {
            return Err(SnapshotProblem::LongLabel { label: beginning(label), limit });
        }
        if !is_label_name(label) {
            return Err(expected("a label name", label));
        }
        if label == METRIC && !is_metric_name(value) {
            return Err(expected("a metric name", value));
        }
        Ok(())
    }

    /// Sorts series and samples.
    pub fn build(self) -> Result<Snapshot, SnapshotError> {
        let mut series = Vec::with_capacity(self.series.len());
        for (labels, mut read) in self.series {
            read.sort_by_key(|read| read.sample.at);
            if let Some([_, second]) =
                read.array_windows().find(|[first, second]| first.sample.at == second.sample.at)
            {
                let problem = SnapshotProblem::TwoValues { series: labels, at: second.sample.at };
                return Err(SnapshotError { line: second.line, problem });
            }
            let samples = read.into_iter().map(|read| read.sample).collect();
            series.push(Series { labels, samples });
        }
        series.sort_by(|left, right| left.labels.cmp(&right.labels));
        Ok(Snapshot::new(series))
    }
}

pub(super) fn expected(expected: &'static str, found: &str) -> SnapshotProblem {
    SnapshotProblem::Expected { expected, found: beginning(found) }
}

/// The first characters of a text, for messages.
fn beginning(text: &str) -> String {
    text.chars().take(40).collect()
}
