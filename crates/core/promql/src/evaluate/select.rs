//! Selectors: reading samples of the snapshot.

use std::time::Duration;

use crate::expr::{AtTime, Expr, ExprType, MatchType, Selector, TimeModifiers};
use crate::labels::METRIC;
use crate::snapshot::{Sample, Series, is_stale};

use super::Evaluation;
use super::error::EvaluationError;
use super::value::VectorSample;

/// Default lookback delta of Prometheus.
const LOOKBACK_DELTA: Duration = Duration::from_mins(5);

/// The samples in a range of time.
pub(super) struct RangeSamples {
    /// Start in milliseconds.
    pub(super) from: i64,
    /// End in milliseconds.
    pub(super) to: i64,
    /// Series with samples in the range.
    pub(super) series: Vec<Series>,
}

impl<'a> Evaluation<'a> {
    /// The latest values of an instant vector selector.
    pub(super) fn latest(
        &mut self,
        selector: &Selector,
    ) -> Result<Vec<VectorSample>, EvaluationError> {
        let found = self.latest_samples(selector)?;
        let element = |(series, sample): (&Series, Sample)| VectorSample {
            labels: series.labels.clone(),
            value: sample.value,
        };
        Ok(found.into_iter().map(element).collect())
    }

    /// The latest samples of an instant vector selector, without stale series.
    pub(super) fn latest_samples(
        &mut self,
        selector: &Selector,
    ) -> Result<Vec<(&'a Series, Sample)>, EvaluationError> {
        let to = self.time(&selector.when);
        let from = to.saturating_sub(milliseconds(LOOKBACK_DELTA));
        let selected = self.selected(selector)?;
        self.budget.read(selected.len())?;
        let latest = |series: &'a Series| {
            let sample = within(&series.samples, from, to).last()?;
            (!is_stale(sample.value)).then_some((series, *sample))
        };
        Ok(selected.into_iter().filter_map(latest).collect())
    }

    /// The samples of a range vector selector. Staleness markers are not samples.
    pub(super) fn windows(&mut self, expr: &Expr) -> Result<RangeSamples, EvaluationError> {
        let (selector, range) = ranged(expr)?;
        let to = self.time(&selector.when);
        let from = to.saturating_sub(milliseconds(range));
        let mut series = Vec::new();
        for found in self.selected(selector)? {
            let samples = within(&found.samples, from, to);
            self.budget.read(samples.len())?;
            let samples: Vec<Sample> =
                samples.iter().filter(|sample| !is_stale(sample.value)).copied().collect();
            if !samples.is_empty() {
                series.push(Series { labels: found.labels.clone(), samples });
            }
        }
        Ok(RangeSamples { from, to, series })
    }

    fn selected(&mut self, selector: &Selector) -> Result<Vec<&'a Series>, EvaluationError> {
        let snapshot = self.snapshot;
        let candidates = snapshot.candidates(selector);
        self.budget.examine(candidates.len().saturating_mul(selector.matchers.len().max(1)))?;
        let mut selected = Vec::new();
        for series in candidates {
            if self.matches(selector, series)? {
                selected.push(series);
            }
        }
        Ok(selected)
    }

    fn matches(&mut self, selector: &Selector, series: &Series) -> Result<bool, EvaluationError> {
        let labels = &series.labels;
        if selector.metric.as_deref().is_some_and(|metric| metric != labels.get(METRIC)) {
            return Ok(false);
        }
        for matcher in &selector.matchers {
            let value = labels.get(&matcher.label);
            if matches!(matcher.comparison, MatchType::Regexp | MatchType::NotRegexp) {
                self.budget.text(value.len())?;
            }
            if !matcher.matches(value) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn time(&self, when: &TimeModifiers) -> i64 {
        let at = match when.at {
            // Instant queries start and end at the same time.
            None | Some(AtTime::Start | AtTime::End) => self.now,
            Some(AtTime::Milliseconds(at)) => at,
        };
        at.saturating_sub(milliseconds(when.earlier)).saturating_add(milliseconds(when.later))
    }
}

fn ranged(expr: &Expr) -> Result<(&Selector, Duration), EvaluationError> {
    match expr {
        Expr::Selector(selector @ Selector { range: Some(range), .. }) => Ok((selector, *range)),
        Expr::Subquery(_) => Err(EvaluationError::unsupported("a subquery")),
        other => {
            Err(EvaluationError::Mismatch { expected: ExprType::Range, found: other.result() })
        }
    }
}

/// The samples between two times, both inclusive.
fn within(samples: &[Sample], from: i64, to: i64) -> &[Sample] {
    let begin = samples.partition_point(|sample| sample.at < from);
    let end = samples.partition_point(|sample| sample.at <= to);
    samples.get(begin..end).unwrap_or_default()
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
