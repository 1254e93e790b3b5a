//! `ResourceQuotas` and `LimitRanges`.

use serde_json::Value;

use super::pod::{resource_amount, resource_quantity, standard_resource};
use super::validation::{ErrorList, Errors, duplicates};
use super::value::{entries, get_mut, items, items_mut, object_at, text};
use super::{DEFAULT_RULES, Rules};
use crate::field_error::{FieldError, FieldPath};

pub(super) const RESOURCE_QUOTA: Rules =
    Rules { validate: validate_resource_quota, validate_update, ..DEFAULT_RULES };

const SCOPES: [&str; 6] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
];

fn validate_resource_quota(quota: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = FieldPath::new("spec").field("hard");
    for (name, amount) in entries(&quota["spec"], "hard") {
        let at = path.key(name);
        if !name.contains('/') && !standard_resource(name) && !name.starts_with("hugepages-") {
            for why in [
                "must be a standard resource type or fully qualified",
                "must be a standard resource for quota",
            ] {
                errors.invalid(&at, name.as_str(), why);
            }
        }
        resource_amount(name, amount, &at, &mut errors);
    }
    let scopes = items(&quota["spec"], "scopes");
    let unknown = |scope: &&Value| scope.as_str().is_none_or(|scope| !SCOPES.contains(&scope));
    if scopes.iter().any(|scope| unknown(&scope)) {
        errors.invalid_as("spec.scopes", in_go(scopes), "unsupported scope");
    }
    errors
}

fn validate_update(new: &Value, old: &Value) -> Errors {
    let (new, old) = (items(&new["spec"], "scopes"), items(&old["spec"], "scopes"));
    let same = new.len() == old.len() && new.iter().all(|scope| old.contains(scope));
    if same {
        return Errors::new();
    }
    vec![FieldError::invalid_as("spec.scopes", in_go(new), super::validation::IMMUTABLE)]
}

fn in_go(scopes: &[Value]) -> String {
    let scopes: Vec<_> = scopes.iter().map(Value::to_string).collect();
    format!("[]core.ResourceQuotaScope{{{}}}", scopes.join(", "))
}

pub(super) const LIMIT_RANGE: Rules =
    Rules { default: set_defaults, validate: validate_limit_range, ..DEFAULT_RULES };

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

fn validate_limit_range(range: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = FieldPath::new("spec").field("limits");
    let limits = items(&range["spec"], "limits");
    let types = limits.iter().enumerate();
    let types = types.map(|(index, it)| (text(it, "type"), path.index(index).field("type")));
    duplicates(types, &mut errors);
    for (index, limit) in limits.iter().enumerate() {
        let at = path.index(index);
        for (low, high, low_name, high_name, shown) in ORDER {
            for (name, amount) in entries(limit, low) {
                let (Some(min), Some(max)) =
                    (resource_quantity(amount), resource_quantity(&limit[high][name]))
                else {
                    continue;
                };
                if min > max {
                    let why =
                        format!("{low_name} value {min} is greater than {high_name} value {max}");
                    let path = at.field(shown).key(name);
                    errors.invalid(path, amount.clone(), why);
                }
            }
        }
    }
    errors
}

/// Pairs of which the first must not exceed the second: fields, their names in messages, and the
/// field of the error.
const ORDER: [(&str, &str, &str, &str, &str); 6] = [
    ("min", "max", "min", "max", "min"),
    ("min", "defaultRequest", "min", "default request", "defaultRequest"),
    ("defaultRequest", "max", "default request", "max", "defaultRequest"),
    ("defaultRequest", "default", "default request", "default limit", "defaultRequest"),
    ("min", "default", "min", "default", "default"),
    ("default", "max", "default", "max", "default"),
];
