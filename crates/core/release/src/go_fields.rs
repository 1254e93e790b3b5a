//! Structures as Go's `encoding/json` reads them: field names match in any case, and null is empty.

use fairway_api::read::{self, ReadError};
use fairway_yaml::{DecodedObject, KeyLine};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::payload::{PayloadWarning, malformed};

/// Decodes the object of a file, as Go's `yaml.Unmarshal` does; an empty file is `null`.
pub(crate) fn document(name: &str, bytes: &[u8]) -> Result<DecodedObject, ReadError> {
    fairway_yaml::object(bytes).map_err(|error| malformed(name, error))
}

/// Reads a value whose keys were renamed to those of the fields. `bytes` is the file.
pub(crate) fn read<T: DeserializeOwned>(
    name: &str,
    bytes: &[u8],
    value: &Value,
) -> Result<T, ReadError> {
    read::value(name, value).map_err(|error| {
        // The strict reader knows the line, if it stops at the same field.
        let strict = read::document::<T>(name, bytes).err();
        strict.filter(|strict| field(strict) == field(&error)).unwrap_or(error)
    })
}

/// The line of a field. Its path is in canonical spelling, the keys of the file are in any case.
pub(crate) fn line(keys: &[KeyLine], path: &str) -> Option<u64> {
    // Of duplicate keys, the last counts.
    keys.iter().rev().find(|key| key.path.eq_ignore_ascii_case(path)).map(|key| key.line)
}

/// Warnings about the text of a file, except those about the spelling of its keys.
pub(crate) fn oddities(name: &str, document: &DecodedObject) -> Vec<PayloadWarning> {
    let oddities = document.oddities.iter().cloned();
    oddities.map(|oddity| PayloadWarning::Oddity { file: name.to_owned(), oddity }).collect()
}

/// A warning about a key that matches a field only in another case. `path` is the path of the key.
pub(crate) fn other_case(
    name: &str,
    document: &DecodedObject,
    path: &str,
    field: &str,
) -> PayloadWarning {
    let found = document.keys.iter().rev().find(|key| key.path == path);
    PayloadWarning::LetterCase {
        file: name.to_owned(),
        line: found.map_or(document.line, |key| key.line),
        key: path.rsplit('.').next().unwrap_or(path).to_owned(),
        field: field.to_owned(),
    }
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
