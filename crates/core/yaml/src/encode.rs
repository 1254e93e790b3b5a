//! JSON as Go's encoder writes it. Version hashes are computed over these bytes.

use std::io::{self, Write};

use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

/// Encodes a value as Go's `json.Marshal` does: compact, with sorted keys and with the characters
/// escaped that have a meaning in HTML.
pub fn to_json(value: &Value) -> String {
    let mut out = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut out, GoFormatter);
    value.serialize(&mut serializer).expect("a value can be written to memory");
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
