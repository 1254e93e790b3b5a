//! A YAML document with the place of everything in it.

use std::fmt;
use std::ops::Range;

use fairway_api::read;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

/// A value and its place in the text, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    pub(super) value: Value,
    pub(super) span: Range<usize>,
}

/// What a value is to readers of YAML that know no schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Nothing, yes or no.
    Constant,
    Number,
    Text(String),
    List(Vec<Tree>),
    Map(Vec<(Key, Tree)>),
}

/// A key of a map and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) span: Range<usize>,
}

impl Tree {
    /// Reads a document; what is no YAML is for others to complain about.
    pub(super) fn read(path: &str, bytes: &[u8]) -> Option<Self> {
        read::document(path, bytes).ok()
    }

    /// The entries of a map.
    pub(super) fn entries(&self) -> &[(Key, Self)] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The entry of that name.
    pub(super) fn entry(&self, name: &str) -> Option<&(Key, Self)> {
        self.entries().iter().find(|(key, _)| key.name == name)
    }

    /// The value under that name.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        self.entry(name).map(|(_, value)| value)
    }

    /// The items of a list.
    pub(super) fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The text, where it is one.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value, referenced, .. } = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Self { value, span: span(&referenced) })
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value, referenced, .. } = Spanned::<String>::deserialize(deserializer)?;
        Ok(Self { name: value, span: span(&referenced) })
    }
}

fn span(location: &Location) -> Range<usize> {
    let number = |number: Option<u64>| usize::try_from(number.unwrap_or(0)).unwrap_or(0);
    let (start, length) = (location.span().byte_offset(), location.span().byte_len());
    number(start)..number(start) + number(length)
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Constant)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Constant)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Value, E> {
        Ok(Value::Constant)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Number)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Value, E> {
        Ok(Value::Number)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Value, E> {
        Ok(Value::Number)
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Map(entries))
    }
}
