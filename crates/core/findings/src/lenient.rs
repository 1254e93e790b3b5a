//! Reading what others wrote, field by field: what is of the wrong type is still read as something,
//! so that one slip loses no finding.

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde_json::Value;

/// What stands in for an entry of a list that cannot be read.
pub(crate) trait StandIn {
    /// It, with what was found in its place.
    fn stand_in(found: String) -> Self;
}

/// A text, or whatever else is there as its JSON.
pub(crate) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Value::deserialize(from).map(into_text)
}

/// A list of texts; one alone will do.
pub(crate) fn texts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Null => Vec::new(),
        Value::Array(values) => values.into_iter().map(into_text).collect(),
        other => vec![into_text(other)],
    })
}

/// A time, if it is one.
pub(crate) fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Timestamp>, D::Error> {
    let value = Value::deserialize(from)?;
    Ok(value.as_str().and_then(|time| time.parse().ok()))
}

/// Whether something is so: it is not unless it says so.
pub(crate) fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Value::deserialize(from).map(|value| value == Value::Bool(true))
}

/// A list, of which every entry becomes something. What is no list is refused: it may mean anything.
pub(crate) fn list<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + StandIn,
{
    match Value::deserialize(from)? {
        Value::Array(values) => Ok(values.into_iter().map(entry).collect()),
        other => Err(D::Error::custom(format_args!("found {}, expected an array", kind(&other)))),
    }
}

fn entry<T: DeserializeOwned + StandIn>(value: Value) -> T {
    let object = value.is_object().then(|| T::deserialize(&value).ok()).flatten();
    object.unwrap_or_else(|| T::stand_in(into_text(value)))
}

fn into_text(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// What a value is, for people to read.
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
