//! Field paths, and sets of them with their `FieldsV1` encoding.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use serde_json::{Map, Value};

use crate::schema::{ListKind, ListSchema};

/// Nesting limit of the JSON parser.
const MAX_DEPTH: usize = 128;

/// Key of the node itself among its children.
const SELF_KEY: &str = ".";

/// An element of a field path (`fieldpath.PathElement` in structured-merge-diff).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    /// A field of an object.
    Field(String),
    /// A list item with these values in its key fields.
    Key(BTreeMap<String, Canonical>),
    /// A set item.
    Value(Canonical),
    /// A list item by position.
    Index(i64),
}

/// The canonical JSON text of a value, which can be compared and sorted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Canonical(String);

impl Canonical {
    /// The canonical text of a value.
    pub fn new(value: &Value) -> Self {
        let text = value.to_string();
        // `1.0` and `1` are the same value.
        match text.strip_suffix(".0") {
            Some(whole) if value.is_number() => Self(whole.to_owned()),
            _ => Self(text),
        }
    }
}

impl fmt::Display for Canonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a list item has no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ItemKeyError {
    /// It lacks a key field.
    #[error(
        "associative list with keys has an element that omits key field {0:?} (and doesn't have default value)"
    )]
    MissingKey(String),
    /// It is null.
    #[error("associative list with keys may not have a null element")]
    NullInMap,
    /// It is not an object.
    #[error("associative list with keys may not have non-map elements")]
    NoObject,
    /// It is an object in a set.
    #[error("associative list without keys has an element that's a map type")]
    ObjectInSet,
    /// It is a list in a set.
    #[error("not supported: associative list with lists as elements")]
    ListInSet,
    /// It is null in a set.
    #[error("associative list without keys has an element that's an explicit null")]
    NullInSet,
}

impl Element {
    /// The field `name`.
    pub fn field(name: impl Into<String>) -> Self {
        Self::Field(name.into())
    }

    /// The key of a list item.
    pub(super) fn of_item(item: &Value, list: &ListSchema) -> Result<Self, ItemKeyError> {
        match &list.kind {
            ListKind::Map(keys) => key_of(item, keys),
            ListKind::Set | ListKind::Atomic => value_of(item),
        }
    }

    /// Decodes an element of `FieldsV1`; `None` for unknown types of newer versions.
    pub(super) fn decode(text: &str) -> Result<Option<Self>, DecodeError> {
        let invalid = || DecodeError::Element(text.to_owned());
        let Some((kind, rest)) = text.split_once(':') else { return Err(invalid()) };
        Ok(Some(match kind {
            "f" => Self::field(rest),
            "k" => Self::Key(
                serde_json::from_str::<BTreeMap<String, Value>>(rest)
                    .map_err(|_| invalid())?
                    .into_iter()
                    .map(|(name, value)| (name, Canonical::new(&value)))
                    .collect(),
            ),
            "v" => Self::Value(Canonical::new(
                &serde_json::from_str::<Value>(rest).map_err(|_| invalid())?,
            )),
            "i" => Self::Index(rest.parse().map_err(|_| invalid())?),
            _ => return Ok(None),
        }))
    }

    /// Encodes an element for `FieldsV1`.
    pub(super) fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(keys) => {
                let keys: Vec<String> = keys
                    .iter()
                    .map(|(name, value)| format!("{}:{value}", Value::from(name.as_str())))
                    .collect();
                format!("k:{{{}}}", keys.join(","))
            }
            Self::Value(value) => format!("v:{value}"),
            Self::Index(index) => format!("i:{index}"),
        }
    }
}

fn key_of(item: &Value, keys: &[(String, Option<Value>)]) -> Result<Element, ItemKeyError> {
    let object = match item {
        Value::Object(object) => object,
        Value::Null => return Err(ItemKeyError::NullInMap),
        _ => return Err(ItemKeyError::NoObject),
    };
    let named = keys.iter().map(|(name, default)| {
        let value = object.get(name).or(default.as_ref());
        let value = value.ok_or_else(|| ItemKeyError::MissingKey(name.clone()))?;
        Ok((name.clone(), Canonical::new(value)))
    });
    named.collect::<Result<_, _>>().map(Element::Key)
}

fn value_of(item: &Value) -> Result<Element, ItemKeyError> {
    match item {
        Value::Object(_) => Err(ItemKeyError::ObjectInSet),
        Value::Array(_) => Err(ItemKeyError::ListInSet),
        Value::Null => Err(ItemKeyError::NullInSet),
        scalar => Ok(Element::Value(Canonical::new(scalar))),
    }
}

impl fmt::Display for Element {
    /// Formats an element as in conflict messages: `.spec`, `[name="a"]`, `[="a"]`, `[0]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(keys) => {
                let keys: Vec<String> =
                    keys.iter().map(|(name, value)| format!("{name}={value}")).collect();
                write!(f, "[{}]", keys.join(","))
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// A set of field paths. Membership of a path does not imply that of its parents or children.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    nodes: BTreeMap<Element, Node>,
}

/// The set at and below one path. Nodes that are neither members nor have children are not stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    /// Whether the path itself is in the set.
    pub(super) member: bool,
    /// The paths below it.
    pub(super) below: FieldSet,
}

/// Why `FieldsV1` cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Unknown path element.
    #[error("{0:?} is not a path element")]
    Element(String),
    /// A value is not an object.
    #[error("a field set contains only objects")]
    NoObject,
    /// The nesting is too deep.
    #[error("a field set is nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// A field of a managedFields entry is missing or invalid.
    #[error("invalid path element {0}")]
    Entry(&'static str),
}

impl FieldSet {
    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds a path. The empty path is ignored.
    pub fn insert(&mut self, path: &[Element]) {
        match path {
            [] => {}
            [last] => self.nodes.entry(last.clone()).or_default().member = true,
            [first, rest @ ..] => self.nodes.entry(first.clone()).or_default().below.insert(rest),
        }
    }

    /// Whether it contains a path.
    pub fn contains(&self, path: &[Element]) -> bool {
        match path {
            [] => false,
            [last] => self.has(last),
            [first, rest @ ..] => self.below(first).is_some_and(|below| below.contains(rest)),
        }
    }

    /// All paths. At each level, paths that end there come first.
    pub fn paths(&self) -> Vec<Vec<Element>> {
        let ending = self.nodes.iter().filter(|(_, node)| node.member);
        let mut paths: Vec<Vec<Element>> = ending.map(|(at, _)| vec![at.clone()]).collect();
        for (at, node) in &self.nodes {
            paths.extend(node.below.paths().into_iter().map(|mut path| {
                path.insert(0, at.clone());
                path
            }));
        }
        paths
    }

    /// The union of two sets.
    pub fn union(&self, other: &Self) -> Self {
        let mut union = self.clone();
        for (at, node) in &other.nodes {
            match union.nodes.entry(at.clone()) {
                Entry::Vacant(vacant) => {
                    vacant.insert(node.clone());
                }
                Entry::Occupied(mut existing) => {
                    let existing = existing.get_mut();
                    existing.member |= node.member;
                    existing.below = existing.below.union(&node.below);
                }
            }
        }
        union
    }

    /// The paths of this set that `other` does not contain.
    pub fn difference(&self, other: &Self) -> Self {
        self.map_nodes(|at, node| match other.nodes.get(at) {
            None => node.clone(),
            Some(existing) => Node {
                member: node.member && !existing.member,
                below: node.below.difference(&existing.below),
            },
        })
    }

    /// The intersection of two sets.
    pub fn intersection(&self, other: &Self) -> Self {
        self.map_nodes(|at, node| match other.nodes.get(at) {
            None => Node::default(),
            Some(shared) => Node {
                member: node.member && shared.member,
                below: node.below.intersection(&shared.below),
            },
        })
    }

    /// Keeps only the top-level fields that `keep` selects.
    pub(super) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.nodes.retain(|at, _| matches!(at, Element::Field(name) if keep(name)));
    }

    /// The set with every node mapped.
    pub(super) fn map_nodes(&self, change: impl Fn(&Element, &Node) -> Node) -> Self {
        let mut changed = Self::default();
        for (at, node) in &self.nodes {
            changed.put(at.clone(), change(at, node));
        }
        changed
    }

    /// Sets the node of an element, unless it is empty.
    pub(super) fn put(&mut self, at: Element, node: Node) {
        if node.member || !node.below.is_empty() {
            self.nodes.insert(at, node);
        }
    }

    /// Whether it contains the path of a single element.
    pub(super) fn has(&self, at: &Element) -> bool {
        self.nodes.get(at).is_some_and(|node| node.member)
    }

    /// The non-empty set below an element.
    pub(super) fn below(&self, at: &Element) -> Option<&Self> {
        self.nodes.get(at).map(|node| &node.below).filter(|below| !below.is_empty())
    }

    /// Encodes the set as `FieldsV1`.
    pub fn encode(&self) -> Value {
        Value::Object(self.nodes.iter().map(|(at, node)| (at.encode(), node.encode())).collect())
    }

    /// Decodes `FieldsV1`.
    pub fn decode(encoded: &Value) -> Result<Self, DecodeError> {
        Self::decode_at(as_object(encoded)?, 0)
    }

    fn decode_at(encoded: &Map<String, Value>, depth: usize) -> Result<Self, DecodeError> {
        if depth > MAX_DEPTH {
            return Err(DecodeError::TooDeep);
        }
        let mut set = Self::default();
        for (text, inside) in encoded.iter().filter(|(text, _)| *text != SELF_KEY) {
            if let Some(at) = Element::decode(text)? {
                let inside = as_object(inside)?;
                let below = Self::decode_at(inside, depth + 1)?;
                let member = inside.is_empty() || inside.contains_key(SELF_KEY);
                set.put(at, Node { member, below });
            }
        }
        Ok(set)
    }
}

impl Node {
    fn encode(&self) -> Value {
        let mut encoded = self.below.encode();
        if let Value::Object(encoded) = &mut encoded
            && self.member
            && !encoded.is_empty()
        {
            encoded.insert(SELF_KEY.into(), Value::Object(Map::new()));
        }
        encoded
    }
}

fn as_object(value: &Value) -> Result<&Map<String, Value>, DecodeError> {
    value.as_object().ok_or(DecodeError::NoObject)
}

/// Formats a path: `.spec.containers[name="a"].image`.
pub fn path_text(path: &[Element]) -> String {
    path.iter().map(ToString::to_string).collect()
}
