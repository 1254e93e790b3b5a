//! Text formats of Prometheus and OpenMetrics.

use jiff::Timestamp;

use super::Sample;
use super::builder::{SnapshotBuilder, expected};
use super::error::{SnapshotError, SnapshotProblem};
use crate::labels::METRIC;

/// A sample line `name{label="value"} 1 1700000000`. The time is not parsed, because the formats
/// use different units.
#[derive(Debug, PartialEq)]
pub(super) struct SampleLine<'a> {
    pub(super) metric: &'a str,
    pub(super) labels: Vec<(&'a str, String)>,
    pub(super) value: f64,
    pub(super) time: Option<&'a str>,
}

/// Parses a sample line, which may end with an exemplar after `#`.
pub(super) fn parse_line(line: &str, max_labels: usize) -> Result<SampleLine<'_>, SnapshotProblem> {
    let end = line.find(|character: char| character == '{' || character.is_ascii_whitespace());
    let (metric, rest) = line.split_at(end.unwrap_or(line.len()));
    if metric.is_empty() {
        return Err(expected("a metric name", line));
    }
    let (labels, rest) = match rest.trim_start().strip_prefix('{') {
        Some(rest) => parse_labels(rest, max_labels)?,
        None => (Vec::new(), rest),
    };
    let mut words = rest.split_ascii_whitespace().take_while(|word| !word.starts_with('#'));
    let value = words.next().unwrap_or_default();
    let value = value.parse().map_err(|_| expected("a number", value))?;
    let time = words.next();
    match words.next() {
        Some(more) => Err(expected("the end of the line", more)),
        None => Ok(SampleLine { metric, labels, value, time }),
    }
}

type ParsedLabels<'a> = (Vec<(&'a str, String)>, &'a str);

/// Labels up to the closing brace, and the rest of the line.
fn parse_labels(mut rest: &str, limit: usize) -> Result<ParsedLabels<'_>, SnapshotProblem> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('}') {
            return Ok((labels, after));
        }
        if labels.len() > limit {
            return Err(SnapshotProblem::TooManyLabels { count: labels.len(), limit });
        }
        let (label, after) = rest.split_once('=').ok_or_else(|| expected("a label", rest))?;
        let quoted = after.trim_start();
        let quoted = quoted.strip_prefix('"').ok_or_else(|| expected("a quoted string", quoted))?;
        let (value, after) = parse_string(quoted)?;
        labels.push((label.trim(), value));
        rest = after.trim_start();
        rest = match rest.strip_prefix(',') {
            Some(after) => after,
            None if rest.starts_with('}') => rest,
            None => return Err(expected("a comma or }", rest)),
        };
    }
}

/// A string up to its closing quotation mark, and the rest of the line. `\n`, `\"` and `\\` are
/// escapes; other backslashes are literal.
fn parse_string(quoted: &str) -> Result<(String, &str), SnapshotProblem> {
    let mut text = String::new();
    let mut characters = quoted.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return Ok((text, &quoted[index + 1..])),
            '\\' => match characters.next().map(|(_, escaped)| escaped) {
                Some('n') => text.push('\n'),
                Some(escaped @ ('"' | '\\')) => text.push(escaped),
                Some(other) => text.extend(['\\', other]),
                None => break,
            },
            other => text.push(other),
        }
    }
    Err(expected("a string that ends with \"", quoted))
}

/// End of an OpenMetrics text.
const END: &str = "# EOF";

/// The formats have different time units.
#[derive(Clone, Copy)]
enum Format {
    Prometheus,
    OpenMetrics,
}

/// Parses samples. Those without a time get the time `at`.
pub(super) fn read(
    text: &str,
    at: Timestamp,
    builder: &mut SnapshotBuilder,
) -> Result<(), SnapshotError> {
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
    builder: &mut SnapshotBuilder,
) -> Result<(), SnapshotProblem> {
    let SampleLine { metric, labels, value, time } = parse_line(line, builder.max_labels())?;
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
