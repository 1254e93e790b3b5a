//! `ConfigMaps` and Secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::validation::{ErrorList, Errors, config_key, immutable, invalid};
use super::value::{copy, default, entries, object_at, text};
use super::{DEFAULT_RULES, Rules};
use crate::catalog::Subresource;
use crate::field_error::{FieldError, FieldPath};

pub(super) const CONFIG_MAP: Rules = Rules {
    validate: validate_config_map,
    validate_update: validate_config_map_update,
    ..DEFAULT_RULES
};

/// Maximum size of the data of a ConfigMap or a Secret, in bytes; protects etcd in Kubernetes.
pub(super) const MAX_SIZE: u32 = 1024 * 1024;

fn validate_config_map(map: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = FieldPath::new("data");
    let mut size = 0;
    for (key, value) in entries(map, "data") {
        invalid(&path.key(key), key, config_key(key), &mut errors);
        if map["binaryData"].get(key).is_some() {
            errors.invalid(path.key(key), key.as_str(), "duplicate of key present in binaryData");
        }
        size += value.as_str().map_or(0, str::len);
    }
    for (key, value) in entries(map, "binaryData") {
        invalid(&FieldPath::new("binaryData").key(key), key, config_key(key), &mut errors);
        size += decoded_size(value);
    }
    if size > MAX_SIZE as usize {
        // The API server prints an empty field path like this.
        errors.push(too_large("[]"));
    }
    errors
}

pub(super) fn too_large(path: &str) -> FieldError {
    FieldError::too_long(path, "", MAX_SIZE.into())
}

/// Size of base64 data after decoding.
pub(super) fn decoded_size(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default();
    text.len() / 4 * 3 - text.bytes().rev().take_while(|&byte| byte == b'=').count()
}

fn validate_config_map_update(new: &Value, old: &Value) -> Errors {
    immutable_data(new, old, &["data", "binaryData"])
}

/// Refuses changes of an object with `immutable: true`, including of that flag.
pub(super) fn immutable_data(new: &Value, old: &Value, fields: &[&str]) -> Errors {
    if old["immutable"] != true {
        return Errors::new();
    }
    let mut errors = Errors::new();
    let mut forbid = |field: &str| {
        errors.forbidden(field, "field is immutable when `immutable` is set");
    };
    if new["immutable"] != true {
        forbid("immutable");
    }
    for field in fields.iter().filter(|&&field| new[field] != old[field]) {
        forbid(field);
    }
    errors
}

pub(super) const SECRET: Rules = Rules {
    default: set_defaults,
    validate: validate_secret,
    validate_update: validate_secret_update,
    update,
    ..DEFAULT_RULES
};

fn set_defaults(secret: &mut Value) {
    default(secret, "type", "Opaque");
    let Some(Value::Object(texts)) =
        secret.as_object_mut().and_then(|fields| fields.remove("stringData"))
    else {
        return;
    };
    if let Some(data) = object_at(secret, "data") {
        for (key, text) in texts {
            let bytes = text.as_str().unwrap_or_default();
            data.insert(key, STANDARD.encode(bytes).into());
        }
    }
}

fn validate_secret(secret: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = FieldPath::new("data");
    for (key, _) in entries(secret, "data") {
        invalid(&path.key(key), key, config_key(key), &mut errors);
    }
    if entries(secret, "data").map(|(_, value)| decoded_size(value)).sum::<usize>()
        > MAX_SIZE as usize
    {
        errors.push(too_large("data"));
    }
    typed(secret, &path, &mut errors);
    errors
}

/// Requires the keys that some types of Secrets must have.
fn typed(secret: &Value, path: &FieldPath, errors: &mut Errors) {
    let has = |key: &str| secret["data"].get(key).is_some();
    let mut require = |key: &str, path: &FieldPath| {
        if !has(key) {
            errors.required(path.key(key));
        }
    };
    // The API server prints an unexpanded `%s` in this path.
    let unexpanded = path.key("%s");
    match text(secret, "type") {
        "kubernetes.io/service-account-token" => {
            const OWNER: &str = "kubernetes.io/service-account.name";
            if text(&secret["metadata"]["annotations"], OWNER).is_empty() {
                let path = FieldPath::new("metadata").field("annotations").key(OWNER);
                errors.required(path);
            }
        }
        "kubernetes.io/tls" => {
            for key in ["tls.crt", "tls.key"] {
                require(key, path);
            }
        }
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            for key in ["username", "password"] {
                require(key, &unexpanded);
            }
        }
        "kubernetes.io/ssh-auth" => require("ssh-privatekey", &unexpanded),
        "kubernetes.io/dockerconfigjson" => json(secret, ".dockerconfigjson", path, errors),
        "kubernetes.io/dockercfg" => json(secret, ".dockercfg", path, errors),
        _ => {}
    }
}

fn json(secret: &Value, key: &str, path: &FieldPath, errors: &mut Errors) {
    let Some(content) = secret["data"][key].as_str() else {
        errors.required(path.key(key));
        return;
    };
    let content = STANDARD.decode(content).unwrap_or_default();
    let parsed = serde_json::from_slice::<serde_json::Map<String, Value>>(&content);
    if let Err(error) = parsed {
        let why = match content.first() {
            _ if error.is_eof() => "unexpected end of JSON input".to_owned(),
            Some(&first) => {
                format!("invalid character '{}' looking for beginning of value", char::from(first))
            }
            None => error.to_string(),
        };
        errors.invalid(path.key(key), "<secret contents redacted>", why);
    }
}

fn validate_secret_update(new: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    immutable(new, old, "type", &FieldPath::default(), &mut errors);
    errors.extend(immutable_data(new, old, &["data"]));
    errors
}

/// An update without a type keeps the type.
fn update(secret: &mut Value, old: &Value, _: Option<Subresource>) {
    if text(secret, "type").is_empty() {
        copy(secret, "type", old);
    }
}
