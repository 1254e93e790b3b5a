//! Whether a client has what it asks for already.

use http::header::IF_NONE_MATCH;
use http::{HeaderMap, HeaderValue};

/// Whether one of the tags that a client names is this one.
pub(super) fn has(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let named = headers.get_all(IF_NONE_MATCH).into_iter();
    named.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')).any(|named| {
        let named = named.trim_ascii();
        named == b"*" || named.strip_prefix(b"W/").unwrap_or(named) == tag.as_bytes()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_found_in_lists() {
        let tag = HeaderValue::from_static("\"a1\"");
        for (value, expected) in [
            ("\"a1\"", true),
            ("W/\"a1\"", true),
            ("\"b2\" , \"a1\"", true),
            ("*", true),
            ("\"b2\"", false),
            ("a1", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::from_static(value))]);
            assert_eq!(has(&headers, &tag), expected, "{value}");
        }
        assert!(!has(&HeaderMap::new(), &tag));
    }
}
