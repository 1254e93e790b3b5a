//! Questions about who may do what.

use serde_json::Value;

use super::check::Errors;
use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::{get, items, text};
use crate::field_error::{FieldError, Path};

pub(super) const SELF: Rules = Rules { validate: validate_self, ..NOTHING_SPECIAL };
pub(super) const SUBJECT: Rules = Rules { validate: validate_subject, ..NOTHING_SPECIAL };
pub(super) const LOCAL: Rules = Rules { validate: validate_local, ..NOTHING_SPECIAL };

fn validate_self(review: &Value) -> Errors {
    let path = Path::new("spec");
    let spec = &review["spec"];
    let why = "cannot be specified in combination with resourceAttributes";
    match (get(spec, "resourceAttributes"), get(spec, "nonResourceAttributes")) {
        (Some(_), Some(other)) => {
            let shown = format!(
                "authorization.NonResourceAttributes{{Path:{:?}, Verb:{:?}}}",
                text(other, "path"),
                text(other, "verb")
            );
            vec![FieldError::invalid_as(path.field("nonResourceAttributes"), shown, why)]
        }
        (None, None) => {
            let why =
                "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            vec![FieldError::invalid(path.field("resourceAttributes"), Value::Null, why)]
        }
        _ => Errors::new(),
    }
}

fn validate_subject(review: &Value) -> Errors {
    let mut errors = validate_self(review);
    let spec = &review["spec"];
    if text(spec, "user").is_empty() && items(spec, "groups").is_empty() {
        let why = "at least one of user or group must be specified";
        errors.push(FieldError::invalid("spec.user", "", why));
    }
    errors
}

fn validate_local(review: &Value) -> Errors {
    let mut errors = validate_subject(review);
    let spec = &review["spec"];
    let asked = text(&spec["resourceAttributes"], "namespace");
    if asked != text(&review["metadata"], "namespace") {
        let why = "must match metadata.namespace";
        errors.push(FieldError::invalid("spec.resourceAttributes.namespace", asked, why));
    }
    if get(spec, "nonResourceAttributes").is_some() {
        let why = "disallowed on this kind of request";
        errors.push(FieldError::invalid("spec.nonResourceAttributes", "", why));
    }
    errors
}
