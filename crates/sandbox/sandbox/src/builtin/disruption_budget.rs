//! `PodDisruptionBudgets`.

use serde_json::Value;

use super::check::{Errors, amount, at_most_all, selector};
use super::rules::{Generation, NOTHING_SPECIAL, Rules};
use super::value::get;
use crate::field_error::{FieldError, Path};

pub(super) const RULES: Rules =
    Rules { validate, generation: Generation::Of(&["spec"]), ..NOTHING_SPECIAL };

fn validate(budget: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("spec");
    let spec = &budget["spec"];
    if get(spec, "minAvailable").is_some() && get(spec, "maxUnavailable").is_some() {
        let why = "minAvailable and maxUnavailable cannot be both set";
        errors.push(FieldError::invalid(&path, spec.clone(), why));
    }
    for field in ["minAvailable", "maxUnavailable"] {
        amount(spec, field, &path, &mut errors);
        at_most_all(spec, field, &path, &mut errors);
    }
    selector(&spec["selector"], &path.field("selector"), &mut errors);
    errors
}
