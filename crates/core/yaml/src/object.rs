//! Files with one object, JSON or YAML.

use serde_json::Value;

use crate::error::YamlError;
use crate::file::{count_lines, json_value, looks_like_json};
use crate::oddity::Oddity;
use crate::paths::{KeyLine, Paths};
use crate::{Decoded, decode_with, json};

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
