//! Pruning and defaulting, which precede validation.

use serde_json::{Map, Value};

use crate::schema::Schema;

/// Fields of every resource, independent of its schema.
const RESOURCE_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Fields of `ObjectMeta`; in embedded resources, others are pruned.
const METADATA_FIELDS: [&str; 16] = [
    "annotations",
    "clusterName",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Prunes a whole object.
pub(crate) fn prune(object: &mut Value, schema: &Schema) {
    let Value::Object(fields) = object else { return };
    prune_fields(fields, schema, true, schema.preserve);
}

/// Prunes a part of an object.
pub(crate) fn prune_below(value: &mut Value, schema: &Schema) {
    prune_value(value, Some(schema), false);
}

/// A list that preserves unknown fields preserves those of its items.
fn prune_value(value: &mut Value, schema: Option<&Schema>, keep_unknown: bool) {
    let keep_unknown = keep_unknown || schema.is_some_and(|schema| schema.preserve);
    match (value, schema) {
        (Value::Object(fields), Some(schema)) => {
            prune_fields(fields, schema, schema.embedded, keep_unknown);
            if schema.embedded {
                prune_metadata(fields);
            }
        }
        (Value::Object(fields), None) if !keep_unknown => fields.clear(),
        (Value::Array(items), schema) => {
            for item in items {
                prune_value(item, schema.and_then(|schema| schema.items.as_deref()), keep_unknown);
            }
        }
        _ => {}
    }
}

fn prune_fields(
    fields: &mut Map<String, Value>,
    schema: &Schema,
    is_resource: bool,
    keep_unknown: bool,
) {
    fields.retain(|name, value| {
        if is_resource && RESOURCE_FIELDS.contains(&name.as_str()) {
            return true;
        }
        match (schema.field(name), &schema.others) {
            (None, None) => keep_unknown,
            (known, _) => {
                prune_value(value, known, false);
                true
            }
        }
    });
}

fn prune_metadata(resource: &mut Map<String, Value>) {
    match resource.get_mut("metadata") {
        Some(Value::Object(metadata)) => {
            metadata.retain(|name, _| METADATA_FIELDS.contains(&name.as_str()));
        }
        Some(metadata @ Value::Null) => *metadata = Value::Object(Map::new()),
        _ => {}
    }
}

/// Sets the defaults of a whole object.
///
/// A `null` in a field that is not nullable is replaced by the default or removed.
pub(crate) fn default(object: &mut Value, schema: &Schema) {
    let Value::Object(fields) = object else { return };
    let kept = RESOURCE_FIELDS.map(|name| fields.remove_entry(name));
    default_fields(fields, schema);
    for (name, value) in kept.into_iter().flatten() {
        fields.insert(name, value);
    }
}

/// Sets the defaults of a part of an object.
pub(crate) fn default_below(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(fields) => default_fields(fields, schema),
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            for item in items {
                replace_null(item, schema);
                default_below(item, schema);
            }
        }
        _ => {}
    }
}

fn default_fields(fields: &mut Map<String, Value>, schema: &Schema) {
    fields.retain(|name, value| {
        let is_dropped = |schema: &Schema| !schema.nullable && schema.default.is_none();
        !(value.is_null() && schema.field(name).is_some_and(is_dropped))
    });
    for (name, schema) in &schema.properties {
        if let Some(default) = &schema.default {
            let value = fields.entry(name.as_str()).or_insert_with(|| default.clone());
            replace_null(value, schema);
        }
    }
    for (name, value) in fields {
        if let Some(field) = schema.field(name) {
            replace_null(value, field);
            default_below(value, field);
        }
    }
}

fn replace_null(value: &mut Value, schema: &Schema) {
    if let (Value::Null, false, Some(default)) = (&value, schema.nullable, &schema.default) {
        *value = default.clone();
    }
}
