//! The metadata of objects whose kind is only known at run time.

use jiff::Timestamp;
use serde_json::{Map, Value};

/// A text of the metadata; empty where there is none.
pub(super) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get("metadata").and_then(|metadata| metadata.get(field)?.as_str()).unwrap_or_default()
}

/// The name, or what it is to begin with.
pub(super) fn given_name(object: &Value) -> &str {
    match text(object, "name") {
        "" => text(object, "generateName"),
        name => name,
    }
}

/// A field of the metadata, unless it is null.
pub(super) fn field<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.get("metadata")?.get(name).filter(|value| !value.is_null())
}

/// Writes a field of the metadata.
pub(super) fn set(object: &mut Value, name: &str, value: impl Into<Value>) {
    if let Some(metadata) = fields(object) {
        metadata.insert(name.to_owned(), value.into());
    }
}

/// Takes a field out of the metadata.
pub(super) fn remove(object: &mut Value, name: &str) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove(name);
    }
}

/// Gives one object's field of the metadata to another, or takes it away.
pub(super) fn carry(from: &Value, to: &mut Value, name: &str) {
    match field(from, name) {
        Some(value) => set(to, name, value.clone()),
        None => remove(to, name),
    }
}

/// The finalizers.
pub(super) fn finalizers(object: &Value) -> Vec<&str> {
    let list = field(object, "finalizers").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Whether the object is being deleted.
pub(super) fn is_terminating(object: &Value) -> bool {
    field(object, "deletionTimestamp").is_some()
}

/// A time as objects carry it.
pub(super) fn time(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn fields(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let metadata = object.as_object_mut()?.entry("metadata").or_insert(Value::Null);
    if !metadata.is_object() {
        *metadata = Value::Object(Map::new());
    }
    metadata.as_object_mut()
}
