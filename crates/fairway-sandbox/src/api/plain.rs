//! What all built-in kinds have in common: a spec with a generation, and a status apart.

use serde_json::{Value, json};

use super::{lifecycle, meta};
use crate::catalog::{Resource, Subresource};

/// What a client cannot choose when it makes an object.
pub(super) fn prepare_create(resource: &Resource, object: &mut Value) {
    if resource.subresources.contains(&Subresource::Status)
        && let Some(fields) = object.as_object_mut()
    {
        fields.remove("status");
        if lifecycle::is_namespace(object) {
            object["spec"] = json!({ "finalizers": ["kubernetes"] });
            object["status"] = json!({ "phase": "Active" });
        } else if counts_generations(resource) {
            meta::set(object, "generation", 1);
        }
    }
}

/// What a client cannot change.
pub(super) fn prepare_update(
    resource: &Resource,
    object: &mut Value,
    old: &Value,
    subresource: Option<Subresource>,
) {
    match subresource {
        Some(Subresource::Status) => take(object, old, "status"),
        Some(Subresource::Finalize) => take(object, old, "spec"),
        _ if resource.subresources.contains(&Subresource::Status) => {
            keep(object, old, "status");
            if lifecycle::is_namespace(object) {
                keep(object, old, "spec");
            }
            if counts_generations(resource) && object.get("spec") != old.get("spec") {
                let generation = meta::field(old, "generation").and_then(Value::as_i64);
                meta::set(object, "generation", generation.unwrap_or_default() + 1);
            }
        }
        _ => {}
    }
}

fn counts_generations(resource: &Resource) -> bool {
    matches!(&*resource.group, "apps" | "batch" | "policy" | "networking.k8s.io")
}

fn keep(object: &mut Value, old: &Value, field: &str) {
    if let Some(fields) = object.as_object_mut() {
        match old.get(field) {
            Some(value) => fields.insert(field.to_owned(), value.clone()),
            None => fields.remove(field),
        };
    }
}

fn take(object: &mut Value, old: &Value, field: &str) {
    let mut merged = old.clone();
    keep(&mut merged, object, field);
    meta::carry(object, &mut merged, "managedFields");
    *object = merged;
}
