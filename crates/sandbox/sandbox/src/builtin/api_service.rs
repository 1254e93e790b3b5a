//! `APIServices`.

use serde_json::Value;

use super::check::{Errors, required};
use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::{default, get, get_mut, text};
use super::webhook::SERVICE_PORT;
use crate::field_error::{FieldError, Path};

pub(super) const RULES: Rules = Rules {
    default: set_defaults,
    validate,
    metadata_beside_status: &["labels", "annotations", "ownerReferences", "finalizers"],
    ..NOTHING_SPECIAL
};

fn set_defaults(service: &mut Value) {
    if let Some(service) = get_mut(service, "spec").and_then(|spec| get_mut(spec, "service")) {
        default(service, "port", SERVICE_PORT);
    }
}

fn validate(service: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("spec");
    let spec = &service["spec"];
    let name = text(&service["metadata"], "name");
    let expected = format!("{}.{}", text(spec, "version"), text(spec, "group"));
    if name != expected {
        let why = format!("must be `spec.version+\".\"+spec.group`: {expected:?}");
        errors.push(FieldError::invalid("metadata.name", name, why));
    }
    for (field, limit) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1000)] {
        let priority = spec[field].as_i64().unwrap_or_default();
        if !(1..=limit).contains(&priority) {
            let why = format!("must be positive and less than {limit}");
            errors.push(FieldError::invalid(path.field(field), priority, why));
        }
    }
    let unverified = spec["insecureSkipTLSVerify"] == true;
    let has_bundle = get(spec, "caBundle").is_some();
    let at = path.field("insecureSkipTLSVerify");
    match get(spec, "service") {
        None => {
            if has_bundle {
                let why = "local APIServices may not have a caBundle";
                errors.push(FieldError::invalid(
                    path.field("caBundle"),
                    spec["caBundle"].clone(),
                    why,
                ));
            }
            if unverified {
                let why = "local APIServices may not have insecureSkipTLSVerify";
                errors.push(FieldError::invalid(at, true, why));
            }
        }
        Some(target) => {
            for field in ["namespace", "name"] {
                required(target, field, &path.field("service"), &mut errors);
            }
            if unverified && has_bundle {
                let why = "may not be true if caBundle is present";
                errors.push(FieldError::invalid(at, true, why));
            }
        }
    }
    errors
}
