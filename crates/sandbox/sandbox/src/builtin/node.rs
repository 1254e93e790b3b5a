//! Nodes.

use serde_json::{Value, json};

use super::check::{Errors, qualified, unsupported};
use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::{default, get, get_mut, items, text};
use crate::field_error::{FieldError, FieldErrorKind, Path};
use crate::selector::validate::value_problems;

pub(super) const RULES: Rules =
    Rules { default: set_defaults, validate, comes_with_status: true, ..NOTHING_SPECIAL };

/// All that a node has can be used, and the older field for one range of addresses still counts.
fn set_defaults(node: &mut Value) {
    if let Some(spec) = get_mut(node, "spec")
        && let Some(range) = get(spec, "podCIDR").cloned()
    {
        default(spec, "podCIDRs", json!([range]));
    }
    let Some(status) = get_mut(node, "status") else { return };
    if let Some(capacity) = get(status, "capacity").cloned() {
        default(status, "allocatable", capacity);
    }
}

/// The path is the API server's.
fn validate(node: &Value) -> Errors {
    const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    let mut errors = Errors::new();
    let path = Path::new("metadata").field("taints");
    let taints = items(&node["spec"], "taints");
    for (index, taint) in taints.iter().enumerate() {
        let at = path.index(index);
        let (key, value, effect) =
            (text(taint, "key"), text(taint, "value"), text(taint, "effect"));
        qualified(key, &at.field("key"), &mut errors);
        for problem in value_problems(value) {
            errors.push(FieldError::invalid(at.field("value"), value, problem));
        }
        match effect {
            "" => errors.push(FieldError::required(at.field("effect"), "")),
            effect if !EFFECTS.contains(&effect) => {
                errors.push(unsupported(at.field("effect"), effect, &EFFECTS));
            }
            _ => {}
        }
        let same = |other: &Value| text(other, "key") == key && text(other, "effect") == effect;
        if taints[..index].iter().any(same) {
            let shown = format!(
                "core.Taint{{Key:{key:?}, Value:{value:?}, Effect:{effect:?}, TimeAdded:<nil>}}"
            );
            let why = "taints must be unique by key and effect pair";
            let error = FieldError::of(FieldErrorKind::Duplicate, at, Value::Null, why);
            errors.push(error.shown_as(shown));
        }
    }
    errors
}
