//! One sample in the text formats: `name{label="value"} 1 1700000000`.

use super::builder::expected;
use super::error::SnapshotProblem;

/// What a line says. The time is as it is written: the formats mean different things by it.
#[derive(Debug, PartialEq)]
pub(super) struct Line<'a> {
    pub(super) metric: &'a str,
    pub(super) labels: Vec<(&'a str, String)>,
    pub(super) value: f64,
    pub(super) time: Option<&'a str>,
}

/// Reads a line with a sample. An example of a request may follow it after a `#`.
pub(super) fn read(line: &str, most_labels: usize) -> Result<Line<'_>, SnapshotProblem> {
    let end = line.find(|character: char| character == '{' || character.is_ascii_whitespace());
    let (metric, rest) = line.split_at(end.unwrap_or(line.len()));
    if metric.is_empty() {
        return Err(expected("a metric name", line));
    }
    let (labels, rest) = match rest.trim_start().strip_prefix('{') {
        Some(rest) => read_labels(rest, most_labels)?,
        None => (Vec::new(), rest),
    };
    let mut words = rest.split_ascii_whitespace().take_while(|word| !word.starts_with('#'));
    let value = words.next().unwrap_or_default();
    let value = value.parse().map_err(|_| expected("a number", value))?;
    let time = words.next();
    match words.next() {
        Some(more) => Err(expected("the end of the line", more)),
        None => Ok(Line { metric, labels, value, time }),
    }
}

type Labels<'a> = (Vec<(&'a str, String)>, &'a str);

/// Labels up to the closing brace, and what follows it.
fn read_labels(mut rest: &str, most: usize) -> Result<Labels<'_>, SnapshotProblem> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('}') {
            return Ok((labels, after));
        }
        if labels.len() > most {
            return Err(SnapshotProblem::TooManyLabels { count: labels.len(), most });
        }
        let (label, after) = rest.split_once('=').ok_or_else(|| expected("a label", rest))?;
        let quoted = after.trim_start();
        let quoted = quoted.strip_prefix('"').ok_or_else(|| expected("a quoted string", quoted))?;
        let (value, after) = read_text(quoted)?;
        labels.push((label.trim(), value));
        rest = after.trim_start();
        rest = match rest.strip_prefix(',') {
            Some(after) => after,
            None if rest.starts_with('}') => rest,
            None => return Err(expected("a comma or }", rest)),
        };
    }
}

/// A text up to its closing quotation mark, and what follows it. Only three characters are
/// escaped; any other backslash is one.
fn read_text(quoted: &str) -> Result<(String, &str), SnapshotProblem> {
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
