//! Access to fields of JSON objects.

use serde_json::{Map, Value};

/// The value of a field, if set.
pub(super) fn get<'a>(object: &'a Value, field: &str) -> Option<&'a Value> {
    object.get(field).filter(|value| !value.is_null())
}

/// The string in a field; empty if not set.
pub(super) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The items of a list field.
pub(super) fn items<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    object.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The entries of a map field.
pub(super) fn entries<'a>(
    object: &'a Value,
    field: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    object.get(field).and_then(Value::as_object).into_iter().flatten()
}

/// The value of a field for modification, if set.
pub(super) fn get_mut<'a>(object: &'a mut Value, field: &str) -> Option<&'a mut Value> {
    object.get_mut(field).filter(|value| !value.is_null())
}

/// The items of a list field for modification.
pub(super) fn items_mut<'a>(
    object: &'a mut Value,
    field: &str,
) -> impl Iterator<Item = &'a mut Value> {
    object.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Sets a field unless it is set.
pub(super) fn default(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Some(fields) = object.as_object_mut()
        && fields.get(field).is_none_or(Value::is_null)
    {
        fields.insert(field.to_owned(), value.into());
    }
}

/// Sets a field.
pub(super) fn set(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(field.to_owned(), value.into());
    }
}

/// Copies a field from another object; removes it if absent there.
pub(super) fn copy(object: &mut Value, field: &str, from: &Value) {
    match (from.get(field), object.as_object_mut()) {
        (Some(value), Some(fields)) => {
            fields.insert(field.to_owned(), value.clone());
        }
        (None, Some(fields)) => {
            fields.remove(field);
        }
        (_, None) => {}
    }
}

/// The object in a field, created if missing.
pub(super) fn object_at<'a>(
    object: &'a mut Value,
    field: &str,
) -> Option<&'a mut Map<String, Value>> {
    default(object, field, Map::new());
    object.get_mut(field)?.as_object_mut()
}
