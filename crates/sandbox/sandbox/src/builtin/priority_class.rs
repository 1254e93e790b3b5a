//! `PriorityClasses`.

use serde_json::Value;

use super::check::{Errors, immutable, one_of};
use super::rules::{Generation, NOTHING_SPECIAL, Rules};
use super::value::{default, text};
use crate::field_error::{FieldError, Path};

pub(super) const RULES: Rules = Rules {
    default: |class| default(class, "preemptionPolicy", "PreemptLowerPriority"),
    validate,
    validate_update,
    generation: Generation::Fixed,
    ..NOTHING_SPECIAL
};

/// What is above belongs to the system.
const MAX_VALUE: i64 = 1_000_000_000;
const OF_THE_SYSTEM: [(&str, i64); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];

fn validate(class: &Value) -> Errors {
    let mut errors = Errors::new();
    let name = text(&class["metadata"], "name");
    let value = class["value"].as_i64().unwrap_or_default();
    if OF_THE_SYSTEM.contains(&(name, value)) {
        return errors;
    }
    if name.starts_with("system-") {
        let why = format!(
            "priority class names with 'system-' prefix are reserved for system use only. error: \
             {name} is not a known system priority class"
        );
        errors.push(FieldError::forbidden("metadata.name", why));
    }
    if value > MAX_VALUE {
        let why = format!("maximum allowed value of a user defined priority is {MAX_VALUE}");
        errors.push(FieldError::forbidden("value", why));
    }
    let policies = ["PreemptLowerPriority", "Never"];
    one_of(class, "preemptionPolicy", &policies, &Path::default(), &mut errors);
    errors
}

fn validate_update(new: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    if new["value"] != old["value"] {
        errors.push(FieldError::forbidden("Value", "may not be changed in an update."));
    }
    immutable(new, old, "preemptionPolicy", &Path::default(), &mut errors);
    errors
}
