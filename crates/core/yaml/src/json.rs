//! JSON that Go reads and that `serde_json` refuses.

use std::borrow::Cow;

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
