//! `PersistentVolumeClaims`.

use serde_json::{Value, json};

use super::check::{Errors, one_of, selector, without};
use super::pod::resource_quantity;
use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::{default, get, get_mut, set};
use super::volume::access_modes;
use crate::field_error::{FieldError, Path};

pub(super) const RULES: Rules =
    Rules { default: set_defaults, create, validate, validate_update, ..NOTHING_SPECIAL };

fn set_defaults(claim: &mut Value) {
    if let Some(spec) = get_mut(claim, "spec") {
        default(spec, "volumeMode", "Filesystem");
    }
    if let Some(status) = get_mut(claim, "status") {
        default(status, "phase", "Pending");
    }
}

fn create(claim: &mut Value) {
    set(claim, "status", json!({ "phase": "Pending" }));
}

fn validate(claim: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("spec");
    let spec = &claim["spec"];
    access_modes(spec, "at least 1 access mode is required", &path, &mut errors);
    let at = path.field("resources").key("storage");
    match resource_quantity(&spec["resources"]["requests"]["storage"]) {
        None => errors.push(FieldError::required(at, "")),
        Some(amount) if amount.is_zero() || amount.is_negative() => {
            let why = "must be greater than zero";
            errors.push(FieldError::invalid(at, amount.to_string(), why));
        }
        Some(_) => {}
    }
    if let Some(labels) = get(spec, "selector") {
        selector(labels, &path.field("selector"), &mut errors);
    }
    one_of(spec, "volumeMode", &["Block", "Filesystem"], &path, &mut errors);
    errors
}

fn validate_update(new: &Value, old: &Value) -> Errors {
    /// The first by whoever binds a claim, the second to let it grow.
    const CAN_CHANGE: [&str; 3] = ["volumeName", "resources", "volumeAttributesClassName"];
    if without(&new["spec"], &CAN_CHANGE) == without(&old["spec"], &CAN_CHANGE) {
        return Errors::new();
    }
    let why = "spec is immutable after creation except resources.requests for bound claims";
    vec![FieldError::forbidden("spec", why)]
}
