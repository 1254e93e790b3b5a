//! What a value consists of, as its schema sees it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::schema::{ListKind, ListSchema, ObjectSchema, Schema};

use super::element::Element;
use super::fields::{FieldSet, Node};

/// How the two sides of a comparison or a merge are looked at.
pub(super) enum Parts<'a> {
    /// As a whole: there is nothing to merge, or it is not to be merged.
    Whole,
    /// Field by field.
    Fields(Pair<&'a Map<String, Value>>, Fields<'a>),
    /// Item by item.
    Items(Pair<&'a [Value]>, &'a ListSchema),
    /// Nothing is known, and the sides are of different kinds: at least one is an object.
    Mixed(Pair<&'a Map<String, Value>>),
}

/// What one side has and what the other has.
#[derive(Clone, Copy)]
pub(super) struct Pair<T> {
    pub(super) old: Option<T>,
    pub(super) new: Option<T>,
}

impl<T> Pair<T> {
    fn map<U>(self, change: impl Fn(T) -> Option<U>) -> Pair<U> {
        Pair { old: self.old.and_then(&change), new: self.new.and_then(&change) }
    }
}

/// What the fields of an object are.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(Option<&'a ObjectSchema>);

impl<'a> Fields<'a> {
    /// What the field `name` is.
    pub(super) fn schema(self, name: &str) -> &'a Schema {
        let known = self.0.and_then(|object| object.fields.get(name).or(object.others.as_ref()));
        known.map_or(&Schema::Deduced, |schema| schema)
    }

    /// Whether the type has a field of this name, rather than being a map that has a key. Where a
    /// schema knows some fields of a type and nothing of the others, they are fields all the same.
    pub(super) fn names(self, name: &str) -> bool {
        self.0.is_some_and(|object| match object.others.as_deref() {
            None => true,
            Some(Schema::Deduced) => !object.fields.is_empty(),
            Some(_) => object.fields.contains_key(name),
        })
    }
}

/// What the fields of an object of this schema are; `None` if it is not taken field by field.
pub(super) fn fields(schema: &Schema) -> Option<Fields<'_>> {
    match schema {
        Schema::Object(object) if !object.atomic => Some(Fields(Some(object))),
        Schema::Deduced => Some(Fields(None)),
        _ => None,
    }
}

/// What a list of this schema is; `None` if it is not taken item by item.
pub(super) fn items(schema: &Schema) -> Option<&ListSchema> {
    match schema {
        Schema::List(list) if list.kind != ListKind::Atomic => Some(list),
        _ => None,
    }
}

impl<'a> Parts<'a> {
    /// How the two are looked at.
    pub(super) fn of(sides: Pair<&'a Value>, schema: &'a Schema) -> Self {
        if let Some(list) = items(schema) {
            let lists = sides.map(|side| side.as_array().map(Vec::as_slice));
            return if sizes(lists, <[Value]>::len) == 0 {
                Self::Whole
            } else {
                Self::Items(lists, list)
            };
        }
        let Some(fields) = fields(schema) else { return Self::Whole };
        let objects = sides.map(Value::as_object);
        let foreign = [sides.old, sides.new].into_iter().flatten();
        let mixed = foreign.filter(|side| !side.is_object() && !side.is_null()).count() > 0;
        match (sizes(objects, Map::len), mixed && *schema == Schema::Deduced) {
            (0, _) => Self::Whole,
            (_, true) => Self::Mixed(objects),
            (_, false) => Self::Fields(objects, fields),
        }
    }
}

fn sizes<T: Copy>(sides: Pair<T>, size: impl Fn(T) -> usize) -> usize {
    sides.old.map_or(0, &size) + sides.new.map_or(0, &size)
}

/// The items of a list by what identifies them, several where a stored list has duplicates. Items
/// that nothing identifies are left out; [`check`](super::check) has refused them where it matters.
pub(super) fn index<'a>(
    list: Option<&'a [Value]>,
    schema: &ListSchema,
) -> BTreeMap<Element, Vec<&'a Value>> {
    let mut index: BTreeMap<Element, Vec<&Value>> = BTreeMap::new();
    for item in list.unwrap_or_default() {
        if let Ok(at) = Element::of_item(item, schema) {
            index.entry(at).or_default().push(item);
        }
    }
    index
}

/// Everything that `value` sets, with what the API server never tracks.
pub(super) fn set_by(value: &Value, schema: &Schema) -> FieldSet {
    node_of(value, schema).below
}

fn node_of(value: &Value, schema: &Schema) -> Node {
    match (value, fields(schema), items(schema)) {
        (Value::Object(object), Some(fields), _) => {
            let mut below = FieldSet::default();
            for (name, value) in object {
                let mut node = node_of(value, fields.schema(name));
                let empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                node.member |= empty || !fields.names(name);
                below.put(Element::field(name), node);
            }
            Node { member: false, below }
        }
        (Value::Array(list), _, Some(schema)) => {
            let mut below = FieldSet::default();
            for (at, items) in index(Some(list), schema) {
                // What is there twice cannot be told apart further down.
                let inside = match items.as_slice() {
                    [item] => node_of(item, &schema.items).below,
                    _ => FieldSet::default(),
                };
                below.put(at, Node { member: true, below: inside });
            }
            Node { member: false, below }
        }
        (Value::Null, _, Some(_)) => Node::default(),
        _ => Node { member: true, below: FieldSet::default() },
    }
}
