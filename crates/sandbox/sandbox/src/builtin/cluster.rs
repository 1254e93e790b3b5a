//! Namespaces, Nodes, Events, Leases and `PriorityClasses`.

use serde_json::{Value, json};

use super::validation::{
    ErrorList, Errors, finalizer, non_negative, qualified, required, unsupported,
};
use super::value::{copy, default, get, get_mut, items, object_at, set, text};
use super::{DEFAULT_RULES, Generation, Rules};
use crate::catalog::Subresource;
use crate::field_error::{FieldError, FieldErrorKind, FieldPath};
use crate::selector::validate::value_problems;

pub(super) const NAMESPACE: Rules = Rules {
    default: default_namespace,
    create,
    update,
    validate: validate_namespace,
    ..DEFAULT_RULES
};

/// Label with the name of the namespace, for namespace selectors.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

fn default_namespace(namespace: &mut Value) {
    if namespace["status"]["phase"].as_str().is_none_or(str::is_empty) {
        namespace["status"]["phase"] = json!("Active");
    }
    let name = namespace["metadata"]["name"].clone();
    if name.as_str().is_some_and(|name| !name.is_empty())
        && let Some(labels) = object_at(&mut namespace["metadata"], "labels")
    {
        labels.insert(NAME_LABEL.to_owned(), name);
    }
}

fn create(namespace: &mut Value) {
    set(namespace, "status", json!({ "phase": "Active" }));
    let finalizers = &mut namespace["spec"]["finalizers"];
    match finalizers.as_array_mut() {
        Some(finalizers) if finalizers.iter().any(|it| it == "kubernetes") => {}
        Some(finalizers) => finalizers.push("kubernetes".into()),
        None => *finalizers = json!(["kubernetes"]),
    }
}

/// `spec.finalizers` changes only through the `finalize` subresource.
fn update(namespace: &mut Value, old: &Value, subresource: Option<Subresource>) {
    if subresource != Some(Subresource::Finalize) {
        copy(namespace, "spec", old);
    }
}

fn validate_namespace(namespace: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = FieldPath::new("spec").field("finalizers");
    for name in items(&namespace["spec"], "finalizers").iter().filter_map(Value::as_str) {
        qualified(name, &path, &mut errors);
        finalizer(name, &path, &mut errors);
    }
    errors
}

pub(super) const NODE: Rules = Rules {
    default: default_node,
    validate: validate_node,
    status_on_create: true,
    ..DEFAULT_RULES
};

/// Capacity is allocatable by default; `podCIDR` and `podCIDRs` mirror each other.
fn default_node(node: &mut Value) {
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

/// Validates taints. The field path is the one that the API server reports.
fn validate_node(node: &Value) -> Errors {
    const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    let mut errors = Errors::new();
    let path = FieldPath::new("metadata").field("taints");
    let taints = items(&node["spec"], "taints");
    for (index, taint) in taints.iter().enumerate() {
        let at = path.index(index);
        let (key, value, effect) =
            (text(taint, "key"), text(taint, "value"), text(taint, "effect"));
        qualified(key, &at.field("key"), &mut errors);
        for problem in value_problems(value) {
            errors.invalid(at.field("value"), value, problem);
        }
        match effect {
            "" => errors.required(at.field("effect")),
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

pub(super) const CORE_EVENT: Rules = Rules { validate: validate_core_event, ..DEFAULT_RULES };
pub(super) const EVENT: Rules = Rules { validate: validate_event, ..DEFAULT_RULES };

/// An event is in the namespace of the object that it regards; events about cluster-scoped objects
/// are in `default`.
fn validate_core_event(event: &Value) -> Errors {
    let mut errors = Errors::new();
    let involved = get(event, "involvedObject").unwrap_or(&event["regarding"]);
    let about = text(involved, "namespace");
    let at = text(&event["metadata"], "namespace");
    if about != at && !(about.is_empty() && at == "default") {
        errors.invalid("involvedObject.namespace", about, "does not match event.namespace");
    }
    errors
}

fn validate_event(event: &Value) -> Errors {
    const LIMITS: [(&str, usize); 4] =
        [("reportingInstance", 128), ("action", 128), ("reason", 128), ("note", 1024)];
    let mut errors = validate_core_event(event);
    let root = FieldPath::default();
    if get(event, "eventTime").is_none() {
        errors.required("eventTime");
    }
    required(event, "reportingController", &root, &mut errors);
    let controller = text(event, "reportingController");
    qualified(controller, &root.field("reportingController"), &mut errors);
    for (field, limit) in LIMITS {
        if field != "note" {
            required(event, field, &root, &mut errors);
        }
        if text(event, field).len() > limit {
            let why = format!("can have at most {limit} characters");
            errors.push(FieldError::of(FieldErrorKind::Invalid, field, "", why));
        }
    }
    let kind = text(event, "type");
    if !matches!(kind, "Normal" | "Warning") {
        errors.invalid("type", "", format!("has invalid value: {kind}"));
    }
    errors
}

pub(super) const LEASE: Rules = Rules { validate: validate_lease, ..DEFAULT_RULES };

fn validate_lease(lease: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = FieldPath::new("spec");
    let spec = &lease["spec"];
    if let Some(seconds) = spec["leaseDurationSeconds"].as_i64().filter(|&seconds| seconds <= 0) {
        errors.invalid(path.field("leaseDurationSeconds"), seconds, "must be greater than 0");
    }
    non_negative(spec, &["leaseTransitions"], &path, &mut errors);
    errors
}

/// Pods inherit the preemption policy of their class.
pub(super) const PRIORITY_CLASS: Rules = Rules {
    default: |class| default(class, "preemptionPolicy", "PreemptLowerPriority"),
    generation: Generation::Fixed,
    ..DEFAULT_RULES
};
