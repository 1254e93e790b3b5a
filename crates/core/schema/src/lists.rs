//! Lists that are sets or maps: no item comes twice.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::field_error::FieldError;
use crate::schema::{ListKind, Schema};
use crate::validate::{MAX_ERRORS, child};

/// Finds the items that come twice, in a whole object.
pub(crate) fn duplicates(object: &Value, schema: &Schema) -> Vec<FieldError> {
    let mut found = Vec::new();
    walk(object, schema, "", &mut found);
    found.truncate(MAX_ERRORS);
    found
}

fn walk(value: &Value, schema: &Schema, path: &str, found: &mut Vec<FieldError>) {
    if found.len() >= MAX_ERRORS {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if let Some(named) = schema.properties.get(name) {
                    walk(field, named, &child(path, name), found);
                } else if let Some(like) = schema.field(name) {
                    walk(field, like, &format!("{path}[{name}]"), found);
                }
            }
        }
        Value::Array(items) => {
            match &schema.list {
                ListKind::Atomic => {}
                ListKind::Set => repeated(items.iter().cloned(), path, found),
                ListKind::Map(keys) => match items.iter().position(is_no_item_of_a_map) {
                    Some(index) => found.push(FieldError::invalid(
                        format!("{path}[{index}]"),
                        items[index].clone(),
                        "must be an object for an array of list-type map",
                    )),
                    None => repeated(items.iter().map(|item| key(item, keys)), path, found),
                },
            }
            if let Some(schema) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    walk(item, schema, &format!("{path}[{index}]"), found);
                }
            }
        }
        _ => {}
    }
}

fn is_no_item_of_a_map(item: &Value) -> bool {
    !matches!(item, Value::Null | Value::Object(_))
}

/// Every value is named once, where it comes for the second time.
fn repeated(values: impl Iterator<Item = Value>, path: &str, found: &mut Vec<FieldError>) {
    let mut seen: HashMap<Value, usize> = HashMap::new();
    for (index, value) in values.enumerate() {
        let times = seen.entry(value.clone()).or_default();
        *times += 1;
        if *times == 2 {
            found.push(FieldError::duplicate(format!("{path}[{index}]"), value));
        }
    }
}

/// What tells an item from the others.
pub fn key(item: &Value, keys: &[String]) -> Value {
    let part = |key: &String| item.get(key).map(|value| (key.clone(), value.clone()));
    Value::Object(keys.iter().filter_map(part).collect::<Map<_, _>>())
}
