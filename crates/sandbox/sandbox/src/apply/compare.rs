//! What differs between two objects.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::schema::{ListSchema, Schema};

use super::element::Element;
use super::fields::FieldSet;
use super::parts::{Fields, Pair, Parts, fields, index};

/// What differs between two objects.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// What only the new one has.
    pub(super) added: FieldSet,
    /// What both have, with different values.
    pub(super) modified: FieldSet,
    /// What only the old one has.
    pub(super) removed: FieldSet,
}

impl Comparison {
    /// Compares two objects.
    pub(super) fn of(old: &Value, new: &Value, schema: &Schema) -> Self {
        let mut comparison = Self::default();
        comparison.values(&mut Vec::new(), Pair { old: Some(old), new: Some(new) }, schema);
        comparison
    }

    /// What the new object has and the old one had not, or not like that.
    pub(super) fn set(&self) -> FieldSet {
        self.added.union(&self.modified)
    }

    /// Forgets what is not in the top-level fields that `keep` names.
    pub(super) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.added.retain(&keep);
        self.modified.retain(&keep);
        self.removed.retain(&keep);
    }

    fn values(&mut self, path: &mut Vec<Element>, sides: Pair<&Value>, schema: &Schema) {
        match Parts::of(sides, schema) {
            Parts::Whole => {
                if let (Some(old), Some(new)) = (sides.old, sides.new)
                    && !equal(old, new)
                {
                    self.modified.insert(path);
                }
                self.presence(path, sides);
            }
            Parts::Fields(objects, fields) => {
                self.fields(path, objects, fields);
                self.presence(path, sides);
            }
            Parts::Items(lists, list) => {
                self.items(path, lists, list);
                self.presence(path, sides);
            }
            Parts::Mixed(objects) => {
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

    /// Items that are there several times are compared as one thing.
    fn duplicates(&mut self, path: &[Element], old: &[&Value], new: &[&Value]) {
        let same = old.len() == new.len() && old.iter().zip(new).all(|(old, new)| equal(old, new));
        if !old.is_empty() && !new.is_empty() && !same {
            self.modified.insert(path);
        }
        self.presence(path, Pair { old: old.first(), new: new.first() });
    }
}

/// Whether two values are the same, as numbers are the same: `1` is `1.0`.
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
