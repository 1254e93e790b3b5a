//! `ConfigMaps`.

use serde_json::Value;

use super::check::{Errors, config_key, invalid};
use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::entries;
use crate::field_error::{FieldError, Path};

pub(super) const RULES: Rules = Rules { validate, validate_update, ..NOTHING_SPECIAL };

/// The content of a ConfigMap or a Secret, which the database of a cluster has to hold.
pub(super) const MAX_SIZE: u32 = 1024 * 1024;

fn validate(map: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("data");
    let mut size = 0;
    for (key, value) in entries(map, "data") {
        invalid(&path.key(key), key, config_key(key), &mut errors);
        if map["binaryData"].get(key).is_some() {
            let why = "duplicate of key present in binaryData";
            errors.push(FieldError::invalid(path.key(key), key.as_str(), why));
        }
        size += value.as_str().map_or(0, str::len);
    }
    for (key, value) in entries(map, "binaryData") {
        invalid(&Path::new("binaryData").key(key), key, config_key(key), &mut errors);
        size += decoded_size(value);
    }
    if size > MAX_SIZE as usize {
        // As the real server writes a path whose only part is empty.
        errors.push(too_large("[]"));
    }
    errors
}

pub(super) fn too_large(path: &str) -> FieldError {
    FieldError::too_long(path, "", MAX_SIZE.into())
}

/// How many bytes a text of base64 stands for.
pub(super) fn decoded_size(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default();
    text.len() / 4 * 3 - text.bytes().rev().take_while(|&byte| byte == b'=').count()
}

fn validate_update(new: &Value, old: &Value) -> Errors {
    frozen(new, old, &["data", "binaryData"])
}

/// What says that it will not change does not change, and keeps saying so.
pub(super) fn frozen(new: &Value, old: &Value, fields: &[&str]) -> Errors {
    if old["immutable"] != true {
        return Errors::new();
    }
    let mut errors = Errors::new();
    let mut forbid = |field: &str| {
        let why = "field is immutable when `immutable` is set";
        errors.push(FieldError::forbidden(field, why));
    };
    if new["immutable"] != true {
        forbid("immutable");
    }
    for field in fields.iter().filter(|&&field| new[field] != old[field]) {
        forbid(field);
    }
    errors
}
