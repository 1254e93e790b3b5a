//! JSON as Go reads and writes it: input that `serde_json` refuses, positions of keys, and encoding.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};

use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

use crate::oddity::{self, Oddity, OddityKind};
use crate::paths::Paths;

/// The JSON of a file with U+FFFD in place of invalid UTF-8 and of escaped surrogates without a
/// partner, which is what Go's decoder reads there.
pub(crate) fn repaired(bytes: &[u8]) -> Cow<'_, [u8]> {
    let text = match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(_) => Cow::Borrowed(bytes),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    };
    let has_surrogate = text.windows(3).any(|three| matches!(three, b"\\ud" | b"\\uD"));
    if has_surrogate { Cow::Owned(with_paired_surrogates(&text)) } else { text }
}

fn with_paired_surrogates(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let length = match (escaped_unit(rest), rest.get(6..).and_then(escaped_unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                out.extend_from_slice(b"\\ufffd");
                rest = &rest[6..];
                continue;
            }
            _ => rest.len().min(2),
        };
        out.extend_from_slice(&rest[..length]);
        rest = &rest[length..];
    }
    out.extend_from_slice(rest);
    out
}

/// The UTF-16 code unit of an escape at the beginning of a text.
fn escaped_unit(text: &[u8]) -> Option<u16> {
    let digits = std::str::from_utf8(text.strip_prefix(b"\\u")?.get(..4)?).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

/// A collection that is not closed yet.
enum Open {
    /// The lines of its keys, and whether a key comes next.
    Object { lines: HashMap<String, u64>, is_key_next: bool },
    /// The number of items in front.
    Array(usize),
}

/// The duplicate keys of a JSON text that `serde_json` has accepted, and the positions of all keys.
/// The text begins in a line.
pub(crate) fn scan(json: &str, mut line: u64) -> (Vec<Oddity>, Paths) {
    let (mut oddities, mut paths, mut open) = (Vec::new(), Paths::default(), Vec::<Open>::new());
    let bytes = json.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let mut end = at + 1;
        match byte {
            b'\n' => line += 1,
            b'{' => open.push(Open::Object { lines: HashMap::new(), is_key_next: true }),
            b'[' => {
                open.push(Open::Array(0));
                paths.enter_item(0);
            }
            b']' => {
                open.pop();
                paths.leave();
            }
            b'}' => {
                // An empty object has no value to leave.
                if let Some(Open::Object { is_key_next: false, .. }) = open.pop() {
                    paths.leave();
                }
            }
            b',' => {
                paths.leave();
                match open.last_mut() {
                    Some(Open::Object { is_key_next, .. }) => *is_key_next = true,
                    Some(Open::Array(index)) => {
                        *index += 1;
                        paths.enter_item(*index);
                    }
                    None => {}
                }
            }
            b'"' => {
                end = string_end(bytes, at);
                if let Some(Open::Object { lines, is_key_next }) = open.last_mut()
                    && *is_key_next
                {
                    *is_key_next = false;
                    let key: String = serde_json::from_str(&json[at..end]).unwrap_or_default();
                    paths.enter_key(&key, line);
                    if let Some(first_line) = lines.insert(key.clone(), line) {
                        let kind = OddityKind::DuplicateKey { key, first_line };
                        oddities.push(Oddity { line, kind });
                    }
                }
            }
            _ => {}
        }
        at = end;
    }
    (oddity::limited(oddities, 0), paths)
}

/// The end of the string that begins at a position.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        at += match byte {
            b'"' => return at + 1,
            b'\\' => 2,
            _ => 1,
        };
    }
    bytes.len()
}

/// Encodes a value as Go's `json.Marshal` does: compact, with sorted keys and with the characters
/// escaped that have a meaning in HTML. Version hashes are computed over these bytes.
pub fn to_json(value: &Value) -> String {
    let mut out = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut out, GoFormatter);
    value.serialize(&mut serializer).expect("a value serializes to JSON");
    String::from_utf8(out).expect("JSON is text")
}

struct GoFormatter;

impl Formatter for GoFormatter {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        let size = value.abs();
        if size == 0.0 || (1e-6..1e21).contains(&size) {
            write!(writer, "{value}")
        } else if size < 1.0 {
            write!(writer, "{value:e}")
        } else {
            writer.write_all(format!("{value:e}").replace('e', "e+").as_bytes())
        }
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let special = ['<', '>', '&', '\u{2028}', '\u{2029}'];
        for part in fragment.split_inclusive(special) {
            let escaped = part.chars().next_back().filter(|last| special.contains(last));
            let plain = part.strip_suffix(special).unwrap_or(part);
            CompactFormatter.write_string_fragment(writer, plain)?;
            if let Some(letter) = escaped {
                write!(writer, "\\u{:04x}", u32::from(letter))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn to_json_matches_go_byte_for_byte() {
        for (value, written) in [
            (json!({"b": [1, -2, true, null], "a": {}}), r#"{"a":{},"b":[1,-2,true,null]}"#),
            (json!("if a < b && b > c"), r#""if a \u003c b \u0026\u0026 b \u003e c""#),
            (json!("\u{2028}ü\u{2029}\n\t\"\\\u{1}"), r#""\u2028ü\u2029\n\t\"\\\u0001""#),
            (json!([1.0, -0.5, 0.0, 1e20]), "[1,-0.5,0,100000000000000000000]"),
            (json!([1e21, 1.5e300, 0.000_001, 1e-7]), "[1e+21,1.5e+300,0.000001,1e-7]"),
        ] {
            assert_eq!(to_json(&value), written);
        }
    }
}
