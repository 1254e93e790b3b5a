//! Resources inside of an object have to say what they are.

use serde_json::{Map, Value};

use crate::field_error::FieldError;
use crate::schema::Schema;
use crate::validate::{MAX_ERRORS, child};

/// Finds the embedded resources that do not say what they are.
pub(crate) fn anonymous(object: &Value, schema: &Schema) -> Vec<FieldError> {
    anonymous_below(object, schema, "")
}

/// Finds them in a value that lies somewhere in an object.
pub(crate) fn anonymous_below(value: &Value, schema: &Schema, path: &str) -> Vec<FieldError> {
    let mut found = Vec::new();
    walk(value, schema, path, &mut found);
    found.truncate(MAX_ERRORS);
    found
}

fn walk(value: &Value, schema: &Schema, path: &str, found: &mut Vec<FieldError>) {
    if found.len() >= MAX_ERRORS {
        return;
    }
    match value {
        Value::Object(fields) => {
            if schema.embedded {
                says_what_it_is(fields, path, found);
            }
            for (name, field) in fields {
                if let Some(named) = schema.properties.get(name) {
                    walk(field, named, &child(path, name), found);
                } else if let Some(like) = schema.field(name) {
                    walk(field, like, &format!("{path}[{name}]"), found);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            for (index, item) in items.iter().enumerate() {
                walk(item, schema, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}

fn says_what_it_is(resource: &Map<String, Value>, path: &str, found: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        match resource.get(name) {
            Some(Value::String(said)) if !said.is_empty() => {}
            Some(Value::String(_)) => {
                found.push(FieldError::invalid(child(path, name), "", "must not be empty"));
            }
            None => {
                found.push(FieldError::required(child(path, name), "must not be empty"));
            }
            Some(other) => {
                let why = "must be a string";
                found.push(FieldError::invalid(child(path, name), other.clone(), why));
            }
        }
    }
    if let Some(other) = resource.get("metadata").filter(|metadata| !metadata.is_object()) {
        let why = "must be an object";
        found.push(FieldError::invalid(child(path, "metadata"), other.clone(), why));
    }
}
