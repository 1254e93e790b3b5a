//! Decomposition of objects into fields by their schema.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value};

use super::fields::{Element, ItemKeyError};
use super::fields::{FieldSet, Node, path_text};
use crate::schema::{ListKind, ListSchema, ObjectSchema, Schema};

/// How two values are compared or merged.
pub(super) enum Decomposition<'a> {
    /// As a whole.
    Whole,
    /// Field by field.
    Fields(Pair<&'a Map<String, Value>>, Fields<'a>),
    /// Item by item.
    Items(Pair<&'a [Value]>, &'a ListSchema),
    /// The schema is unknown and the types differ; at least one value is an object.
    Mixed(Pair<&'a Map<String, Value>>),
}

/// Two sides of a comparison or merge.
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

/// Schemas of the fields of an object.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(Option<&'a ObjectSchema>);

impl<'a> Fields<'a> {
    /// The schema of a field.
    pub(super) fn schema(self, name: &str) -> &'a Schema {
        let known = self.0.and_then(|object| object.fields.get(name).or(object.others.as_ref()));
        known.map_or(&Schema::Deduced, |schema| schema)
    }

    /// Whether the name is a declared field rather than a map key. If the schema declares some
    /// fields and preserves unknown ones, unknown fields count as declared.
    pub(super) fn names(self, name: &str) -> bool {
        self.0.is_some_and(|object| match object.others.as_deref() {
            None => true,
            Some(Schema::Deduced) => !object.fields.is_empty(),
            Some(_) => object.fields.contains_key(name),
        })
    }
}

/// Field schemas of a granular object; `None` for atomic objects and other types.
pub(super) fn fields(schema: &Schema) -> Option<Fields<'_>> {
    match schema {
        Schema::Object(object) if !object.atomic => Some(Fields(Some(object))),
        Schema::Deduced => Some(Fields(None)),
        _ => None,
    }
}

/// Schema of a list with item identity; `None` for atomic lists and other types.
pub(super) fn items(schema: &Schema) -> Option<&ListSchema> {
    match schema {
        Schema::List(list) if list.kind != ListKind::Atomic => Some(list),
        _ => None,
    }
}

impl<'a> Decomposition<'a> {
    /// Decomposes two values.
    pub(super) fn new(sides: Pair<&'a Value>, schema: &'a Schema) -> Self {
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

/// List items by key, several per key if a stored list has duplicates. Items without key are
/// omitted; [`check`] refuses them where needed.
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

/// All fields that a value sets, including those without ownership.
pub(super) fn fields_set_by(value: &Value, schema: &Schema) -> FieldSet {
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
                // Duplicates cannot be told apart below their key.
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

/// A value that cannot be decomposed, and its path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct Malformed {
    /// The path, such as `.spec.containers`.
    pub path: String,
    /// The problem.
    pub problem: MalformedReason,
}

/// Why a value cannot be decomposed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedReason {
    /// A list item has no key.
    #[error("element {index}: {problem}")]
    Item {
        /// The index of the item.
        index: usize,
        /// The reason.
        problem: ItemKeyError,
    },
    /// Two list items have the same key.
    #[error("duplicate entries for key {0}")]
    Duplicate(Element),
    /// Expected an object.
    #[error("expected map, got &{{{}}}", GoText(.0))]
    NoObject(Value),
    /// Expected a list.
    #[error("expected list, got &{{{}}}", GoText(.0))]
    NoList(Value),
}

/// A value as Go prints it, for messages of the API server.
struct GoText<'a>(&'a Value);

impl fmt::Display for GoText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => f.write_str("<nil>"),
            Value::String(text) => f.write_str(text),
            Value::Array(items) => {
                let items: Vec<String> =
                    items.iter().map(|item| GoText(item).to_string()).collect();
                write!(f, "[{}]", items.join(" "))
            }
            Value::Object(fields) => {
                let fields = fields.iter().map(|(name, value)| format!("{name}:{}", GoText(value)));
                write!(f, "map[{}]", fields.collect::<Vec<_>>().join(" "))
            }
            Value::Bool(_) | Value::Number(_) => write!(f, "{}", self.0),
        }
    }
}

/// Whether lists may contain duplicates. Stored lists may, applied lists may not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Duplicates {
    Allowed,
    Refused,
}

/// Returns the first problem.
pub(super) fn check(
    value: &Value,
    schema: &Schema,
    duplicates: Duplicates,
) -> Result<(), Malformed> {
    check_at(&mut Vec::new(), value, schema, duplicates)
}

fn check_at(
    path: &mut Vec<Element>,
    value: &Value,
    schema: &Schema,
    duplicates: Duplicates,
) -> Result<(), Malformed> {
    let malformed = |path: &[Element], problem| Malformed { path: path_text(path), problem };
    match (value, schema) {
        (Value::Null, _) => Ok(()),
        (other, Schema::Object(_)) if !other.is_object() => {
            Err(malformed(path, MalformedReason::NoObject(other.clone())))
        }
        (other, Schema::List(_)) if !other.is_array() => {
            Err(malformed(path, MalformedReason::NoList(other.clone())))
        }
        (Value::Object(object), _) => {
            let Some(fields) = fields(schema) else { return Ok(()) };
            for (name, value) in object {
                path.push(Element::field(name));
                check_at(path, value, fields.schema(name), duplicates)?;
                path.pop();
            }
            Ok(())
        }
        (Value::Array(list), _) => {
            let Some(schema) = items(schema) else { return Ok(()) };
            let mut seen = BTreeSet::new();
            for (index, item) in list.iter().enumerate() {
                let at = Element::of_item(item, schema)
                    .map_err(|problem| malformed(path, MalformedReason::Item { index, problem }))?;
                if !seen.insert(at.clone()) && duplicates == Duplicates::Refused {
                    return Err(malformed(path, MalformedReason::Duplicate(at)));
                }
                path.push(at);
                check_at(path, item, &schema.items, duplicates)?;
                path.pop();
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Adds the parents of all members that are declared fields: the owner of a part owns its
/// structure.
pub(super) fn with_structures(set: &FieldSet, schema: &Schema) -> FieldSet {
    let fields = fields(schema);
    set.map_nodes(|at, node| {
        let named =
            matches!((at, fields), (Element::Field(name), Some(fields)) if fields.names(name));
        let below = with_structures(&node.below, inside(at, schema));
        Node { member: node.member || named, below }
    })
}

/// Adjusts a set to a changed schema (`ReconcileFieldSetWithSchema` in structured-merge-diff). The
/// owner of an atomic value that became granular owns all its current parts. The owner of parts of
/// a value that became atomic owns the whole.
///
/// As in the API server, the former is indistinguishable from owning an empty structure, so such
/// owners also take over what other managers set there.
pub(super) fn reconcile(set: &FieldSet, live: Option<&FieldSet>, schema: &Schema) -> FieldSet {
    set.map_nodes(|at, node| {
        let (schema, live) = (inside(at, schema), live.and_then(|live| live.below(at)));
        let has_parts = fields(schema).is_some() || items(schema).is_some();
        let below = match (has_parts, node.below.is_empty()) {
            (true, true) => live.cloned().unwrap_or_default(),
            (true, false) => reconcile(&node.below, live, schema),
            (false, _) => FieldSet::default(),
        };
        Node { member: node.member || !has_parts, below }
    })
}

/// The schema of an element.
fn inside<'a>(at: &Element, schema: &'a Schema) -> &'a Schema {
    match (at, fields(schema), items(schema)) {
        (Element::Field(name), Some(fields), _) => fields.schema(name),
        (Element::Key(_) | Element::Value(_), _, Some(list)) => &list.items,
        _ => &Schema::Deduced,
    }
}
