//! Sets of fields, and how `managedFields` writes them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::{Map, Value};

use super::element::Element;

/// A set of paths into an object. That a path is in it says nothing of those below or above.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    nodes: BTreeMap<Element, Node>,
}

/// What a set has at and below one path. One of the two holds, or the node is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    /// Whether the path itself is in the set.
    pub(super) member: bool,
    /// What is in the set below it.
    pub(super) below: FieldSet,
}

/// Why a `FieldsV1` cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The name of a field is not one of the forms there are.
    #[error("{0:?} is not a path element")]
    Element(String),
    /// Something other than an object is where only an object can be.
    #[error("a field set contains only objects")]
    NoObject,
    /// It is nested deeper than any object can be.
    #[error("a field set is nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// A part of an entry of `managedFields` is missing or not what it should be.
    #[error("invalid path element {0}")]
    Entry(&'static str),
}

/// As deep as JSON may be nested where it is read; what is deeper never was an object.
const MAX_DEPTH: usize = 128;

/// Stands for the node itself among those below it.
const ITSELF: &str = ".";

impl FieldSet {
    /// Whether no path is in it.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds one path. The empty one, which is the whole object, is in no set.
    pub fn insert(&mut self, path: &[Element]) {
        match path {
            [] => {}
            [last] => self.nodes.entry(last.clone()).or_default().member = true,
            [first, rest @ ..] => self.nodes.entry(first.clone()).or_default().below.insert(rest),
        }
    }

    /// Whether `path` is in it.
    pub fn contains(&self, path: &[Element]) -> bool {
        match path {
            [] => false,
            [last] => self.has(last),
            [first, rest @ ..] => self.below(first).is_some_and(|below| below.contains(rest)),
        }
    }

    /// All paths in it: those that end here before those that go on.
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

    /// What is in either.
    pub fn union(&self, other: &Self) -> Self {
        let mut union = self.clone();
        for (at, node) in &other.nodes {
            match union.nodes.entry(at.clone()) {
                Entry::Vacant(free) => {
                    free.insert(node.clone());
                }
                Entry::Occupied(mut taken) => {
                    let taken = taken.get_mut();
                    taken.member |= node.member;
                    taken.below = taken.below.union(&node.below);
                }
            }
        }
        union
    }

    /// What is in this one and not in `other`.
    pub fn difference(&self, other: &Self) -> Self {
        self.map_nodes(|at, node| match other.nodes.get(at) {
            None => node.clone(),
            Some(taken) => Node {
                member: node.member && !taken.member,
                below: node.below.difference(&taken.below),
            },
        })
    }

    /// What is in both.
    pub fn intersection(&self, other: &Self) -> Self {
        self.map_nodes(|at, node| match other.nodes.get(at) {
            None => Node::default(),
            Some(shared) => Node {
                member: node.member && shared.member,
                below: node.below.intersection(&shared.below),
            },
        })
    }

    /// What lies in the top-level fields that `keep` names.
    pub(super) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.nodes.retain(|at, _| matches!(at, Element::Field(name) if keep(name)));
    }

    /// The set with every node changed by `change`.
    pub(super) fn map_nodes(&self, change: impl Fn(&Element, &Node) -> Node) -> Self {
        let mut changed = Self::default();
        for (at, node) in &self.nodes {
            changed.put(at.clone(), change(at, node));
        }
        changed
    }

    /// Sets what is at and below `at`.
    pub(super) fn put(&mut self, at: Element, node: Node) {
        if node.member || !node.below.is_empty() {
            self.nodes.insert(at, node);
        }
    }

    /// Whether the path of this one element is in it.
    pub(super) fn has(&self, at: &Element) -> bool {
        self.nodes.get(at).is_some_and(|node| node.member)
    }

    /// What is in it below `at`, if anything is.
    pub(super) fn below(&self, at: &Element) -> Option<&Self> {
        self.nodes.get(at).map(|node| &node.below).filter(|below| !below.is_empty())
    }

    /// The set as `FieldsV1`.
    pub fn encode(&self) -> Value {
        Value::Object(self.nodes.iter().map(|(at, node)| (at.encode(), node.encode())).collect())
    }

    /// Reads a `FieldsV1`.
    pub fn decode(encoded: &Value) -> Result<Self, DecodeError> {
        Self::decode_at(as_object(encoded)?, 0)
    }

    fn decode_at(encoded: &Map<String, Value>, depth: usize) -> Result<Self, DecodeError> {
        if depth > MAX_DEPTH {
            return Err(DecodeError::TooDeep);
        }
        let mut set = Self::default();
        for (text, inside) in encoded.iter().filter(|(text, _)| *text != ITSELF) {
            if let Some(at) = Element::decode(text)? {
                let inside = as_object(inside)?;
                let below = Self::decode_at(inside, depth + 1)?;
                let member = inside.is_empty() || inside.contains_key(ITSELF);
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
            encoded.insert(ITSELF.into(), Value::Object(Map::new()));
        }
        encoded
    }
}

fn as_object(value: &Value) -> Result<&Map<String, Value>, DecodeError> {
    value.as_object().ok_or(DecodeError::NoObject)
}

/// How a path is written for people: `.spec.containers[name="a"].image`.
pub fn path_text(path: &[Element]) -> String {
    path.iter().map(ToString::to_string).collect()
}
