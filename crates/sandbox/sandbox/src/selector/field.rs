//! Field selectors.

use std::borrow::Cow;

use serde_json::Value;

use super::{MAX_LENGTH, MAX_REQUIREMENTS};

/// A field that objects of a resource can be selected by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    label: Cow<'static, str>,
    path: Cow<'static, str>,
    missing: &'static str,
}

/// What some fields of an object have to be. The default selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: Field,
    value: String,
    negated: bool,
}

/// Why a text is no field selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldSelectorError {
    /// It is longer than any that makes sense.
    #[error("the selector has {length} bytes; the limit is {MAX_LENGTH} bytes")]
    TooLong {
        /// How long it is, in bytes.
        length: usize,
    },
    /// It has more terms than any that makes sense.
    #[error("the selector has more than {MAX_REQUIREMENTS} requirements")]
    TooMany,
    /// A term has no operator.
    #[error("invalid selector: '{selector}'; can't understand '{term}'")]
    Term {
        /// All of it.
        selector: String,
        /// Where the term begins, in bytes from the beginning.
        position: usize,
        /// The term.
        term: String,
    },
    /// A backslash escapes what needs no escape, or nothing.
    #[error("invalid field selector: invalid escape sequence: {sequence}")]
    Escape {
        /// Where the term begins, in bytes from the beginning.
        position: usize,
        /// The backslash and what follows it.
        sequence: String,
    },
    /// A value has a character that has to be escaped.
    #[error("invalid field selector: unescaped character in value: {}", u32::from(*.character))]
    Unescaped {
        /// Where the term begins, in bytes from the beginning.
        position: usize,
        /// The character.
        character: char,
    },
    /// Objects of this resource cannot be selected by this field.
    #[error("field label not supported: {field}")]
    Unsupported {
        /// Where the term begins, in bytes from the beginning.
        position: usize,
        /// The field.
        field: String,
    },
}

impl Field {
    /// What objects of every resource can be selected by.
    pub const METADATA: [Self; 2] = [Self::at("metadata.name"), Self::at("metadata.namespace")];

    /// A field that is named by where it is: names of fields, joined by dots.
    pub const fn at(path: &'static str) -> Self {
        Self::named(path, path, "")
    }

    /// A field with a name of its own, and with what it counts as where it is missing.
    pub const fn named(label: &'static str, path: &'static str, missing: &'static str) -> Self {
        Self { label: Cow::Borrowed(label), path: Cow::Borrowed(path), missing }
    }

    /// A field that a CustomResourceDefinition declares: `.spec.color` is selected as `spec.color`.
    pub fn of_json_path(json_path: &str) -> Self {
        let path = json_path.strip_prefix('.').unwrap_or(json_path).to_owned();
        Self { label: Cow::Owned(path.clone()), path: Cow::Owned(path), missing: "" }
    }

    /// What a selector calls it.
    pub fn label(&self) -> &str {
        &self.label
    }

    fn of<'a>(&self, object: &'a Value) -> Cow<'a, str> {
        let value = self.path.split('.').try_fold(object, |value, name| value.get(name));
        match value {
            Some(Value::String(text)) => Cow::Borrowed(text),
            Some(scalar @ (Value::Bool(_) | Value::Number(_))) => Cow::Owned(scalar.to_string()),
            _ => Cow::Borrowed(self.missing),
        }
    }
}

impl FieldSelector {
    /// Reads `metadata.name=x,status.phase!=Running`; the `allowed` fields are all there are.
    pub fn parse(text: &str, allowed: &[Field]) -> Result<Self, FieldSelectorError> {
        if text.len() > MAX_LENGTH {
            return Err(FieldSelectorError::TooLong { length: text.len() });
        }
        let texts = split_terms(text).into_iter().filter(|(_, term)| !term.is_empty());
        let terms: Vec<_> = texts
            .take(MAX_REQUIREMENTS + 1)
            .filter_map(|(position, term)| Term::parse(text, position, term, allowed).transpose())
            .collect::<Result<_, _>>()?;
        if terms.len() > MAX_REQUIREMENTS {
            return Err(FieldSelectorError::TooMany);
        }
        Ok(Self { terms })
    }

    /// Whether it selects everything because it requires nothing.
    pub fn is_everything(&self) -> bool {
        self.terms.is_empty()
    }

    /// The one value that this field has to have, if there is one.
    pub fn exact(&self, label: &str) -> Option<&str> {
        let exact = self.terms.iter().find(|term| !term.negated && term.field.label == label)?;
        Some(&exact.value)
    }

    /// Whether it selects this object.
    pub fn matches(&self, object: &Value) -> bool {
        self.terms.iter().all(|term| (term.field.of(object) == term.value) != term.negated)
    }
}

impl Term {
    /// `None` for a term that requires nothing of nothing, which the API server overlooks.
    fn parse(
        selector: &str,
        position: usize,
        term: &str,
        allowed: &[Field],
    ) -> Result<Option<Self>, FieldSelectorError> {
        let (label, negated, escaped) =
            split_term(term).ok_or_else(|| FieldSelectorError::Term {
                selector: selector.to_owned(),
                position,
                term: term.to_owned(),
            })?;
        let value = unescape(position, escaped)?;
        if label.is_empty() && value.is_empty() {
            return Ok(None);
        }
        let field = allowed.iter().find(|field| field.label == label).cloned();
        let field = field
            .ok_or_else(|| FieldSelectorError::Unsupported { position, field: label.to_owned() })?;
        Ok(Some(Self { field, value, negated }))
    }
}

/// The terms between the commas that no backslash escapes, each with where it begins.
fn split_terms(text: &str) -> Vec<(usize, &str)> {
    let mut terms = Vec::new();
    let (mut begin, mut escaped) = (0, false);
    for (position, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push((begin, &text[begin..position]));
                begin = position + 1;
            }
            _ => {}
        }
    }
    terms.push((begin, &text[begin..]));
    terms
}

/// The field, whether its value is excluded, and the value as it is written.
fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    let equals = term.find('=')?;
    let (field, value) = (&term[..equals], &term[equals + 1..]);
    if let Some(field) = field.strip_suffix('!') {
        return Some((field, true, value));
    }
    Some((field, false, value.strip_prefix('=').unwrap_or(value)))
}

fn unescape(position: usize, escaped: &str) -> Result<String, FieldSelectorError> {
    let mut value = String::with_capacity(escaped.len());
    let mut characters = escaped.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(special @ ('\\' | ',' | '=')) => value.push(special),
                other => {
                    let sequence = ['\\'].into_iter().chain(other).collect();
                    return Err(FieldSelectorError::Escape { position, sequence });
                }
            },
            ',' | '=' => return Err(FieldSelectorError::Unescaped { position, character }),
            _ => value.push(character),
        }
    }
    Ok(value)
}
