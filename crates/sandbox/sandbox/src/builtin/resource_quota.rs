//! `ResourceQuotas`.

use serde_json::Value;

use super::check::Errors;
use super::pod::{resource_amount, standard_resource};
use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::{entries, items};
use crate::field_error::{FieldError, Path};

pub(super) const RULES: Rules = Rules { validate, validate_update, ..NOTHING_SPECIAL };

const SCOPES: [&str; 6] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
];

fn validate(quota: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("spec").field("hard");
    for (name, amount) in entries(&quota["spec"], "hard") {
        let at = path.key(name);
        if !name.contains('/') && !standard_resource(name) && !name.starts_with("hugepages-") {
            for why in [
                "must be a standard resource type or fully qualified",
                "must be a standard resource for quota",
            ] {
                errors.push(FieldError::invalid(&at, name.as_str(), why));
            }
        }
        resource_amount(name, amount, &at, &mut errors);
    }
    let scopes = items(&quota["spec"], "scopes");
    let unknown = |scope: &&Value| scope.as_str().is_none_or(|scope| !SCOPES.contains(&scope));
    if scopes.iter().any(|scope| unknown(&scope)) {
        let why = "unsupported scope";
        errors.push(FieldError::invalid_as("spec.scopes", in_go(scopes), why));
    }
    errors
}

fn validate_update(new: &Value, old: &Value) -> Errors {
    let (new, old) = (items(&new["spec"], "scopes"), items(&old["spec"], "scopes"));
    let same = new.len() == old.len() && new.iter().all(|scope| old.contains(scope));
    if same {
        return Errors::new();
    }
    vec![FieldError::invalid_as("spec.scopes", in_go(new), super::check::IMMUTABLE)]
}

fn in_go(scopes: &[Value]) -> String {
    let scopes: Vec<_> = scopes.iter().map(Value::to_string).collect();
    format!("[]core.ResourceQuotaScope{{{}}}", scopes.join(", "))
}
