//! Field selectors.

use std::borrow::Cow;

use serde_json::Value;

use super::{MAX_LENGTH, MAX_REQUIREMENTS};

/// A field that selectors can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    label: Cow<'static, str>,
    path: Cow<'static, str>,
    missing: &'static str,
}

/// A parsed field selector. The default selects everything.
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

/// Why a field selector is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldSelectorError {
    /// It is too long.
    #[error("the selector has {length} bytes; the limit is {MAX_LENGTH} bytes")]
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// It has too many terms.
    #[error("the selector has more than {MAX_REQUIREMENTS} requirements")]
    TooMany,
    /// A term without operator.
    #[error("invalid selector: '{selector}'; can't understand '{term}'")]
    Term {
        /// The selector.
        selector: String,
        /// Byte offset of the term.
        position: usize,
        /// The term.
        term: String,
    },
    /// Invalid escape sequence.
    #[error("invalid field selector: invalid escape sequence: {sequence}")]
    Escape {
        /// Byte offset of the term.
        position: usize,
        /// The escape sequence.
        sequence: String,
    },
    /// Unescaped special character.
    #[error("invalid field selector: unescaped character in value: {}", u32::from(*.character))]
    Unescaped {
        /// Byte offset of the term.
        position: usize,
        /// The character.
        character: char,
    },
    /// The resource does not support this field.
    #[error("field label not supported: {field}")]
    Unsupported {
        /// Byte offset of the term.
        position: usize,
        /// The field.
        field: String,
    },
}

impl Field {
    /// Fields that all resources support.
    pub const METADATA: [Self; 2] = [Self::at("metadata.name"), Self::at("metadata.namespace")];

    /// A field that is named by its path.
    pub const fn at(path: &'static str) -> Self {
        Self::named(path, path, "")
    }

    /// A field with a label, and its value if it is missing.
    pub const fn named(label: &'static str, path: &'static str, missing: &'static str) -> Self {
        Self { label: Cow::Borrowed(label), path: Cow::Borrowed(path), missing }
    }

    /// A selectable field of a CRD: `.spec.color` is selected as `spec.color`.
    pub fn of_json_path(json_path: &str) -> Self {
        let path = json_path.strip_prefix('.').unwrap_or(json_path).to_owned();
        Self { label: Cow::Owned(path.clone()), path: Cow::Owned(path), missing: "" }
    }

    /// Its name in selectors.
    pub fn label(&self) -> &str {
        &self.label
    }

    fn value_in<'a>(&self, object: &'a Value) -> Cow<'a, str> {
        let value = self.path.split('.').try_fold(object, |value, name| value.get(name));
        match value {
            Some(Value::String(text)) => Cow::Borrowed(text),
            Some(scalar @ (Value::Bool(_) | Value::Number(_))) => Cow::Owned(scalar.to_string()),
            _ => Cow::Borrowed(self.missing),
        }
    }
}

impl FieldSelector {
    /// Parses `metadata.name=x,status.phase!=Running`. Only the `allowed` fields are valid.
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

    /// Whether it selects everything.
    pub fn is_everything(&self) -> bool {
        self.terms.is_empty()
    }

    /// The value that this field must equal, if any.
    pub fn exact(&self, label: &str) -> Option<&str> {
        let exact = self.terms.iter().find(|term| !term.negated && term.field.label == label)?;
        Some(&exact.value)
    }

    /// Whether it selects this object.
    pub fn matches(&self, object: &Value) -> bool {
        self.terms.iter().all(|term| (term.field.value_in(object) == term.value) != term.negated)
    }
}

impl Term {
    /// Parses a term; `None` for empty terms, which the API server ignores.
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

/// Terms between unescaped commas, with their byte offsets.
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

/// Field, negation and escaped value.
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
