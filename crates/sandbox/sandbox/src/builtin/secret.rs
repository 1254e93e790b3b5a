//! Secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::check::{Errors, config_key, immutable, invalid};
use super::config_map::{MAX_SIZE, decoded_size, frozen, too_large};
use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::{copy, default, entries, object_at, text};
use crate::catalog::Subresource;
use crate::field_error::{FieldError, Path};

pub(super) const RULES: Rules =
    Rules { default: set_defaults, validate, validate_update, update, ..NOTHING_SPECIAL };

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

fn validate(secret: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("data");
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

/// Some types promise certain keys.
fn typed(secret: &Value, path: &Path, errors: &mut Errors) {
    let has = |key: &str| secret["data"].get(key).is_some();
    let mut require = |key: &str, path: &Path| {
        if !has(key) {
            errors.push(FieldError::required(path.key(key), ""));
        }
    };
    // The API server prints a part of its own source here.
    let odd = path.key("%s");
    match text(secret, "type") {
        "kubernetes.io/service-account-token" => {
            const OWNER: &str = "kubernetes.io/service-account.name";
            if text(&secret["metadata"]["annotations"], OWNER).is_empty() {
                let path = Path::new("metadata").field("annotations").key(OWNER);
                errors.push(FieldError::required(path, ""));
            }
        }
        "kubernetes.io/tls" => {
            for key in ["tls.crt", "tls.key"] {
                require(key, path);
            }
        }
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            for key in ["username", "password"] {
                require(key, &odd);
            }
        }
        "kubernetes.io/ssh-auth" => require("ssh-privatekey", &odd),
        "kubernetes.io/dockerconfigjson" => json(secret, ".dockerconfigjson", path, errors),
        "kubernetes.io/dockercfg" => json(secret, ".dockercfg", path, errors),
        _ => {}
    }
}

fn json(secret: &Value, key: &str, path: &Path, errors: &mut Errors) {
    let Some(content) = secret["data"][key].as_str() else {
        errors.push(FieldError::required(path.key(key), ""));
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
        errors.push(FieldError::invalid(path.key(key), "<secret contents redacted>", why));
    }
}

fn validate_update(new: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    immutable(new, old, "type", &Path::default(), &mut errors);
    errors.extend(frozen(new, old, &["data"]));
    errors
}

/// Who leaves the type out means the one that is there.
fn update(secret: &mut Value, old: &Value, _: Option<Subresource>) {
    if text(secret, "type").is_empty() {
        copy(secret, "type", old);
    }
}
