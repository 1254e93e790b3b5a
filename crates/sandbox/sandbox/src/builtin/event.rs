//! Events, in both groups that have them.

use serde_json::Value;

use super::check::{Errors, qualified, required};
use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::{get, text};
use crate::field_error::{FieldError, FieldErrorKind, Path};

pub(super) const CORE: Rules = Rules { validate: namespace_of_involved, ..NOTHING_SPECIAL };
pub(super) const NEW: Rules = Rules { validate, ..NOTHING_SPECIAL };

/// An event is where the object is that it is about; those about the cluster are in `default`.
fn namespace_of_involved(event: &Value) -> Errors {
    let mut errors = Errors::new();
    let involved = get(event, "involvedObject").unwrap_or(&event["regarding"]);
    let about = text(involved, "namespace");
    let at = text(&event["metadata"], "namespace");
    if about != at && !(about.is_empty() && at == "default") {
        let why = "does not match event.namespace";
        errors.push(FieldError::invalid("involvedObject.namespace", about, why));
    }
    errors
}

fn validate(event: &Value) -> Errors {
    const LIMITS: [(&str, usize); 4] =
        [("reportingInstance", 128), ("action", 128), ("reason", 128), ("note", 1024)];
    let mut errors = namespace_of_involved(event);
    let root = Path::default();
    if get(event, "eventTime").is_none() {
        errors.push(FieldError::required("eventTime", ""));
    }
    required(event, "reportingController", &root, &mut errors);
    let controller = text(event, "reportingController");
    qualified(controller, &root.field("reportingController"), &mut errors);
    for (field, limit) in LIMITS {
        if field != "note" {
            required(event, field, &root, &mut errors);
        }
        if text(event, field).len() > limit {
            let why = format!("can have at most {limit} characters");
            errors.push(FieldError::of(FieldErrorKind::Invalid, field, "", why));
        }
    }
    let kind = text(event, "type");
    if !matches!(kind, "Normal" | "Warning") {
        errors.push(FieldError::invalid("type", "", format!("has invalid value: {kind}")));
    }
    errors
}
