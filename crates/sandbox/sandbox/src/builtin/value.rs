//! Small steps through objects.

use serde_json::{Map, Value};

/// The field of that name, if it is set.
pub(super) fn get<'a>(object: &'a Value, field: &str) -> Option<&'a Value> {
    object.get(field).filter(|value| !value.is_null())
}

/// The text in a field; an absent one is empty.
pub(super) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The items of a list in a field.
pub(super) fn items<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    object.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The entries of a map in a field.
pub(super) fn entries<'a>(
    object: &'a Value,
    field: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    object.get(field).and_then(Value::as_object).into_iter().flatten()
}

/// The field of that name, to be changed, if it is set.
pub(super) fn get_mut<'a>(object: &'a mut Value, field: &str) -> Option<&'a mut Value> {
    object.get_mut(field).filter(|value| !value.is_null())
}

/// The items of a list in a field, to be changed.
pub(super) fn items_mut<'a>(
    object: &'a mut Value,
    field: &str,
) -> impl Iterator<Item = &'a mut Value> {
    object.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Sets a field that is not set.
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

/// Makes a field what it is in another object, which may be absent.
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

/// The object in a field, which is made if there is none.
pub(super) fn object_at<'a>(
    object: &'a mut Value,
    field: &str,
) -> Option<&'a mut Map<String, Value>> {
    default(object, field, Map::new());
    object.get_mut(field)?.as_object_mut()
}
