//! Lenient deserialisation of untrusted documents. A value of the wrong type is converted instead
//! of rejected, so that one mistake does not lose all findings.

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde_json::Value;

/// A placeholder for a list entry that cannot be deserialised.
pub(crate) trait Placeholder {
    /// Creates the placeholder from the entry's text.
    fn placeholder(found: String) -> Self;
}

/// A string, or the JSON of another value.
pub(crate) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Value::deserialize(from).map(into_text)
}

/// A list of strings, or a single one.
pub(crate) fn texts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Null => Vec::new(),
        Value::Array(values) => values.into_iter().map(into_text).collect(),
        other => vec![into_text(other)],
    })
}

/// A time; `None` if invalid.
pub(crate) fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Timestamp>, D::Error> {
    let value = Value::deserialize(from)?;
    Ok(value.as_str().and_then(|time| time.parse().ok()))
}

/// `true` only for `true`.
pub(crate) fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Value::deserialize(from).map(|value| value == Value::Bool(true))
}

/// A list with a value or placeholder for each entry. Anything else than a list is an error,
/// because it could hide findings.
pub(crate) fn list<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Placeholder,
{
    match Value::deserialize(from)? {
        Value::Array(values) => Ok(values.into_iter().map(entry).collect()),
        other => Err(D::Error::custom(format_args!("found {}, expected an array", kind(&other)))),
    }
}

fn entry<T: DeserializeOwned + Placeholder>(value: Value) -> T {
    let object = value.is_object().then(|| T::deserialize(&value).ok()).flatten();
    object.unwrap_or_else(|| T::placeholder(into_text(value)))
}

fn into_text(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Description of a value's type.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Implements string conversions of an enum. An unknown string becomes the variant that never makes
/// results look better.
macro_rules! string_enum {
    ($type:ident, unknown $unknown:ident, $($variant:ident = $word:literal),+ $(,)?) => {
        impl $type {
            /// The string of the variant.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "enum": [$($word),+]})
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                Ok(match crate::lenient::text(from)?.as_str() {
                    $($word => Self::$variant,)+
                    _ => Self::$unknown,
                })
            }
        }
    };
}

pub(crate) use string_enum;
