//! What becomes of an object before it is validated: fields go, and defaults come.

use serde_json::{Map, Value};

use crate::schema::Schema;

/// The fields of every resource, whatever its schema says.
const OF_EVERY_RESOURCE: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The fields of metadata; in an embedded resource no others are kept.
const OF_METADATA: [&str; 16] = [
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

/// Removes the fields of a whole object that its schema does not know.
pub(crate) fn prune(object: &mut Value, schema: &Schema) {
    let Value::Object(fields) = object else { return };
    prune_fields(fields, schema, true, schema.preserve);
}

/// Removes the fields of a value that lies somewhere in an object.
pub(crate) fn prune_below(value: &mut Value, schema: &Schema) {
    prune_value(value, Some(schema), false);
}

/// A list that keeps unknown fields keeps those of its items.
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
        if is_resource && OF_EVERY_RESOURCE.contains(&name.as_str()) {
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
            metadata.retain(|name, _| OF_METADATA.contains(&name.as_str()));
        }
        Some(metadata @ Value::Null) => *metadata = Value::Object(Map::new()),
        _ => {}
    }
}

/// Fills in the defaults of a whole object.
///
/// A null where none may be stands for nothing: the default takes its place, or the field goes.
pub(crate) fn default(object: &mut Value, schema: &Schema) {
    let Value::Object(fields) = object else { return };
    let kept = OF_EVERY_RESOURCE.map(|name| fields.remove_entry(name));
    default_fields(fields, schema);
    for (name, value) in kept.into_iter().flatten() {
        fields.insert(name, value);
    }
}

/// Fills in the defaults of a value that lies somewhere in an object.
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
        let stands_for_nothing = |schema: &Schema| !schema.nullable && schema.default.is_none();
        !(value.is_null() && schema.field(name).is_some_and(stands_for_nothing))
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
