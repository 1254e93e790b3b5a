//! `LimitRanges`.

use serde_json::Value;

use super::check::{Errors, duplicates};
use super::pod::resource_quantity;
use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::{entries, get_mut, items, items_mut, object_at, text};
use crate::field_error::{FieldError, Path};

pub(super) const RULES: Rules = Rules { default: set_defaults, validate, ..NOTHING_SPECIAL };

fn set_defaults(range: &mut Value) {
    let Some(spec) = get_mut(range, "spec") else { return };
    for limit in items_mut(spec, "limits").filter(|limit| text(limit, "type") == "Container") {
        inherit(limit, "default", "max");
        inherit(limit, "defaultRequest", "default");
        inherit(limit, "defaultRequest", "min");
    }
}

fn inherit(limit: &mut Value, field: &str, from: &str) {
    let amounts: Vec<_> =
        entries(limit, from).map(|(name, amount)| (name.clone(), amount.clone())).collect();
    if amounts.is_empty() {
        return;
    }
    if let Some(target) = object_at(limit, field) {
        for (name, amount) in amounts {
            target.entry(name).or_insert(amount);
        }
    }
}

fn validate(range: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("spec").field("limits");
    let limits = items(&range["spec"], "limits");
    let types = limits.iter().enumerate();
    let types = types.map(|(index, it)| (text(it, "type"), path.index(index).field("type")));
    duplicates(types, &mut errors);
    for (index, limit) in limits.iter().enumerate() {
        let at = path.index(index);
        for (low, high, low_name, high_name, shown) in ORDER {
            for (name, amount) in entries(limit, low) {
                let (Some(least), Some(most)) =
                    (resource_quantity(amount), resource_quantity(&limit[high][name]))
                else {
                    continue;
                };
                if least > most {
                    let why = format!(
                        "{low_name} value {least} is greater than {high_name} value {most}"
                    );
                    let path = at.field(shown).key(name);
                    errors.push(FieldError::invalid(path, amount.clone(), why));
                }
            }
        }
    }
    errors
}

/// What may not be more than what, how the two are called, and which field is to blame.
const ORDER: [(&str, &str, &str, &str, &str); 6] = [
    ("min", "max", "min", "max", "min"),
    ("min", "defaultRequest", "min", "default request", "defaultRequest"),
    ("defaultRequest", "max", "default request", "max", "defaultRequest"),
    ("defaultRequest", "default", "default request", "default limit", "defaultRequest"),
    ("min", "default", "min", "default", "default"),
    ("default", "max", "default", "max", "default"),
];
