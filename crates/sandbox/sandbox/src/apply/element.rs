//! One step of a path into an object.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::schema::{ListKind, ListSchema};

use super::fields::DecodeError;

/// One step of a path into an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    /// The field of an object.
    Field(String),
    /// The item of a list that has these values in its key fields.
    Key(BTreeMap<String, Canonical>),
    /// The item of a list that is this value.
    Value(Canonical),
    /// The item at this place of a list.
    Index(i64),
}

/// A value as the one JSON text for it, so that values can be compared and sorted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Canonical(String);

impl Canonical {
    /// The text of `value`.
    pub fn of(value: &Value) -> Self {
        let text = value.to_string();
        // `1.0` is the same value as `1`.
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

/// Why an item of a list has no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ItemProblem {
    /// It lacks a key.
    #[error(
        "associative list with keys has an element that omits key field {0:?} (and doesn't have default value)"
    )]
    MissingKey(String),
    /// It is null, and so has no keys.
    #[error("associative list with keys may not have a null element")]
    NullInMap,
    /// It is no object, and so has no keys.
    #[error("associative list with keys may not have non-map elements")]
    NoObject,
    /// It is an object, which no set can hold.
    #[error("associative list without keys has an element that's a map type")]
    ObjectInSet,
    /// It is a list, which no set can hold.
    #[error("not supported: associative list with lists as elements")]
    ListInSet,
    /// It is null, which no set can hold.
    #[error("associative list without keys has an element that's an explicit null")]
    NullInSet,
}

impl Element {
    /// The field `name`.
    pub fn field(name: impl Into<String>) -> Self {
        Self::Field(name.into())
    }

    /// What identifies `item` in a list that is not taken whole.
    pub(super) fn of_item(item: &Value, list: &ListSchema) -> Result<Self, ItemProblem> {
        match &list.kind {
            ListKind::Map(keys) => key_of(item, keys),
            ListKind::Set | ListKind::Atomic => value_of(item),
        }
    }

    /// Reads an element as `FieldsV1` writes it; `None` if it is of a kind that is not known, which
    /// a later version may have written.
    pub(super) fn decode(text: &str) -> Result<Option<Self>, DecodeError> {
        let wrong = || DecodeError::Element(text.to_owned());
        let Some((kind, rest)) = text.split_once(':') else { return Err(wrong()) };
        Ok(Some(match kind {
            "f" => Self::field(rest),
            "k" => Self::Key(
                serde_json::from_str::<BTreeMap<String, Value>>(rest)
                    .map_err(|_| wrong())?
                    .into_iter()
                    .map(|(name, value)| (name, Canonical::of(&value)))
                    .collect(),
            ),
            "v" => Self::Value(Canonical::of(
                &serde_json::from_str::<Value>(rest).map_err(|_| wrong())?,
            )),
            "i" => Self::Index(rest.parse().map_err(|_| wrong())?),
            _ => return Ok(None),
        }))
    }

    /// The element as `FieldsV1` writes it.
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

fn key_of(item: &Value, keys: &[(String, Option<Value>)]) -> Result<Element, ItemProblem> {
    let object = match item {
        Value::Object(object) => object,
        Value::Null => return Err(ItemProblem::NullInMap),
        _ => return Err(ItemProblem::NoObject),
    };
    let named = keys.iter().map(|(name, default)| {
        let value = object.get(name).or(default.as_ref());
        let value = value.ok_or_else(|| ItemProblem::MissingKey(name.clone()))?;
        Ok((name.clone(), Canonical::of(value)))
    });
    named.collect::<Result<_, _>>().map(Element::Key)
}

fn value_of(item: &Value) -> Result<Element, ItemProblem> {
    match item {
        Value::Object(_) => Err(ItemProblem::ObjectInSet),
        Value::Array(_) => Err(ItemProblem::ListInSet),
        Value::Null => Err(ItemProblem::NullInSet),
        scalar => Ok(Element::Value(Canonical::of(scalar))),
    }
}

impl fmt::Display for Element {
    /// As conflicts name fields: `.spec`, `[name="a"]`, `[="a"]`, `[0]`.
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
