//! JSON from outside: how deep and how rich it may be, before anything is made of it.

use serde_json::Value;
use serde_json::error::Category;

/// Documents nest four deep and Job manifests fifteen; beyond this it is an attack on the stack.
const MAX_DEPTH: usize = 64;

/// Ten times what a thousand findings take, and no more than a few megabytes once it is read.
const MAX_VALUES: usize = 100_000;

/// Why a text is no JSON that is read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// It is no text at all.
    #[error("invalid UTF-8 at byte {0}")]
    NotUtf8(usize),
    /// It is nested too deeply.
    #[error("nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// It consists of too much.
    #[error("more than {MAX_VALUES} values")]
    TooManyValues,
    /// It ends too early.
    #[error("unexpected end at line {line}, column {column}")]
    BrokenOff {
        /// Where: the line.
        line: usize,
        /// And the column.
        column: usize,
    },
    /// It is something else.
    #[error("{0}")]
    NotJson(String),
}

/// Reads what is not too deep and not too rich.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, Malformed> {
    let text =
        std::str::from_utf8(bytes).map_err(|error| Malformed::NotUtf8(error.valid_up_to()))?;
    measure(text)?;
    serde_json::from_str(text).map_err(|error| match error.classify() {
        Category::Eof => Malformed::BrokenOff { line: error.line(), column: error.column() },
        _ => Malformed::NotJson(error.to_string()),
    })
}

/// Looks for what would cost too much to be read. What is no JSON passes: the parser finds it.
fn measure(text: &str) -> Result<(), Malformed> {
    let (mut outline, mut values) = (Outline::default(), 0);
    for byte in text.bytes() {
        values += usize::from(byte == b',' && !outline.in_text);
        outline.step(byte);
        if outline.depth > MAX_DEPTH {
            return Err(Malformed::TooDeep);
        }
        if values > MAX_VALUES {
            return Err(Malformed::TooManyValues);
        }
    }
    Ok(())
}

/// How long the object is that a text begins with, if it comes to an end. The limit of its depth
/// also limits in how many objects a byte can be: looking for the ends of all objects of a text
/// takes as many steps as its length times that limit.
pub(crate) fn object_length(text: &str) -> Option<usize> {
    let mut outline = Outline::default();
    for (at, byte) in text.bytes().enumerate() {
        if outline.depth > MAX_DEPTH || outline.in_text && byte == b'\n' {
            return None;
        }
        outline.step(byte);
        if outline.depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// Where in a JSON text one is.
#[derive(Default)]
struct Outline {
    depth: usize,
    in_text: bool,
    escaped: bool,
}

impl Outline {
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
    fn what_costs_too_much_is_not_read() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(nested(MAX_DEPTH).as_bytes()).is_ok());
        assert_eq!(parse(nested(MAX_DEPTH + 1).as_bytes()), Err(Malformed::TooDeep));
        assert_eq!(parse("[".repeat(1 << 20).as_bytes()), Err(Malformed::TooDeep));
        let rich = format!("[{}0]", "0,".repeat(MAX_VALUES + 1));
        assert_eq!(parse(rich.as_bytes()), Err(Malformed::TooManyValues));
        let text = format!(r#""\"{}""#, "[,".repeat(MAX_VALUES));
        assert!(parse(text.as_bytes()).is_ok(), "brackets in a text do not count");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let cases: [(&[u8], &str); 4] = [
            (b"{\"a\": ", "unexpected end at line 1, column 6"),
            (b"{\n\"a\" 1}", "expected `:` at line 2 column 5"),
            (b"{\"a\": \"\xff\"}", "invalid UTF-8 at byte 7"),
            (b"", "unexpected end at line 1, column 0"),
        ];
        for (bytes, said) in cases {
            assert_eq!(parse(bytes).unwrap_err().to_string(), said);
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes: Vec<u8>) {
            let _ = parse(&bytes);
        }
    }
}
