//! Pieces of schema that several types share.

use serde_json::{Value, json};

/// Empty, or a semantic version: the grammar of SemVer 2.0 as one expression.
pub(crate) const EMPTY_OR_SEMVER: &str = r"^$|^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-((0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(\+([0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*))?$";

/// The name of a set of capabilities.
pub(crate) const CAPABILITY_SET: &str = r"^(None|vCurrent|v[0-9]+\.[0-9]+)$";

/// The keys of a list that the API server treats as a map.
pub(crate) fn keys<const N: usize>(keys: [&str; N]) -> Value {
    json!(keys.as_slice())
}

/// CEL rules, each with what the API server says to whoever breaks it.
pub(crate) fn rules<const N: usize>(rules: [(&str, &str); N]) -> Value {
    rules.map(|(rule, message)| json!({ "rule": rule, "message": message })).as_slice().into()
}

/// Reads a field that was given, be it `null`, as given: only a missing one is `None`.
pub(crate) fn even_null<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}
