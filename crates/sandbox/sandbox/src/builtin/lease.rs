//! Leases.

use serde_json::Value;

use super::check::{Errors, not_negative};
use super::rules::{NOTHING_SPECIAL, Rules};
use crate::field_error::{FieldError, Path};

pub(super) const RULES: Rules = Rules { validate, ..NOTHING_SPECIAL };

fn validate(lease: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("spec");
    let spec = &lease["spec"];
    if let Some(seconds) = spec["leaseDurationSeconds"].as_i64().filter(|&seconds| seconds <= 0) {
        let why = "must be greater than 0";
        errors.push(FieldError::invalid(path.field("leaseDurationSeconds"), seconds, why));
    }
    not_negative(spec, &["leaseTransitions"], &path, &mut errors);
    errors
}
