//! What is wrong with a definition, as an object and as a change.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Deserialize;
use serde_json::Value;

use crate::definition::Definition;
use crate::field_error::FieldError;

/// What cannot change once objects exist under it, and what never can.
const IMMUTABLE: [(&str, &str, bool); 4] = [
    ("/spec/scope", "spec.scope", false),
    ("/spec/names/kind", "spec.names.kind", false),
    ("/spec/group", "spec.group", true),
    ("/spec/names/plural", "spec.names.plural", true),
];

/// What is wrong with a new definition.
pub(super) fn validate(object: &Value) -> Vec<FieldError> {
    match CustomResourceDefinition::deserialize(object) {
        Ok(definition) => Definition::new(&definition).err().unwrap_or_default(),
        Err(error) => vec![FieldError::invalid("spec", Value::Null, error.to_string())],
    }
}

/// What is wrong with a changed definition.
pub(super) fn validate_update(object: &Value, old: &Value) -> Vec<FieldError> {
    // The name is checked when an object begins; it cannot change afterwards.
    let mut errors = validate(object);
    errors.retain(|error| error.path != "metadata.name");
    for (pointer, path, always) in IMMUTABLE {
        let (new, before) = (object.pointer(pointer), old.pointer(pointer));
        if new != before && (always || is_established(old)) {
            let value = new.cloned().unwrap_or_default();
            errors.push(FieldError::invalid(path, value, "field is immutable"));
        }
    }
    let stored = object.pointer("/status/storedVersions").and_then(Value::as_array);
    for (index, name) in stored.into_iter().flatten().enumerate() {
        let versions = object.pointer("/spec/versions").and_then(Value::as_array);
        if !versions.into_iter().flatten().any(|version| version.get("name") == Some(name)) {
            let path = format!("status.storedVersions[{index}]");
            errors.push(FieldError::invalid(path, name.clone(), "must appear in spec.versions"));
        }
    }
    errors
}

/// Whether the definition needs others to convert its objects, which cannot be had here.
pub(super) fn needs_a_webhook(object: &Value) -> bool {
    object.pointer("/spec/conversion/strategy").and_then(Value::as_str) == Some("Webhook")
}

fn is_established(definition: &Value) -> bool {
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
    let is_it =
        |condition: &Value| condition["type"] == "Established" && condition["status"] == "True";
    conditions.into_iter().flatten().any(is_it)
}
