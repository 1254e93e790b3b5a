//! The properties of a bundle: a list of types and values, as JSON in an annotation.

use std::fmt;

use fairway_text::excerpt;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Stream;
use super::maximum::{self, MaximumError};

/// The type of the property that holds the maximum version.
pub const MAX_OPENSHIFT_VERSION: &str = "olm.maxOpenShiftVersion";

/// Bytes of an annotation that are read: as many as all annotations of an object may have.
const MAX_BYTES: usize = 256 << 10;

/// Properties of a bundle; the largest have a few dozen.
const MAX_PROPERTIES: usize = 1_000;

/// Bytes of what a parser says that are kept: it may quote the whole annotation.
const MAX_COMPLAINT: usize = 200;

/// The maximum version in `{"properties": [{"type": …, "value": …}]}`.
pub(super) fn maximum_in_object(text: &str) -> Result<Option<Stream>, MaximumError> {
    let object: Fields = json(text)?;
    match object.get("properties") {
        Some(list) => maximum_in_list(list),
        None => Ok(None),
    }
}

/// The maximum version in `[{"type": …, "value": …}]`.
pub(super) fn maximum_in_list(text: &str) -> Result<Option<Stream>, MaximumError> {
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
        [value] => maximum::parse(value).map(Some),
        _ => Err(MaximumError::Repeated),
    }
}

fn json<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, MaximumError> {
    if text.len() > MAX_BYTES {
        let why = format!("{} bytes exceed the limit of {MAX_BYTES} bytes", text.len());
        return Err(MaximumError::Unreadable(why));
    }
    let unreadable = |error: serde_json::Error| {
        MaximumError::Unreadable(excerpt(&error.to_string(), MAX_COMPLAINT).into_owned())
    };
    serde_json::from_str(text).map_err(unreadable)
}

/// The fields of an object, found as OLM finds them: in any case, the last of several.
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

    fn told(read: Result<Option<Stream>, MaximumError>) -> String {
        match read {
            Ok(Some(maximum)) => maximum.to_string(),
            Ok(None) => "no opinion".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_annotation_of_olm() {
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
            assert_eq!(told(maximum_in_object(&text)), expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_says_why() {
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
        let all = all.map(|text| format!("{text}\n  {}", told(maximum_in_object(text))));
        insta::assert_snapshot!(all.join("\n"));
    }

    #[test]
    fn what_cannot_be_read_is_not_repeated_at_length() {
        let long = "A".repeat(200 << 10);
        for text in [
            format!("{long:?}"),
            format!(r#"{{"properties":{long:?}}}"#),
            format!(r#"{{"properties":[{{"type":"olm.maxOpenShiftVersion","value":{long:?}}}]}}"#),
            format!(
                r#"{{"properties":[{{"type":"olm.maxOpenShiftVersion","value":"4.8.0-{long}"}}]}}"#
            ),
        ] {
            let told = maximum_in_object(&text).unwrap_err().to_string();
            assert!(told.len() < 500, "{} bytes: {}", told.len(), excerpt(&told, 300));
        }
    }

    #[test]
    fn there_is_an_end_to_what_is_read() {
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
        fn no_annotation_makes_it_panic(text in "[\\[\\]{}\",:0-9a-z. \\\\]{0,120}") {
            let _ = maximum_in_object(&text);
            let _ = maximum_in_list(&text);
        }

        #[test]
        fn no_value_makes_it_panic(value in "\\PC{0,60}") {
            let text = format!(r#"[{{"type":"olm.maxOpenShiftVersion","value":{value}}}]"#);
            let _ = maximum_in_list(&text);
        }
    }
}
