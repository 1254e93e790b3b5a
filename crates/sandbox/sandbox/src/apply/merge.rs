//! The live object with what is applied laid over it, and objects with fields taken out.

use serde_json::{Map, Value};

use crate::schema::{ListSchema, Schema};

use super::element::Element;
use super::fields::FieldSet;
use super::parts::{Fields, Pair, Parts, fields, index, items};

/// `live` with `applied` laid over it. Nothing is removed.
pub(super) fn merge(live: &Value, applied: &Value, schema: &Schema) -> Value {
    match Parts::of(Pair { old: Some(live), new: Some(applied) }, schema) {
        Parts::Whole | Parts::Mixed(_) => applied.clone(),
        Parts::Fields(objects, fields) => Value::Object(merge_fields(objects, fields)),
        Parts::Items(lists, list) => {
            merge_items(lists.old.unwrap_or_default(), lists.new.unwrap_or_default(), list)
        }
    }
}

fn merge_fields(objects: Pair<&Map<String, Value>>, fields: Fields<'_>) -> Map<String, Value> {
    let mut merged = objects.old.cloned().unwrap_or_default();
    for (name, applied) in objects.new.into_iter().flatten() {
        let value = match merged.get(name) {
            Some(live) => merge(live, applied, fields.schema(name)),
            None => applied.clone(),
        };
        merged.insert(name.clone(), value);
    }
    merged
}

/// The applied items in their order. An item that only the live list has comes where it was: after
/// the item before it, if that stayed in its place.
fn merge_items(live: &[Value], applied: &[Value], list: &ListSchema) -> Value {
    let in_live = index(Some(live), list);
    let in_applied = index(Some(applied), list);
    let name = |item| Element::of_item(item, list).ok();
    let mut rest = applied.iter().filter_map(|item| Some((name(item)?, item)));
    let mut shared = applied.iter().filter_map(name).filter(|at| in_live.contains_key(at));
    let merged_with_live =
        |at: &Element, item| match in_live.get(at).and_then(|items| items.first()) {
            Some(live) => merge(live, item, &list.items),
            None => item.clone(),
        };
    let mut merged = Vec::with_capacity(live.len().max(applied.len()));
    let mut next_shared = shared.next();
    for item in live {
        let at = name(item);
        if at.as_ref().is_none_or(|at| !in_applied.contains_key(at)) {
            merged.push(item.clone());
        } else if at == next_shared {
            for (applied_at, item) in rest.by_ref() {
                merged.push(merged_with_live(&applied_at, item));
                if Some(applied_at) == at {
                    break;
                }
            }
            next_shared = shared.next();
        }
    }
    merged.extend(rest.map(|(at, item)| merged_with_live(&at, item)));
    Value::Array(merged)
}

/// `value` without the fields in `set`. What loses all of its parts is null: it goes if it is in
/// the set itself.
pub(super) fn remove(value: &Value, set: &FieldSet, schema: &Schema) -> Value {
    match (value, fields(schema), items(schema)) {
        (Value::Object(object), Some(fields), _) => {
            let left: Map<String, Value> = object
                .iter()
                .filter_map(|(name, value)| {
                    let value = remove_at(&Element::field(name), value, set, fields.schema(name));
                    Some((name.clone(), value?))
                })
                .collect();
            if left.is_empty() { Value::Null } else { Value::Object(left) }
        }
        (Value::Array(list), _, Some(schema)) => {
            let left: Vec<Value> = list
                .iter()
                .filter_map(|item| match Element::of_item(item, schema) {
                    Ok(at) => remove_at(&at, item, set, &schema.items),
                    Err(_) => Some(item.clone()),
                })
                .collect();
            if left.is_empty() { Value::Null } else { Value::Array(left) }
        }
        (Value::Object(_) | Value::Array(_), ..) => Value::Null,
        (scalar, ..) => scalar.clone(),
    }
}

fn remove_at(at: &Element, value: &Value, set: &FieldSet, schema: &Schema) -> Option<Value> {
    match set.below(at) {
        _ if set.has(at) => None,
        Some(below) => Some(remove(value, below, schema)),
        None => Some(value.clone()),
    }
}
