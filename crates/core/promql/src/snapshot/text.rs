//! The text formats: what programs expose, and what is loaded into Prometheus.

use jiff::Timestamp;

use crate::labels::METRIC;

use super::Sample;
use super::builder::{Builder, expected};
use super::error::{SnapshotError, SnapshotProblem};
use super::line::{self, Line};

/// What ends a text of `OpenMetrics`, and nothing else.
const END: &str = "# EOF";

/// The two formats write times differently.
#[derive(Clone, Copy)]
enum Format {
    Prometheus,
    OpenMetrics,
}

/// Reads samples; those without a time are taken `at` this one.
pub(super) fn read(text: &str, at: Timestamp, builder: &mut Builder) -> Result<(), SnapshotError> {
    let ended = text.lines().rev().map(str::trim).find(|line| !line.is_empty()) == Some(END);
    let format = if ended { Format::OpenMetrics } else { Format::Prometheus };
    let mut lines = text.lines().map(str::trim).enumerate();
    for (index, line) in lines.by_ref() {
        if line == END {
            break;
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        add(line, index + 1, format, at, builder)
            .map_err(|problem| SnapshotError::at(index + 1, problem))?;
    }
    match lines.find(|(_, line)| !line.is_empty()) {
        Some((index, _)) => Err(SnapshotError::at(index + 1, SnapshotProblem::AfterEnd)),
        None => Ok(()),
    }
}

fn add(
    line: &str,
    number: usize,
    format: Format,
    at: Timestamp,
    builder: &mut Builder,
) -> Result<(), SnapshotProblem> {
    let Line { metric, labels, value, time } = line::read(line, builder.most_labels())?;
    let labels = labels.iter().map(|(label, value)| (*label, value.as_str()));
    let labels = builder.labels([(METRIC, metric)].into_iter().chain(labels))?;
    let at = time.map_or(Ok(at.as_millisecond()), |time| milliseconds(time, format))?;
    builder.read(labels, Sample { at, value }, Some(number))
}

fn milliseconds(time: &str, format: Format) -> Result<i64, SnapshotProblem> {
    match format {
        Format::Prometheus => {
            time.parse().map_err(|_| expected("a time in whole milliseconds", time))
        }
        Format::OpenMetrics => time
            .parse()
            .ok()
            .and_then(super::from_seconds)
            .ok_or_else(|| expected("a time in seconds", time)),
    }
}
