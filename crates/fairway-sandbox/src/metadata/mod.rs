//! What all objects have in common: their names, labels, owners and the like.

use serde_json::Value;

use crate::field_error::FieldError;

/// Which names objects of a kind can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// Labels of lower-case letters, digits and hyphens, joined by dots.
    Subdomain,
    /// One such label.
    Label,
    /// One such label that begins with a letter.
    LetterFirstLabel,
    /// Whatever can be one part of a path.
    PathSegment,
}

/// What is wrong with the metadata of an object.
pub fn validate(object: &Value, namespaced: bool, rule: NameRule) -> Vec<FieldError> {
    let _ = (object, namespaced, rule);
    Vec::new()
}

/// What is wrong with how the metadata changed.
pub fn validate_update(object: &Value, old: &Value) -> Vec<FieldError> {
    let _ = (object, old);
    Vec::new()
}
