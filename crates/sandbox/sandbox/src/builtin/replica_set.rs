//! `ReplicaSets`.

use serde_json::Value;

use super::check::{Errors, not_negative};
use super::rules::{Generation, NOTHING_SPECIAL, Rules};
use super::value::{default, get_mut};
use super::{pod, workload};
use crate::field_error::Path;

pub(super) const RULES: Rules = Rules {
    default: set_defaults,
    validate,
    validate_update,
    generation: Generation::Of(&["spec"]),
    ..NOTHING_SPECIAL
};

fn set_defaults(set: &mut Value) {
    let Some(spec) = get_mut(set, "spec") else { return };
    default(spec, "replicas", 1);
    pod::default_template(&mut spec["template"]);
}

fn validate(set: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("spec");
    let spec = &set["spec"];
    not_negative(spec, &["replicas", "minReadySeconds"], &path, &mut errors);
    // The word is the API server's.
    workload::check(spec, "deployment", &path, &mut errors);
    errors
}

fn validate_update(new: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    workload::selector_stays(new, old, &mut errors);
    errors
}
