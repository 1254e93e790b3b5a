//! Files with one object or several documents, JSON or YAML.

use std::borrow::Cow;
use std::collections::VecDeque;

use serde_json::Value;

use crate::error::{YamlError, YamlProblem};
use crate::paths::{KeyLine, Paths};
use crate::{Decoded, Oddity, decode, decode_with, json};

/// How far the decoder looks for the brace that makes a file JSON.
const JSON_LOOKAHEAD: usize = 1024;

/// The beginning of a line that separates documents.
const SEPARATOR: &[u8] = b"---";

/// A document of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The value; `null` for an empty document.
    pub value: Value,
    /// The text of a JSON document as it is written. `None` for YAML.
    pub json: Option<String>,
    /// The line where the content begins, counted from one.
    pub line: u64,
    /// Oddities by line.
    pub oddities: Vec<Oddity>,
}

/// The object of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct DecodedObject {
    /// The value; `null` for an empty file.
    pub value: Value,
    /// The line where the content begins, counted from one.
    pub line: u64,
    /// Oddities by line.
    pub oddities: Vec<Oddity>,
    /// The keys in the order of the text, without those that aliases repeat.
    pub keys: Vec<KeyLine>,
}

/// Decodes a file with one object, as `yaml.Unmarshal` does: JSON, or the first document of YAML. A
/// comment in front of `---` is no document.
pub fn object(bytes: &[u8]) -> Result<DecodedObject, YamlError> {
    if looks_like_json(bytes) {
        let text = json::repaired(bytes);
        let start = text.len() - text.trim_ascii_start().len();
        if let Ok((value, json, length)) = json_value(&text[start..])
            && text[start + length..].trim_ascii().is_empty()
        {
            let line = count_lines(&text[..start]) + 1;
            let (oddities, Paths { keys, .. }) = json::scan(&json, line);
            return Ok(DecodedObject { value, line, oddities, keys });
        }
    }
    let (Decoded { value, line, oddities }, Paths { keys, .. }) = decode_with(bytes, true)?;
    Ok(DecodedObject { value, line, oddities, keys })
}

/// The documents of a file, including empty ones. An error concerns one document: the next one
/// follows it.
#[derive(Debug)]
pub struct Documents<'a> {
    json: VecDeque<Result<Document, YamlError>>,
    /// The part that is YAML. All lines end with `\n`.
    yaml: Cow<'a, [u8]>,
    at: usize,
    /// The number of lines in front of the YAML that is left.
    lines: u64,
}

/// Decodes the documents of a file, one after the other.
///
/// A file that begins with a brace is a stream of JSON values. If the first or second value is not
/// JSON, the rest is YAML. In YAML, every line that begins with `---` separates documents.
pub fn documents(bytes: &[u8]) -> Documents<'_> {
    let all_yaml = || Documents {
        json: VecDeque::new(),
        yaml: with_unix_lines(Cow::Borrowed(bytes)),
        at: 0,
        lines: 0,
    };
    if !looks_like_json(bytes) {
        return all_yaml();
    }
    let text = json::repaired(bytes);
    let mut json = VecDeque::new();
    let left = json_values(&text, &mut json);
    if json.is_empty() {
        return all_yaml();
    }
    let taken = text.len() - left;
    let lines = count_lines(&text[..taken]);
    let rest = match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[taken..]),
        Cow::Owned(text) => Cow::Owned(text[taken..].to_vec()),
    };
    Documents { json, yaml: with_unix_lines(rest), at: 0, lines }
}

fn looks_like_json(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(JSON_LOOKAHEAD)];
    String::from_utf8_lossy(head).trim_start().starts_with('{')
}

fn count_lines(bytes: &[u8]) -> u64 {
    bytes.split(|byte| *byte == b'\n').count() as u64 - 1
}

/// Takes JSON values and returns how many bytes are left for the YAML decoder.
fn json_values(bytes: &[u8], documents: &mut VecDeque<Result<Document, YamlError>>) -> usize {
    let mut rest = bytes;
    let mut line = 1;
    loop {
        let start = rest.len() - rest.trim_ascii_start().len();
        line += count_lines(&rest[..start]);
        if start == rest.len() {
            return 0;
        }
        match json_value(&rest[start..]) {
            Ok((value, json, length)) => {
                let lines = count_lines(&rest[start..start + length]);
                rest = &rest[start + length..];
                let (oddities, _) = json::scan(&json, line);
                let json = Some(json);
                documents.push_back(Ok(Document { value, json, line, oddities }));
                line += lines;
            }
            // After two values there is no doubt that the file is JSON.
            Err(problem) if documents.len() > 1 => {
                documents.push_back(Err(YamlError { line, column: 1, problem }));
                return 0;
            }
            Err(_) => {
                // The rest of the line in front of the YAML belongs to the JSON.
                let blanks = &rest[..start];
                let end = blanks.iter().position(|byte| *byte == b'\n').map_or(start, |at| at + 1);
                return rest.len() - end;
            }
        }
    }
}

/// The first value, its text and the length of that in the input.
fn json_value(bytes: &[u8]) -> Result<(Value, String, usize), YamlProblem> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
    match values.next() {
        Some(Ok(value)) => {
            let length = values.byte_offset();
            let json = String::from_utf8_lossy(&bytes[..length]).into_owned();
            Ok((value, json, length))
        }
        Some(Err(error)) => Err(YamlProblem::Json(error.to_string())),
        None => Err(YamlProblem::Json("no value".to_owned())),
    }
}

/// Replaces `\r\n` by `\n`, and ends the last line.
fn with_unix_lines(bytes: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let has_end = bytes.last().is_none_or(|last| *last == b'\n');
    let has_return = bytes.contains(&b'\r') && bytes.windows(2).any(|pair| pair == b"\r\n");
    if has_end && !has_return {
        return bytes;
    }
    let mut lines = Vec::with_capacity(bytes.len() + 1);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let content = line.strip_suffix(b"\n");
        let content =
            content.map_or(line, |content| content.strip_suffix(b"\r").unwrap_or(content));
        lines.extend_from_slice(content);
        lines.push(b'\n');
    }
    Cow::Owned(lines)
}

/// The length of the next document, and of the separator behind it. A separator in front of a
/// document is part of it, and so is one with a problem.
fn next_separator(text: &[u8]) -> (usize, usize) {
    let mut at = 0;
    while let Some(end) = text[at..].iter().position(|byte| *byte == b'\n') {
        at += end + 1;
        if text[at..].starts_with(SEPARATOR) {
            let end = text[at..].iter().position(|byte| *byte == b'\n');
            let length = end.map_or(text.len() - at, |end| end + 1);
            let has_problem = separator_problem(&text[at..at + length]).is_some();
            return (at, if has_problem { 0 } else { length });
        }
    }
    (text.len(), 0)
}

/// The problem with the separator at the beginning of a text, if there is one.
fn separator_problem(text: &[u8]) -> Option<YamlProblem> {
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let rest = String::from_utf8_lossy(line.strip_prefix(SEPARATOR)?);
    let rest = rest.trim();
    let is_allowed = rest.is_empty() || rest.starts_with('#');
    (!is_allowed).then(|| YamlProblem::Separator(rest.chars().take(40).collect()))
}

impl Iterator for Documents<'_> {
    type Item = Result<Document, YamlError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(document) = self.json.pop_front() {
            return Some(document);
        }
        let rest = &self.yaml[self.at..];
        if rest.is_empty() {
            return None;
        }
        let (length, separator) = next_separator(rest);
        let chunk = &rest[..length];
        let lines = self.lines;
        let read = match separator_problem(chunk) {
            Some(problem) => Err(YamlError { line: 1, column: 4, problem }),
            None => decode(chunk),
        };
        self.at += length + separator;
        self.lines += count_lines(chunk) + u64::from(separator > 0);
        Some(match read {
            Ok(Decoded { value, line, mut oddities }) => {
                for oddity in &mut oddities {
                    oddity.move_down(lines);
                }
                Ok(Document { value, json: None, line: line + lines, oddities })
            }
            Err(mut error) => {
                error.line += lines;
                Err(error)
            }
        })
    }
}
