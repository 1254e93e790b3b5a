//! Comparison, merging and removal of fields.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::decomposition::{Decomposition, Fields, Pair, fields, index, items};
use super::fields::Element;
use super::fields::FieldSet;
use crate::schema::{ListSchema, Schema};

/// Merges `applied` into `live` without removing fields.
pub(super) fn merge(live: &Value, applied: &Value, schema: &Schema) -> Value {
    match Decomposition::new(Pair { old: Some(live), new: Some(applied) }, schema) {
        Decomposition::Whole | Decomposition::Mixed(_) => applied.clone(),
        Decomposition::Fields(objects, fields) => Value::Object(merge_fields(objects, fields)),
        Decomposition::Items(lists, list) => {
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

/// Merges list items in applied order. An item that only the live list has keeps its position after
/// its predecessor, if that did not move.
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

/// Removes the fields of a set. A value that loses all parts becomes null, and is removed if it is
/// in the set itself.
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

/// Differences between two objects.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// Fields of the new object only.
    pub(super) added: FieldSet,
    /// Fields with different values.
    pub(super) modified: FieldSet,
    /// Fields of the old object only.
    pub(super) removed: FieldSet,
}

impl Comparison {
    /// Compares two objects.
    pub(super) fn new(old: &Value, new: &Value, schema: &Schema) -> Self {
        let mut comparison = Self::default();
        comparison.values(&mut Vec::new(), Pair { old: Some(old), new: Some(new) }, schema);
        comparison
    }

    /// Fields that are added or modified.
    pub(super) fn set(&self) -> FieldSet {
        self.added.union(&self.modified)
    }

    /// Keeps only the top-level fields that `keep` selects.
    pub(super) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.added.retain(&keep);
        self.modified.retain(&keep);
        self.removed.retain(&keep);
    }

    fn values(&mut self, path: &mut Vec<Element>, sides: Pair<&Value>, schema: &Schema) {
        match Decomposition::new(sides, schema) {
            Decomposition::Whole => {
                if let (Some(old), Some(new)) = (sides.old, sides.new)
                    && !equal(old, new)
                {
                    self.modified.insert(path);
                }
                self.presence(path, sides);
            }
            Decomposition::Fields(objects, fields) => {
                self.fields(path, objects, fields);
                self.presence(path, sides);
            }
            Decomposition::Items(lists, list) => {
                self.items(path, lists, list);
                self.presence(path, sides);
            }
            Decomposition::Mixed(objects) => {
                self.modified.insert(path);
                if let Some(fields) = fields(schema) {
                    self.fields(path, objects, fields);
                }
            }
        }
    }

    fn presence<T>(&mut self, path: &[Element], sides: Pair<T>) {
        match (sides.old, sides.new) {
            (None, Some(_)) => self.added.insert(path),
            (Some(_), None) => self.removed.insert(path),
            _ => {}
        }
    }

    fn fields(
        &mut self,
        path: &mut Vec<Element>,
        objects: Pair<&Map<String, Value>>,
        fields: Fields<'_>,
    ) {
        let sides = [objects.old, objects.new].into_iter().flatten();
        let names: BTreeSet<&String> = sides.flat_map(Map::keys).collect();
        for name in names {
            path.push(Element::field(name));
            let pair = Pair {
                old: objects.old.and_then(|object| object.get(name)),
                new: objects.new.and_then(|object| object.get(name)),
            };
            self.values(path, pair, fields.schema(name));
            path.pop();
        }
    }

    fn items(&mut self, path: &mut Vec<Element>, lists: Pair<&[Value]>, list: &ListSchema) {
        let (mut old, mut new) = (index(lists.old, list), index(lists.new, list));
        let names: BTreeSet<Element> = old.keys().chain(new.keys()).cloned().collect();
        for at in names {
            let (old, new) =
                (old.remove(&at).unwrap_or_default(), new.remove(&at).unwrap_or_default());
            path.push(at);
            if old.len() > 1 || new.len() > 1 {
                self.duplicates(path, &old, &new);
            } else {
                let pair = Pair { old: old.first().copied(), new: new.first().copied() };
                self.values(path, pair, &list.items);
            }
            path.pop();
        }
    }

    /// Compares items with duplicate keys as a whole.
    fn duplicates(&mut self, path: &[Element], old: &[&Value], new: &[&Value]) {
        let same = old.len() == new.len() && old.iter().zip(new).all(|(old, new)| equal(old, new));
        if !old.is_empty() && !new.is_empty() && !same {
            self.modified.insert(path);
        }
        self.presence(path, Pair { old: old.first(), new: new.first() });
    }
}

/// Whether two values are equal. Numbers are compared by value: `1` equals `1.0`.
pub(super) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || (left.is_f64() || right.is_f64()) && left.as_f64() == right.as_f64()
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(name, left)| right.get(name).is_some_and(|right| equal(left, right)))
        }
        _ => left == right,
    }
}
