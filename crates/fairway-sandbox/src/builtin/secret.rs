//! Secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::{default, object_at};

pub(super) const RULES: Rules = Rules { default: set_defaults, ..NOTHING_SPECIAL };

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
