//! Checks over the whole tree of an object: unique items of sets and maps, and types of embedded
//! resources.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::field_error::FieldError;
use crate::schema::{ListKind, Schema};
use crate::validate::{MAX_ERRORS, child};

/// Checks one value of an object.
type Check = fn(&Value, &Schema, &str, &mut Vec<FieldError>);

/// Errors of duplicate items in an object.
pub(crate) fn duplicates(object: &Value, schema: &Schema) -> Vec<FieldError> {
    errors(object, schema, "", check_list)
}

/// Errors of embedded resources without `apiVersion` or `kind`, in a value at a path.
pub(crate) fn untyped_resources(value: &Value, schema: &Schema, path: &str) -> Vec<FieldError> {
    errors(value, schema, path, check_type_meta)
}

fn errors(value: &Value, schema: &Schema, path: &str, check: Check) -> Vec<FieldError> {
    let mut found = Vec::new();
    walk(value, schema, path, check, &mut found);
    found.truncate(MAX_ERRORS);
    found
}

fn walk(value: &Value, schema: &Schema, path: &str, check: Check, found: &mut Vec<FieldError>) {
    if found.len() >= MAX_ERRORS {
        return;
    }
    check(value, schema, path, found);
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if let Some(property) = schema.properties.get(name) {
                    walk(field, property, &child(path, name), check, found);
                } else if let Some(additional) = schema.field(name) {
                    walk(field, additional, &format!("{path}[{name}]"), check, found);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            for (index, item) in items.iter().enumerate() {
                walk(item, schema, &format!("{path}[{index}]"), check, found);
            }
        }
        _ => {}
    }
}

fn check_list(value: &Value, schema: &Schema, path: &str, found: &mut Vec<FieldError>) {
    let Value::Array(items) = value else { return };
    match &schema.list {
        ListKind::Atomic => {}
        ListKind::Set => report_duplicates(items.iter().cloned(), path, found),
        ListKind::Map(keys) => match items.iter().position(is_not_an_object) {
            Some(index) => found.push(FieldError::invalid(
                format!("{path}[{index}]"),
                items[index].clone(),
                "must be an object for an array of list-type map",
            )),
            None => report_duplicates(items.iter().map(|item| key(item, keys)), path, found),
        },
    }
}

fn is_not_an_object(item: &Value) -> bool {
    !matches!(item, Value::Null | Value::Object(_))
}

/// Reports every duplicate value once, at its second occurrence.
fn report_duplicates(values: impl Iterator<Item = Value>, path: &str, found: &mut Vec<FieldError>) {
    let mut seen: HashMap<Value, usize> = HashMap::new();
    for (index, value) in values.enumerate() {
        let times = seen.entry(value.clone()).or_default();
        *times += 1;
        if *times == 2 {
            found.push(FieldError::duplicate(format!("{path}[{index}]"), value));
        }
    }
}

/// Key of an item in a list of type map.
pub fn key(item: &Value, keys: &[String]) -> Value {
    let part = |key: &String| item.get(key).map(|value| (key.clone(), value.clone()));
    Value::Object(keys.iter().filter_map(part).collect::<Map<_, _>>())
}

fn check_type_meta(value: &Value, schema: &Schema, path: &str, found: &mut Vec<FieldError>) {
    let Value::Object(resource) = value else { return };
    if !schema.embedded {
        return;
    }
    for name in ["apiVersion", "kind"] {
        let path = child(path, name);
        match resource.get(name) {
            Some(Value::String(text)) if !text.is_empty() => {}
            Some(Value::String(_)) => {
                found.push(FieldError::invalid(path, "", "must not be empty"));
            }
            None => found.push(FieldError::required(path, "must not be empty")),
            Some(other) => {
                found.push(FieldError::invalid(path, other.clone(), "must be a string"));
            }
        }
    }
    if let Some(other) = resource.get("metadata").filter(|metadata| !metadata.is_object()) {
        let path = child(path, "metadata");
        found.push(FieldError::invalid(path, other.clone(), "must be an object"));
    }
}
