//! Structures as Go's `encoding/json` reads them: field names match in any case, and null is empty.

use fairway_api::read::{self, ReadError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::payload::malformed;

/// Decodes the first document of a file; an empty file is `null`.
pub(crate) fn document(name: &str, bytes: &[u8]) -> Result<Value, ReadError> {
    let document = fairway_yaml::documents(bytes).next();
    let document = document.transpose().map_err(|error| malformed(name, error))?;
    Ok(document.map(|document| document.value).unwrap_or_default())
}

/// Reads the first document of a file after its keys were renamed to those of the fields.
pub(crate) fn read<T: DeserializeOwned>(
    name: &str,
    bytes: &[u8],
    rename: impl Fn(&mut Value),
) -> Result<T, ReadError> {
    let mut value = document(name, bytes)?;
    if value.is_object() {
        rename(&mut value);
    }
    read::value(name, &value).map_err(|error| {
        // The strict reader knows the line, if it stops at the same field.
        let strict = read::document::<T>(name, bytes).err();
        strict.filter(|strict| field(strict) == field(&error)).unwrap_or(error)
    })
}

fn field(error: &ReadError) -> Option<&str> {
    match error {
        ReadError::Malformed { field, .. } => Some(field),
        ReadError::TooLarge { .. } => None,
    }
}

/// Renames the keys of an object to the fields that they match in any case. Go assigns the values
/// in order, so that of several the last wins: after YAML-to-JSON decoding, the order is sorted.
pub(crate) fn rename(value: &mut Value, fields: &[&str]) {
    let Value::Object(object) = value else { return };
    let is_other = |key: &String| {
        !fields.contains(&key.as_str())
            && fields.iter().any(|field| field.eq_ignore_ascii_case(key))
    };
    if !object.keys().any(is_other) {
        return;
    }
    let mut renamed = Map::new();
    for (key, value) in std::mem::take(object) {
        let field = fields.iter().find(|field| field.eq_ignore_ascii_case(&key));
        renamed.insert(field.map_or(key, |field| (*field).to_owned()), value);
    }
    *object = renamed;
}

/// Reads null as the default, as Go leaves a field alone.
pub(crate) fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
