//! Parser for untrusted JSON, with limits that are verified before memory is allocated.

use serde_json::Value;
use serde_json::error::Category;

/// Maximum nesting. Documents have four levels and Job manifests fifteen.
const MAX_DEPTH: usize = 64;

/// Maximum number of values: ten times a thousand findings, a few megabytes in memory.
const MAX_VALUES: usize = 100_000;

/// Why a text is not parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// The text is not UTF-8.
    #[error("invalid UTF-8 at byte {0}")]
    NotUtf8(usize),
    /// The nesting exceeds the limit.
    #[error("nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// The text has too many values.
    #[error("more than {MAX_VALUES} values")]
    TooManyValues,
    /// The text ends too early.
    #[error("unexpected end at line {line}, column {column}")]
    UnexpectedEnd {
        /// Line of the end.
        line: usize,
        /// Column of the end.
        column: usize,
    },
    /// The text is not JSON.
    #[error("{0}")]
    NotJson(String),
}

/// Parses a text within the limits.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    let text =
        std::str::from_utf8(bytes).map_err(|error| JsonError::NotUtf8(error.valid_up_to()))?;
    verify_limits(text)?;
    serde_json::from_str(text).map_err(|error| match error.classify() {
        Category::Eof => JsonError::UnexpectedEnd { line: error.line(), column: error.column() },
        _ => JsonError::NotJson(error.to_string()),
    })
}

/// Verifies the limits. Accepts invalid JSON, which the parser rejects.
fn verify_limits(text: &str) -> Result<(), JsonError> {
    let (mut position, mut values) = (JsonPosition::default(), 0);
    for byte in text.bytes() {
        values += usize::from(byte == b',' && !position.in_text);
        position.step(byte);
        if position.depth > MAX_DEPTH {
            return Err(JsonError::TooDeep);
        }
        if values > MAX_VALUES {
            return Err(JsonError::TooManyValues);
        }
    }
    Ok(())
}

/// Length of the object at the start of a text, if it is complete. The nesting limit bounds the
/// work: each byte is part of at most that many objects.
pub(crate) fn object_length(text: &str) -> Option<usize> {
    let mut position = JsonPosition::default();
    for (at, byte) in text.bytes().enumerate() {
        if position.depth > MAX_DEPTH || position.in_text && byte == b'\n' {
            return None;
        }
        position.step(byte);
        if position.depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// Position in a JSON text.
#[derive(Default)]
struct JsonPosition {
    depth: usize,
    in_text: bool,
    escaped: bool,
}

impl JsonPosition {
    fn step(&mut self, byte: u8) {
        if self.in_text {
            self.in_text = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            return;
        }
        match byte {
            b'"' => self.in_text = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parse_beyond_limits_fails() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(nested(MAX_DEPTH).as_bytes()).is_ok());
        assert_eq!(parse(nested(MAX_DEPTH + 1).as_bytes()), Err(JsonError::TooDeep));
        assert_eq!(parse("[".repeat(1 << 20).as_bytes()), Err(JsonError::TooDeep));
        let rich = format!("[{}0]", "0,".repeat(MAX_VALUES + 1));
        assert_eq!(parse(rich.as_bytes()), Err(JsonError::TooManyValues));
        let text = format!(r#""\"{}""#, "[,".repeat(MAX_VALUES));
        assert!(parse(text.as_bytes()).is_ok(), "brackets in a text do not count");
    }

    #[test]
    fn parse_error_has_position() {
        let cases: [(&[u8], &str); 4] = [
            (b"{\"a\": ", "unexpected end at line 1, column 6"),
            (b"{\n\"a\" 1}", "expected `:` at line 2 column 5"),
            (b"{\"a\": \"\xff\"}", "invalid UTF-8 at byte 7"),
            (b"", "unexpected end at line 1, column 0"),
        ];
        for (bytes, message) in cases {
            assert_eq!(parse(bytes).unwrap_err().to_string(), message);
        }
    }

    proptest! {
        #[test]
        fn parse_any_bytes_does_not_panic(bytes: Vec<u8>) {
            let _ = parse(&bytes);
        }
    }
}
