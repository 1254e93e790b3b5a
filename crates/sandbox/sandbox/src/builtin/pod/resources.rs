//! Resource requests and limits.

use serde_json::Value;

use crate::builtin::quantity::Quantity;
use crate::builtin::validation::{ErrorList, Errors, invalid};
use crate::builtin::value::{entries, get};
use crate::field_error::FieldPath;
use crate::selector::validate::key_problems;

const CONTAINER: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

pub(super) fn check(resources: &Value, path: &FieldPath, errors: &mut Errors) {
    let (limits, requests) = (path.field("limits"), path.field("requests"));
    let mut huge_pages = false;
    let mut cpu_or_memory = false;
    for (list, path) in [("limits", &limits), ("requests", &requests)] {
        for (name, amount) in entries(resources, list) {
            let at = path.key(name);
            self::name(name, &at, errors);
            self::amount(name, amount, &at, errors);
            huge_pages |= name.starts_with("hugepages-");
            cpu_or_memory |= matches!(&**name, "cpu" | "memory");
        }
    }
    for (name, amount) in entries(resources, "requests") {
        within_limit(name, amount, resources, path, errors);
    }
    if huge_pages && !cpu_or_memory {
        errors.forbidden(path, "HugePages require cpu or memory");
    }
}

fn within_limit(
    name: &str,
    request: &Value,
    resources: &Value,
    path: &FieldPath,
    errors: &mut Errors,
) {
    let limit = get(&resources["limits"], name);
    match (limit.and_then(quantity), quantity(request)) {
        (Some(limit), Some(request)) if !can_be_overcommitted(name) && request != limit => {
            let why = format!("must be equal to {name} limit");
            let path = path.field("requests");
            errors.invalid(path, request.to_string(), why);
        }
        (Some(limit), Some(request)) if request > limit => {
            let why = format!("must be less than or equal to {name} limit");
            let path = path.field("requests");
            errors.invalid(path, request.to_string(), why);
        }
        (None, _) if !can_be_overcommitted(name) => {
            let why = "Limit must be set for non overcommitable resources";
            errors.required_because(path.field("limits"), why);
        }
        _ => {}
    }
}

/// Whether requests may be smaller than limits.
fn can_be_overcommitted(name: &str) -> bool {
    !name.starts_with("hugepages-") && (!name.contains('/') || name.contains("kubernetes.io/"))
}

/// Validates the name of a resource that a container can request.
fn name(name: &str, path: &FieldPath, errors: &mut Errors) {
    let problems = key_problems(name);
    if !problems.is_empty() {
        invalid(path, name, problems, errors);
        return;
    }
    if name.contains('/') || CONTAINER.contains(&name) || name.starts_with("hugepages-") {
        return;
    }
    if !standard(name) {
        errors.invalid(path, name, "must be a standard resource type or fully qualified");
    }
    errors.invalid(path, name, "must be a standard resource for containers");
}

/// Whether the name is a resource name of Kubernetes itself.
fn standard(name: &str) -> bool {
    const QUOTAS: &str = "storage requests.cpu requests.memory requests.ephemeral-storage \
        requests.storage limits.cpu limits.memory limits.ephemeral-storage";
    CONTAINER.contains(&name) || QUOTAS.split(' ').any(|it| it == name) || counts_objects(name)
}

/// Validates a resource quantity.
fn amount(name: &str, amount: &Value, path: &FieldPath, errors: &mut Errors) {
    let Some(quantity) = quantity(amount) else { return };
    if quantity.is_negative() {
        errors.invalid(path, quantity.to_string(), "must be greater than or equal to 0");
    }
    let counted = name.contains('/') && !name.contains("kubernetes.io/") || counts_objects(name);
    if counted && !quantity.is_whole() {
        errors.invalid(path, quantity.to_string(), "must be an integer");
    }
}

fn counts_objects(name: &str) -> bool {
    const COUNTS: &str = "pods resourcequotas services replicationcontrollers secrets configmaps \
        persistentvolumeclaims services.nodeports services.loadbalancers";
    COUNTS.split(' ').any(|it| it == name)
}

/// The quantity of a decoded field.
pub(super) fn quantity(amount: &Value) -> Option<Quantity> {
    amount.as_str().and_then(|text| Quantity::parse(text).ok())
}
