//! Properties of a bundle: a JSON list of types and values in an annotation.

use std::fmt;

use fairway_text::excerpt;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::MinorVersion;
use super::declaration::{MaximumError, parse_maximum};

/// Property type of the maximum version.
pub const MAX_OPENSHIFT_VERSION: &str = "olm.maxOpenShiftVersion";

/// Bytes of an annotation: the API server's limit for all annotations of an object.
const MAX_BYTES: usize = 256 << 10;

/// Properties of a bundle; the largest bundles have a few dozen.
const MAX_PROPERTIES: usize = 1_000;

/// Bytes of a parse error, which may quote the whole annotation.
const MAX_ERROR_BYTES: usize = 200;

/// The maximum version in `{"properties": [{"type": …, "value": …}]}`.
pub(super) fn maximum_in_object(text: &str) -> Result<Option<MinorVersion>, MaximumError> {
    let object: Fields = json(text)?;
    match object.get("properties") {
        Some(list) => maximum_in_list(list),
        None => Ok(None),
    }
}

/// The maximum version in `[{"type": …, "value": …}]`.
pub(super) fn maximum_in_list(text: &str) -> Result<Option<MinorVersion>, MaximumError> {
    let list: Vec<Option<Fields>> = json::<Option<_>>(text)?.unwrap_or_default();
    if list.len() > MAX_PROPERTIES {
        let why = format!("it has {} properties; the limit is {MAX_PROPERTIES}", list.len());
        return Err(MaximumError::Unreadable(why));
    }
    let mut values = Vec::new();
    for property in list.iter().flatten() {
        let kind: Option<String> = property.get("type").map_or(Ok(None), json)?;
        if kind.as_deref() == Some(MAX_OPENSHIFT_VERSION) {
            values.push(property.get("value").unwrap_or_default());
        }
    }
    match values[..] {
        [] => Ok(None),
        [value] => parse_maximum(value).map(Some),
        _ => Err(MaximumError::Repeated),
    }
}

fn json<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, MaximumError> {
    if text.len() > MAX_BYTES {
        let why = format!("{} bytes exceed the limit of {MAX_BYTES} bytes", text.len());
        return Err(MaximumError::Unreadable(why));
    }
    let unreadable = |error: serde_json::Error| {
        MaximumError::Unreadable(excerpt(&error.to_string(), MAX_ERROR_BYTES).into_owned())
    };
    serde_json::from_str(text).map_err(unreadable)
}

/// Fields of an object, found as Go's JSON decoder does: case-insensitive, the last one wins.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Fields<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        let (_, value) = self.0.iter().rfind(|(key, _)| key.eq_ignore_ascii_case(name))?;
        Some(value.get())
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Fields(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(read: Result<Option<MinorVersion>, MaximumError>) -> String {
        match read {
            Ok(Some(maximum)) => maximum.to_string(),
            Ok(None) => "no opinion".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn maximum_in_object_reads_olm_annotation() {
        let property = |value: &str| {
            format!(r#"{{"properties":[{{"type":"olm.maxOpenShiftVersion","value":{value}}}]}}"#)
        };
        for (text, expected) in [
            (property(r#""4.8""#), "4.8"),
            (property("4.8"), "4.8"),
            (property("4.10"), "4.10"),
            (
                r#"{"Properties":[{"TYPE":"olm.maxOpenShiftVersion","Value":"4.8"}]}"#.to_owned(),
                "4.8",
            ),
            ("{}".to_owned(), "no opinion"),
            (r#"{"properties":[]}"#.to_owned(), "no opinion"),
            (r#"{"properties":null}"#.to_owned(), "no opinion"),
            (
                r#"{"properties":[null,{"type":"olm.package","value":{"a":1}}]}"#.to_owned(),
                "no opinion",
            ),
        ] {
            assert_eq!(texts(maximum_in_object(&text)), expected, "{text}");
        }
    }

    #[test]
    fn invalid_properties_report_error() {
        let all = [
            "",
            "bad_properties",
            "[]",
            "null",
            r#"{"properties":{}}"#,
            r#"{"properties":["4.8"]}"#,
            r#"{"properties":[{"type":1}]}"#,
            r#"{"properties":[{"type":"olm.maxOpenShiftVersion"}]}"#,
            r#"{"properties":[{"type":"olm.maxOpenShiftVersion","value":""}]}"#,
            r#"{"properties":[{"type":"olm.maxOpenShiftVersion","value":"4.8"},{"type":"olm.maxOpenShiftVersion","value":"4.8"}]}"#,
        ];
        let all = all.map(|text| format!("{text}\n  {}", texts(maximum_in_object(text))));
        insta::assert_snapshot!(all.join("\n"));
    }

    #[test]
    fn errors_are_truncated() {
        let long = "A".repeat(200 << 10);
        for text in [
            format!("{long:?}"),
            format!(r#"{{"properties":{long:?}}}"#),
            format!(r#"{{"properties":[{{"type":"olm.maxOpenShiftVersion","value":{long:?}}}]}}"#),
            format!(
                r#"{{"properties":[{{"type":"olm.maxOpenShiftVersion","value":"4.8.0-{long}"}}]}}"#
            ),
        ] {
            let texts = maximum_in_object(&text).unwrap_err().to_string();
            assert!(texts.len() < 500, "{} bytes: {}", texts.len(), excerpt(&texts, 300));
        }
    }

    #[test]
    fn properties_beyond_limits_are_rejected() {
        let many = format!("[{}{{}}]", "{},".repeat(MAX_PROPERTIES));
        let large = format!("[{}]", " ".repeat(MAX_BYTES));
        let deep = format!(r#"[{{"type":"x","value":{}}}]"#, "[".repeat(10_000));
        for text in [many, large, deep] {
            let read = maximum_in_list(&text);
            assert!(matches!(read, Err(MaximumError::Unreadable(_))), "{read:?}");
        }
    }

    proptest! {
        #[test]
        fn any_annotation_does_not_panic(text in "[\\[\\]{}\",:0-9a-z. \\\\]{0,120}") {
            let _ = maximum_in_object(&text);
            let _ = maximum_in_list(&text);
        }

        #[test]
        fn any_property_value_does_not_panic(value in "\\PC{0,60}") {
            let text = format!(r#"[{{"type":"olm.maxOpenShiftVersion","value":{value}}}]"#);
            let _ = maximum_in_list(&text);
        }
    }
}
