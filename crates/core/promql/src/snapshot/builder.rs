//! Putting a snapshot together, within limits.

use std::collections::HashMap;
use std::sync::Arc;

use crate::labels::{LabelSet, METRIC, is_label_name, is_metric_name};

use super::error::{SnapshotError, SnapshotProblem};
use super::{Limits, Sample, Series, Snapshot};

/// Collects samples in any order.
#[derive(Debug)]
pub struct Builder {
    limits: Limits,
    samples: usize,
    series: HashMap<LabelSet, Vec<Read>>,
}

/// A sample, and the line that has it.
#[derive(Debug)]
struct Read {
    sample: Sample,
    line: Option<usize>,
}

impl Builder {
    /// Nothing yet.
    pub fn new(limits: Limits) -> Self {
        Self { limits, samples: 0, series: HashMap::new() }
    }

    /// Adds a sample of a series. [`STALE`](super::STALE) as a value ends the series.
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
            return Err(SnapshotProblem::TooManySamples { most: self.limits.samples });
        }
        let count = self.series.len();
        let samples = self.series.entry(series).or_default();
        if samples.is_empty() && count == self.limits.series {
            return Err(SnapshotProblem::TooManySeries { most: self.limits.series });
        }
        samples.push(Read { sample, line });
        Ok(())
    }

    pub(super) fn most_labels(&self) -> usize {
        self.limits.labels
    }

    /// The labels of a series, if they can be some.
    pub(super) fn labels<'a>(
        &self,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<LabelSet, SnapshotProblem> {
        let mut checked: Vec<(Arc<str>, Arc<str>)> = Vec::new();
        for (label, value) in labels {
            self.check(label, value)?;
            if checked.iter().any(|(earlier, _)| **earlier == *label) {
                return Err(SnapshotProblem::LabelTwice { label: label.to_owned() });
            }
            checked.push((label.into(), value.into()));
            if checked.len() > self.limits.labels {
                let (count, most) = (checked.len(), self.limits.labels);
                return Err(SnapshotProblem::TooManyLabels { count, most });
            }
        }
        Ok(checked.into_iter().collect())
    }

    fn check(&self, label: &str, value: &str) -> Result<(), SnapshotProblem> {
        let most = self.limits.label_bytes;
        if label.len() > most || value.len() > most {
            return Err(SnapshotProblem::LongLabel { label: beginning(label), most });
        }
        if !is_label_name(label) {
            return Err(expected("a label name", label));
        }
        if label == METRIC && !is_metric_name(value) {
            return Err(expected("a metric name", value));
        }
        Ok(())
    }

    /// The samples by series and in order.
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

/// Enough to recognise it.
fn beginning(text: &str) -> String {
    text.chars().take(40).collect()
}
