//! Schema fragments that several types share.

use serde_json::{Value, json};

/// Empty, or a semantic version (SemVer 2.0 grammar).
pub(crate) const EMPTY_OR_SEMVER: &str = r"^$|^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-((0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(\+([0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*))?$";

/// Name of a capability set.
pub(crate) const CAPABILITY_SET: &str = r"^(None|vCurrent|v[0-9]+\.[0-9]+)$";

/// Keys of a list with `x-kubernetes-list-type: map`.
pub(crate) fn keys<const N: usize>(keys: [&str; N]) -> Value {
    json!(keys.as_slice())
}

/// CEL rules with their messages.
pub(crate) fn rules<const N: usize>(rules: [(&str, &str); N]) -> Value {
    rules.map(|(rule, message)| json!({ "rule": rule, "message": message })).as_slice().into()
}

/// Deserializes `null` as a value; only a missing field is `None`.
pub(crate) fn even_null<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}
