//! Decoding of built-in objects: into the Go types of the API server and back.
//!
//! Unknown fields are dropped and reported, empty and `null` fields disappear, fields without
//! `omitempty` appear, and quantities, times and bytes get their canonical form.

mod presence;
mod scalar;
#[cfg(test)]
mod tests;
mod types;

use std::fmt;

use presence::Presence;
use serde_json::{Map, Value};
use types::{GoStruct, GoType};

/// A decoded object.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The object, without unknown fields.
    pub object: Value,
    /// Paths of the unknown fields, such as `spec.containers[0].bar`.
    pub unknown: Vec<String>,
}

/// Decoding error. The text follows `… cannot be handled as a …: ` in the API server's response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(String);

/// Decodes an object whose type has this name.
pub(super) fn decode(name: &str, object: Value) -> Result<Decoded, DecodeError> {
    let root = GoType::Struct(name.into());
    let mut decoder = Decoder::default();
    let object = decoder.value(object, &root, &FieldPath::ROOT)?;
    Ok(Decoded { object, unknown: decoder.unknown })
}

/// The value of a field that was never set.
fn empty(content: &GoType) -> Value {
    match content {
        GoType::Text | GoType::Bytes => "".into(),
        GoType::Int32 | GoType::Int64 | GoType::IntOrString => 0.into(),
        GoType::Float => 0.0.into(),
        GoType::Bool => false.into(),
        GoType::Quantity | GoType::Amount => "0".into(),
        GoType::Struct(name) => {
            let structure = types::find(name);
            structure.map_or(Value::Null, |structure| filled(Map::new(), structure).into())
        }
        _ => Value::Null,
    }
}

/// Adds the fields that are always written.
fn filled(mut fields: Map<String, Value>, structure: &GoStruct) -> Map<String, Value> {
    for (name, field) in &structure.fields {
        if fields.contains_key(name) {
            continue;
        }
        match field.presence {
            Presence::Always => fields.insert(name.clone(), empty(&field.content)),
            Presence::OrNull => fields.insert(name.clone(), Value::Null),
            Presence::WhenSet | Presence::UnlessEmpty => None,
        };
    }
    fields
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

#[derive(Default)]
struct Decoder {
    unknown: Vec<String>,
}

impl Decoder {
    fn value(
        &mut self,
        value: Value,
        content: &GoType,
        at: &FieldPath,
    ) -> Result<Value, DecodeError> {
        match (content, value) {
            (GoType::Any, value) => Ok(value),
            (content, Value::Null) => Ok(empty(content)),
            (GoType::OneOf(choices), value) => {
                let fits = |choice: &&GoType| scalar::matches_json_type(&value, choice);
                match choices.iter().find(fits).or(choices.first()) {
                    Some(choice) => self.value(value, choice, at),
                    None => Ok(value),
                }
            }
            (GoType::Struct(name), Value::Object(fields)) => match types::find(name) {
                Some(structure) => self.structure(fields, name, structure, at).map(Value::from),
                None => Ok(Value::Object(fields)),
            },
            (GoType::Map(inner), Value::Object(entries)) => {
                let entries = entries.into_iter().map(|(key, value)| {
                    let value = self.value(value, inner, &at.below(Step::Key(&key)))?;
                    Ok((key, value))
                });
                entries.collect::<Result<Map<_, _>, _>>().map(Value::from)
            }
            (GoType::List(inner), Value::Array(items)) => {
                let items = items.into_iter().enumerate();
                let items = items
                    .map(|(index, item)| self.value(item, inner, &at.below(Step::Item(index))));
                items.collect::<Result<Vec<_>, _>>().map(Value::from)
            }
            (content, value) => scalar::decode(&value, content, at),
        }
    }

    fn structure(
        &mut self,
        fields: Map<String, Value>,
        name: &str,
        structure: &GoStruct,
        at: &FieldPath,
    ) -> Result<Map<String, Value>, DecodeError> {
        let mut known = Map::new();
        for (key, value) in fields {
            let place = at.below(Step::Field(types::short(name), &key));
            let Some(field) = structure.fields.get(&key) else {
                self.unknown.push(place.to_string());
                continue;
            };
            if value.is_null() {
                continue;
            }
            let value = self.value(value, &field.content, &place)?;
            // An empty list is equivalent to none.
            let nothing = field.presence == Presence::UnlessEmpty && is_empty(&value)
                || matches!(&value, Value::Array(items) if items.is_empty());
            if !nothing {
                known.insert(key, value);
            }
        }
        Ok(filled(known, structure))
    }
}

/// Path of a value in an object.
struct FieldPath<'a> {
    parent: Option<&'a Self>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    /// A field, and the structure that contains it.
    Field(&'a str, &'a str),
    Key(&'a str),
    Item(usize),
}

impl FieldPath<'_> {
    const ROOT: FieldPath<'static> = FieldPath { parent: None, step: Step::Root };

    fn below<'a>(&'a self, step: Step<'a>) -> FieldPath<'a> {
        FieldPath { parent: Some(self), step }
    }

    /// The field in Go notation, as in the API server's messages: the innermost structure and the
    /// path without indices.
    fn declaration(&self) -> String {
        let mut fields = Vec::new();
        let mut structure = None;
        let mut place = Some(self);
        while let Some(at) = place {
            if let Step::Field(of, name) = at.step {
                structure.get_or_insert(of);
                fields.push(name);
            }
            place = at.parent;
        }
        fields.reverse();
        match structure {
            Some(structure) => format!("Go struct field {structure}.{}", fields.join(".")),
            None => "Go value".to_owned(),
        }
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        let is_first = self.parent.is_none_or(|parent| matches!(parent.step, Step::Root));
        match self.step {
            Step::Root => Ok(()),
            Step::Field(_, name) | Step::Key(name) => {
                write!(f, "{}{name}", if is_first { "" } else { "." })
            }
            Step::Item(index) => write!(f, "[{index}]"),
        }
    }
}
