//! Reading a built-in object as the API server does: into its types and back.
//!
//! What the types do not have is dropped and named, what is empty or `null` disappears, what is
//! always there appears, and amounts, times and bytes take their canonical form.

mod presence;
mod scalar;
#[cfg(test)]
mod tests;
mod types;

use std::fmt;

use serde_json::{Map, Value};

use presence::Presence;
use types::{Struct, Type};

/// An object that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// It, without what its kind does not have.
    pub object: Value,
    /// The fields that its kind does not have, such as `spec.containers[0].bar`.
    pub unknown: Vec<String>,
}

/// Why an object cannot be read. The text is what follows `… cannot be handled as a …: ` in the
/// API server's answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReadError(String);

/// Reads an object whose type has this name.
pub(super) fn read(name: &str, object: Value) -> Result<Read, ReadError> {
    let root = Type::Struct(name.into());
    let mut reader = Reader::default();
    let object = reader.value(object, &root, &Place::ROOT)?;
    Ok(Read { object, unknown: reader.unknown })
}

/// The form of a value that was never set.
fn empty(content: &Type) -> Value {
    match content {
        Type::Text | Type::Bytes => "".into(),
        Type::Int32 | Type::Int64 | Type::IntOrString => 0.into(),
        Type::Float => 0.0.into(),
        Type::Bool => false.into(),
        Type::Quantity | Type::Amount => "0".into(),
        Type::Struct(name) => {
            let structure = types::find(name);
            structure.map_or(Value::Null, |structure| filled(Map::new(), structure).into())
        }
        _ => Value::Null,
    }
}

/// Adds what is always there.
fn filled(mut fields: Map<String, Value>, structure: &Struct) -> Map<String, Value> {
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
struct Reader {
    unknown: Vec<String>,
}

impl Reader {
    fn value(&mut self, value: Value, content: &Type, at: &Place) -> Result<Value, ReadError> {
        match (content, value) {
            (Type::Any, value) => Ok(value),
            (content, Value::Null) => Ok(empty(content)),
            (Type::OneOf(choices), value) => {
                let fits = |choice: &&Type| scalar::has_form_of(&value, choice);
                match choices.iter().find(fits).or(choices.first()) {
                    Some(choice) => self.value(value, choice, at),
                    None => Ok(value),
                }
            }
            (Type::Struct(name), Value::Object(fields)) => match types::find(name) {
                Some(structure) => self.structure(fields, name, structure, at).map(Value::from),
                None => Ok(Value::Object(fields)),
            },
            (Type::Map(inner), Value::Object(entries)) => {
                let entries = entries.into_iter().map(|(key, value)| {
                    let value = self.value(value, inner, &at.below(Step::Key(&key)))?;
                    Ok((key, value))
                });
                entries.collect::<Result<Map<_, _>, _>>().map(Value::from)
            }
            (Type::List(inner), Value::Array(items)) => {
                let items = items.into_iter().enumerate();
                let items = items
                    .map(|(index, item)| self.value(item, inner, &at.below(Step::Item(index))));
                items.collect::<Result<Vec<_>, _>>().map(Value::from)
            }
            (content, value) => scalar::read(&value, content, at),
        }
    }

    fn structure(
        &mut self,
        fields: Map<String, Value>,
        name: &str,
        structure: &Struct,
        at: &Place,
    ) -> Result<Map<String, Value>, ReadError> {
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
            // A list without items is as good as none.
            let nothing = field.presence == Presence::UnlessEmpty && is_empty(&value)
                || matches!(&value, Value::Array(items) if items.is_empty());
            if !nothing {
                known.insert(key, value);
            }
        }
        Ok(filled(known, structure))
    }
}

/// Where in an object a value is.
struct Place<'a> {
    parent: Option<&'a Self>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    /// A field, with the structure that has it.
    Field(&'a str, &'a str),
    Key(&'a str),
    Item(usize),
}

impl Place<'_> {
    const ROOT: Place<'static> = Place { parent: None, step: Step::Root };

    fn below<'a>(&'a self, step: Step<'a>) -> Place<'a> {
        Place { parent: Some(self), step }
    }

    /// How the API server names the field of its own types: the innermost structure, and the path
    /// without indices.
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

impl fmt::Display for Place<'_> {
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
