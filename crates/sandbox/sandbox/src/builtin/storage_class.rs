//! `StorageClasses`.

use serde_json::Value;

use super::check::{Errors, immutable, invalid, one_of};
use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::{default, text};
use crate::field_error::{FieldError, Path};
use crate::selector::validate::key_problems;

pub(super) const RULES: Rules =
    Rules { default: set_defaults, validate, validate_update, ..NOTHING_SPECIAL };

fn set_defaults(class: &mut Value) {
    default(class, "reclaimPolicy", "Delete");
    default(class, "volumeBindingMode", "Immediate");
}

fn validate(class: &Value) -> Errors {
    let mut errors = Errors::new();
    let root = Path::default();
    match text(class, "provisioner") {
        "" => errors.push(FieldError::required("provisioner", "")),
        name => invalid(
            &root.field("provisioner"),
            name,
            key_problems(&name.to_lowercase()),
            &mut errors,
        ),
    }
    one_of(class, "reclaimPolicy", &["Delete", "Retain"], &root, &mut errors);
    let modes = ["Immediate", "WaitForFirstConsumer"];
    one_of(class, "volumeBindingMode", &modes, &root, &mut errors);
    errors
}

fn validate_update(new: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    for field in ["parameters", "provisioner", "reclaimPolicy"] {
        if new[field] != old[field] {
            let why = format!("updates to {field} are forbidden.");
            errors.push(FieldError::forbidden(field, why));
        }
    }
    immutable(new, old, "volumeBindingMode", &Path::default(), &mut errors);
    errors
}
