//! Manifests in the form that API servers can compare.

use fairway_apply::canonical::holds_quantities;
use fairway_release::ObjectId;
use serde_json::{Value, json};

use super::pods;

/// Writes what means the same in one way. Old servers refuse to apply anything else.
pub(super) fn normalise(id: &ObjectId, object: &mut Value) {
    without_creation(object);
    if id.kind == "Service" {
        object.get_mut("spec").into_iter().for_each(default_protocols);
    }
    if let Some(pod) = pods::spec_mut(id, object) {
        pods::containers_mut(pod).for_each(default_protocols);
    }
    if is_built_in(id) {
        quantities_as_text(object, false);
    }
    let is_aggregated = !object["aggregationRule"].is_null();
    if id.kind == "ClusterRole"
        && is_aggregated
        && let Some(fields) = object.as_object_mut()
    {
        // The API server gathers them from other roles.
        fields.remove("rules");
    }
}

/// Drops the time of creation that tools leave in manifests, also in those of Pods.
fn without_creation(value: &mut Value) {
    if let Value::Object(fields) = value {
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("creationTimestamp");
        }
        for (_, field) in fields.iter_mut().filter(|(name, _)| is_on_the_way_to_pods(name)) {
            without_creation(field);
        }
    }
}

fn is_on_the_way_to_pods(name: &str) -> bool {
    matches!(name, "spec" | "template" | "jobTemplate")
}

/// The protocol is a part of what tells ports apart.
fn default_protocols(owner: &mut Value) {
    let ports = owner.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        port.entry("protocol").or_insert_with(|| json!("TCP"));
    }
}

/// Whether what the fields of a kind mean is known.
fn is_built_in(id: &ObjectId) -> bool {
    let is_built_in = !id.group.contains('.') || id.group.ends_with(".k8s.io");
    // A schema may say whatever it wants about a field `limits`.
    is_built_in && !matches!(id.kind.as_str(), "CustomResourceDefinition" | "ConfigMap")
}

fn quantities_as_text(value: &mut Value, quantity: bool) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                quantities_as_text(value, quantity || holds_quantities(name));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| quantities_as_text(item, quantity)),
        Value::Number(number) if quantity => *value = json!(number.to_string()),
        _ => {}
    }
}
