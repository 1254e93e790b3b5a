//! Strategic merge patch of objects.

use serde_json::{Map, Value};

use super::PatchError;
use super::error::DirectiveError;
use super::strategic_list as list;
use crate::schema::{ListSchema, ObjectSchema, Schema};

type Object = Map<String, Value>;

/// Directive of an object: `replace` or `delete`.
pub(super) const PATCH: &str = "$patch";
/// Directive: the only fields to keep.
const RETAIN_KEYS: &str = "$retainKeys";
/// Directive prefix: the order of the items of a list.
const SET_ORDER: &str = "$setElementOrder/";
/// Directive prefix: values to delete from a list.
const DELETE_VALUES: &str = "$deleteFromPrimitiveList/";

/// Merges `patch` into `object`.
pub(super) fn merge(
    mut object: Object,
    patch: &Object,
    schema: &Schema,
) -> Result<Object, PatchError> {
    match directive(patch)? {
        Some(Directive::Replace) => return Ok(plain_object(patch)),
        Some(Directive::Delete) => return Ok(Object::new()),
        None => {}
    }
    if let Some(keys) = patch.get(RETAIN_KEYS) {
        retain(&mut object, patch, keys)?;
    }
    // Delete first, so that a value that the patch deletes and adds is present.
    for (key, values) in patch {
        if let Some(field) = key.strip_prefix(DELETE_VALUES) {
            delete_values(&mut object, field, values, schema).map_err(|e| e.inside(field))?;
        }
    }
    for (field, value) in patch.iter().filter(|(key, _)| !is_directive(key)) {
        let order = patch.get(&format!("{SET_ORDER}{field}"));
        merge_field(&mut object, field, value, order, schema).map_err(|e| e.inside(field))?;
    }
    for (key, order) in patch {
        let field = key.strip_prefix(SET_ORDER).filter(|field| !patch.contains_key(*field));
        if let Some(field) = field {
            arrange(&mut object, field, order, schema).map_err(|e| e.inside(field))?;
        }
    }
    Ok(object)
}

pub(super) enum Directive {
    Replace,
    Delete,
}

/// The `$patch` directive.
pub(super) fn directive(patch: &Object) -> Result<Option<Directive>, DirectiveError> {
    match patch.get(PATCH) {
        None => Ok(None),
        Some(Value::String(text)) if text == "replace" => Ok(Some(Directive::Replace)),
        Some(Value::String(text)) if text == "delete" => Ok(Some(Directive::Delete)),
        Some(other) => Err(DirectiveError::Unknown(other.to_string())),
    }
}

fn is_directive(key: &str) -> bool {
    key == PATCH
        || key == RETAIN_KEYS
        || key.starts_with(SET_ORDER)
        || key.starts_with(DELETE_VALUES)
}

fn merge_field(
    object: &mut Object,
    field: &str,
    value: &Value,
    order: Option<&Value>,
    schema: &Schema,
) -> Result<(), PatchError> {
    let schema = field_schema(schema, field);
    let merged = match (object.remove(field), value) {
        (_, Value::Null) => return Ok(()),
        (Some(Value::Object(before)), Value::Object(patch)) if merges(schema) => {
            merge(before, patch, schema)?.into()
        }
        (Some(Value::Array(before)), Value::Array(patch)) => {
            list::merge(before, patch, order, list_schema(schema))?.into()
        }
        (before, Value::Array(patch)) => {
            if before.is_none() {
                list::check_order(patch, order, list_schema(schema))?;
            }
            plain(value)
        }
        _ => plain(value),
    };
    object.insert(field.to_owned(), merged);
    Ok(())
}

fn retain(object: &mut Object, patch: &Object, keys: &Value) -> Result<(), DirectiveError> {
    let keys = keys.as_array().ok_or(DirectiveError::RetainKeys)?;
    let keys: Option<std::collections::BTreeSet<&str>> = keys.iter().map(Value::as_str).collect();
    let keys = keys.ok_or(DirectiveError::RetainKeys)?;
    let set = patch.iter().filter(|(key, value)| !is_directive(key) && !value.is_null());
    if set.into_iter().any(|(key, _)| !keys.contains(key.as_str())) {
        return Err(DirectiveError::RetainKeys);
    }
    object.retain(|key, _| keys.contains(key.as_str()));
    Ok(())
}

fn delete_values(
    object: &mut Object,
    field: &str,
    values: &Value,
    schema: &Schema,
) -> Result<(), PatchError> {
    let Some(before) = object.get_mut(field) else { return Ok(()) };
    let (Value::Array(before), Value::Array(values)) = (before, values) else {
        return Err(DirectiveError::NotInAList.into());
    };
    list::delete_values(before, values, list_schema(field_schema(schema, field)))?;
    Ok(())
}

fn arrange(
    object: &mut Object,
    field: &str,
    order: &Value,
    schema: &Schema,
) -> Result<(), PatchError> {
    let Some(Value::Array(before)) = object.get_mut(field) else { return Ok(()) };
    let items = std::mem::take(before);
    *before = list::arrange(items, order, list_schema(field_schema(schema, field)))?;
    Ok(())
}

fn field_schema<'s>(schema: &'s Schema, field: &str) -> &'s Schema {
    let Schema::Object(object) = schema else { return &Schema::Deduced };
    object.fields.get(field).or(object.others.as_ref()).map_or(&Schema::Deduced, AsRef::as_ref)
}

fn list_schema(schema: &Schema) -> Option<&ListSchema> {
    match schema {
        Schema::List(list) => Some(list),
        _ => None,
    }
}

/// Whether an object merges field by field, like most that are atomic for server-side apply.
fn merges(schema: &Schema) -> bool {
    match schema {
        Schema::Object(ObjectSchema { fields, others, atomic }) => {
            !(*atomic && fields.is_empty() && others.is_none())
        }
        _ => true,
    }
}

/// A patch value without nulls and directives, for fields with nothing to merge with.
pub(super) fn plain(value: &Value) -> Value {
    match value {
        Value::Object(patch) => plain_object(patch).into(),
        Value::Array(items) => items.iter().map(plain).collect(),
        other => other.clone(),
    }
}

fn plain_object(patch: &Object) -> Object {
    let kept = patch.iter().filter(|(key, value)| !is_directive(key) && !value.is_null());
    kept.map(|(key, value)| (key.clone(), plain(value))).collect()
}
