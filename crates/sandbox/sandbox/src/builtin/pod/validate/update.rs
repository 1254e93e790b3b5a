//! What of a pod can change.

use serde_json::Value;

use super::MAX_SECONDS;
use crate::builtin::check::Errors;
use crate::builtin::value::{copy, get, items, items_mut};
use crate::field_error::{FieldError, Path};

const REST: &str = "pod updates may not change fields other than `spec.containers[*].image`, `spec.initContainers[*].image`, `spec.activeDeadlineSeconds` or `spec.tolerations` (only additions to existing tolerations)";

/// What is wrong with the change of a pod.
pub(in crate::builtin::pod) fn update(pod: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("spec");
    let (new, old) = (&pod["spec"], &old["spec"]);
    for list in ["containers", "initContainers"] {
        if items(new, list).len() != items(old, list).len() {
            let why = "pod updates may not add or remove containers";
            errors.push(FieldError::forbidden(path.field(list), why));
            return errors;
        }
    }
    deadline(new, old, &path, &mut errors);
    if !tolerations_only_grow(new, old) {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        errors.push(FieldError::forbidden(path.field("tolerations"), why));
    }
    if with_what_can_change(new, old) != *old {
        errors.push(FieldError::forbidden(path, REST));
    }
    errors
}

/// A deadline can be set, and come nearer.
fn deadline(new: &Value, old: &Value, path: &Path, errors: &mut Errors) {
    let path = path.field("activeDeadlineSeconds");
    let seconds = |spec: &Value| spec["activeDeadlineSeconds"].as_i64();
    match (seconds(new), seconds(old)) {
        (Some(new), _) if !(0..=MAX_SECONDS).contains(&new) => {
            let why = format!("must be between 0 and {MAX_SECONDS}, inclusive");
            errors.push(FieldError::invalid(path, new, why));
        }
        (Some(new), Some(old)) if new > old => {
            let why = "must be less than or equal to previous value";
            errors.push(FieldError::invalid(path, new, why));
        }
        (None, Some(_)) => {
            errors.push(FieldError::invalid(
                path,
                Value::Null,
                "must not update from a positive integer to nil value",
            ));
        }
        _ => {}
    }
}

fn tolerations_only_grow(new: &Value, old: &Value) -> bool {
    let lasting = |toleration: &Value| {
        let mut toleration = toleration.clone();
        copy(&mut toleration, "tolerationSeconds", &Value::Null);
        toleration
    };
    let new: Vec<_> = items(new, "tolerations").iter().map(lasting).collect();
    items(old, "tolerations").iter().all(|toleration| new.contains(&lasting(toleration)))
}

/// The new one with everything that can change as it was.
fn with_what_can_change(new: &Value, old: &Value) -> Value {
    let mut spec = new.clone();
    for field in ["activeDeadlineSeconds", "tolerations"] {
        copy(&mut spec, field, old);
    }
    for list in ["containers", "initContainers"] {
        for (container, old) in items_mut(&mut spec, list).zip(items(old, list)) {
            copy(container, "image", old);
        }
    }
    // A negative time to end means the shortest there is, and can be written as such.
    let grace = |spec: &Value| get(spec, "terminationGracePeriodSeconds").and_then(Value::as_i64);
    if grace(new) == Some(1) && grace(old).is_some_and(|seconds| seconds < 0) {
        copy(&mut spec, "terminationGracePeriodSeconds", old);
    }
    spec
}
