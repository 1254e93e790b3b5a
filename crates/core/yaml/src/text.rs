//! From bytes to text: byte order marks, UTF-8, UTF-16, and the characters that YAML allows.

use std::borrow::Cow;

use crate::error::{YamlError, YamlProblem};

/// The text of a document up to the first byte that cannot be decoded.
pub(crate) struct Text<'a> {
    pub(crate) content: Cow<'a, str>,
    /// Whether a byte order mark preceded the text.
    pub(crate) byte_order_mark: bool,
    /// The reason why the text ends early. The decoder reads its input lazily, so an invalid byte
    /// behind the end of a document is never seen.
    pub(crate) broken: Option<YamlProblem>,
}

const UTF8_MARK: &[u8] = b"\xEF\xBB\xBF";
const UTF16_LITTLE_MARK: &[u8] = b"\xFF\xFE";
const UTF16_BIG_MARK: &[u8] = b"\xFE\xFF";

pub(crate) fn decode(bytes: &[u8]) -> Text<'_> {
    if let Some(rest) = bytes.strip_prefix(UTF16_LITTLE_MARK) {
        return utf16(rest, u16::from_le_bytes);
    }
    if let Some(rest) = bytes.strip_prefix(UTF16_BIG_MARK) {
        return utf16(rest, u16::from_be_bytes);
    }
    let marked = bytes.strip_prefix(UTF8_MARK);
    let (valid, broken) = match std::str::from_utf8(marked.unwrap_or(bytes)) {
        Ok(text) => (text, None),
        Err(error) => {
            let valid = &marked.unwrap_or(bytes)[..error.valid_up_to()];
            let valid = std::str::from_utf8(valid).unwrap_or_default();
            (valid, Some(YamlProblem::Encoding("UTF-8")))
        }
    };
    let (text, broken) = match forbidden(valid) {
        Some((at, character)) => (&valid[..at], Some(not_allowed(character))),
        None => (valid, broken),
    };
    Text { content: Cow::Borrowed(text), byte_order_mark: marked.is_some(), broken }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Text<'static> {
    let pairs = bytes.chunks_exact(2);
    let is_odd = !pairs.remainder().is_empty();
    let units = pairs.map(|pair| unit([pair[0], pair[1]]));
    let mut text = String::with_capacity(bytes.len() / 2);
    let mut broken = is_odd.then_some(YamlProblem::Encoding("UTF-16"));
    for decoded in char::decode_utf16(units) {
        match decoded {
            Ok(character) if is_allowed(character) => text.push(character),
            Ok(character) => {
                broken = Some(not_allowed(character));
                break;
            }
            Err(_) => {
                broken = Some(YamlProblem::Encoding("UTF-16"));
                break;
            }
        }
    }
    Text { content: Cow::Owned(text), byte_order_mark: true, broken }
}

fn not_allowed(character: char) -> YamlProblem {
    YamlProblem::ControlCharacter(u32::from(character))
}

/// The first character that YAML 1.1 does not allow.
fn forbidden(text: &str) -> Option<(usize, char)> {
    // Nearly every manifest is printable ASCII, and this loop is vectorized.
    let is_unusual = |byte: u8| !matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r');
    if !text.bytes().fold(false, |unusual, byte| unusual | is_unusual(byte)) {
        return None;
    }
    text.char_indices().find(|(_, character)| !is_allowed(*character))
}

fn is_allowed(character: char) -> bool {
    matches!(character,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{A0}'..='\u{FFFD}' | '\u{10000}'..)
}

/// An error at the end of the text.
pub(crate) fn error_at_end(text: &str, problem: YamlProblem) -> YamlError {
    let line = text.matches('\n').count() as u64;
    let last = text.rsplit('\n').next().unwrap_or_default();
    YamlError { line: line + 1, column: last.chars().count() as u64 + 1, problem }
}
