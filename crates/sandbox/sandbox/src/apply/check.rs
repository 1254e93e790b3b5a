//! Whether an object can be taken apart at all.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use crate::schema::Schema;

use super::element::{Element, ItemProblem};
use super::fields::path_text;
use super::parts::{fields, items};

/// What keeps an object from being taken apart, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct Malformed {
    /// The field, as `.spec.containers`.
    pub path: String,
    /// What is wrong there.
    pub problem: Problem,
}

/// What keeps a value from being taken apart.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// An item of a list cannot be identified.
    #[error("element {index}: {problem}")]
    Item {
        /// Which item.
        index: usize,
        /// Why not.
        problem: ItemProblem,
    },
    /// Two items of a list are the same.
    #[error("duplicate entries for key {0}")]
    Duplicate(Element),
    /// There is something other than an object.
    #[error("expected map, got &{{{}}}", GoText(.0))]
    NoObject(Value),
    /// There is something other than a list.
    #[error("expected list, got &{{{}}}", GoText(.0))]
    NoList(Value),
}

/// A value as Go prints it, which is what the API server's messages show.
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

/// Whether a list may have the same item twice: a stored one may, an applied one may not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Duplicates {
    Allowed,
    Refused,
}

/// Finds the first thing that keeps `value` from being taken apart.
pub(super) fn check(value: &Value, schema: &Schema, twice: Duplicates) -> Result<(), Malformed> {
    check_at(&mut Vec::new(), value, schema, twice)
}

fn check_at(
    path: &mut Vec<Element>,
    value: &Value,
    schema: &Schema,
    twice: Duplicates,
) -> Result<(), Malformed> {
    let malformed = |path: &[Element], problem| Malformed { path: path_text(path), problem };
    match (value, schema) {
        (Value::Null, _) => Ok(()),
        (other, Schema::Object(_)) if !other.is_object() => {
            Err(malformed(path, Problem::NoObject(other.clone())))
        }
        (other, Schema::List(_)) if !other.is_array() => {
            Err(malformed(path, Problem::NoList(other.clone())))
        }
        (Value::Object(object), _) => {
            let Some(fields) = fields(schema) else { return Ok(()) };
            for (name, value) in object {
                path.push(Element::field(name));
                check_at(path, value, fields.schema(name), twice)?;
                path.pop();
            }
            Ok(())
        }
        (Value::Array(list), _) => {
            let Some(schema) = items(schema) else { return Ok(()) };
            let mut seen = BTreeSet::new();
            for (index, item) in list.iter().enumerate() {
                let at = Element::of_item(item, schema)
                    .map_err(|problem| malformed(path, Problem::Item { index, problem }))?;
                if !seen.insert(at.clone()) && twice == Duplicates::Refused {
                    return Err(malformed(path, Problem::Duplicate(at)));
                }
                path.push(at);
                check_at(path, item, &schema.items, twice)?;
                path.pop();
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
