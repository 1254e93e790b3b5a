//! Deployments, ReplicaSets and DaemonSets.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector as Structured;
use serde::Deserialize;
use serde_json::{Value, json};

use super::validation::{
    ErrorList, Errors, IMMUTABLE, amount, int_or_string, labels_in_go, max_100_percent,
    non_negative, percent, selector, selector_in_go, unsupported,
};
use super::value::{default, get, get_mut, object_at, text};
use super::{DEFAULT_RULES, Generation, Rules, pod};
use crate::catalog::Subresource;
use crate::field_error::{FieldError, FieldPath};
use crate::selector::LabelSelector;

/// Validates selector and pod template of a workload with `restartPolicy: Always`.
fn validate_workload(spec: &Value, kind: &str, path: &FieldPath, errors: &mut Errors) {
    validate_selector(spec, kind, path, errors);
    validate_template(spec, path, errors);
    let template = path.field("template").field("spec");
    let spec = &spec["template"]["spec"];
    let policy = text(spec, "restartPolicy");
    if matches!(policy, "Never" | "OnFailure") {
        errors.push(unsupported(template.field("restartPolicy"), policy, &["Always"]));
    }
    if get(spec, "activeDeadlineSeconds").is_some() {
        let why = "activeDeadlineSeconds in ReplicaSet is not Supported";
        errors.forbidden(template.field("activeDeadlineSeconds"), why);
    }
}

fn validate_selector(spec: &Value, kind: &str, path: &FieldPath, errors: &mut Errors) {
    let path = path.field("selector");
    let Some(labels) = get(spec, "selector") else {
        // For DaemonSets, the API server only reports that the labels do not match.
        if kind != "daemonset" {
            errors.required(path);
        }
        return;
    };
    selector(labels, &path, errors);
    if is_empty_selector(labels) {
        let why = format!("empty selector is invalid for {kind}");
        errors.invalid_as(&path, selector_in_go(labels), why);
    }
}

/// Validates the pod template; the selector must match its labels.
fn validate_template(spec: &Value, path: &FieldPath, errors: &mut Errors) {
    let at = path.field("template");
    let labels = &spec["template"]["metadata"]["labels"];
    match matches(&spec["selector"], labels) {
        None => {
            let shown = selector_in_go(&spec["selector"]);
            errors.invalid_as(path.field("selector"), shown, "invalid label selector");
        }
        Some(true) => {}
        Some(false) => errors.invalid_as(
            at.field("metadata").field("labels"),
            labels_in_go(labels),
            "`selector` does not match template `labels`",
        ),
    }
    pod::validate_template(&spec["template"], &at, errors);
}

/// Refuses changes of the selector.
fn immutable_selector(new: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    let (new, old) = (&new["spec"]["selector"], &old["spec"]["selector"]);
    if new != old {
        errors.invalid_as("spec.selector", selector_in_go(new), IMMUTABLE);
    }
    errors
}

fn is_empty_selector(selector: &Value) -> bool {
    let is_empty = |field: &str| match &selector[field] {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => true,
    };
    is_empty("matchLabels") && is_empty("matchExpressions")
}

/// Whether the selector matches the labels; `None` if the selector is invalid.
pub(super) fn matches(selector: &Value, labels: &Value) -> Option<bool> {
    if selector.is_null() {
        return Some(false);
    }
    let selector = Structured::deserialize(selector).ok()?;
    let selector = LabelSelector::from_structured(&selector).ok()?;
    Some(selector.matches(&json!({ "metadata": { "labels": labels } })))
}

pub(super) const DEPLOYMENT: Rules = Rules {
    default: default_deployment,
    validate: validate_deployment,
    validate_update: immutable_selector,
    generation: Generation::SpecAndAnnotations,
    metadata_immutable_in_status: &["labels"],
    ..DEFAULT_RULES
};

fn default_deployment(deployment: &mut Value) {
    let Some(spec) = get_mut(deployment, "spec") else { return };
    default(spec, "replicas", 1);
    default(spec, "revisionHistoryLimit", 10);
    default(spec, "progressDeadlineSeconds", 600);
    if let Some(strategy) = get_mut(spec, "strategy") {
        default(strategy, "type", "RollingUpdate");
        if text(strategy, "type") == "RollingUpdate" {
            default(strategy, "rollingUpdate", json!({}));
            let rolling = &mut strategy["rollingUpdate"];
            default(rolling, "maxUnavailable", "25%");
            default(rolling, "maxSurge", "25%");
        }
    }
    pod::default_template(&mut spec["template"]);
}

fn validate_deployment(deployment: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = FieldPath::new("spec");
    let spec = &deployment["spec"];
    non_negative(spec, &["replicas"], &path, &mut errors);
    validate_workload(spec, "deployment", &path, &mut errors);
    deployment_strategy(&spec["strategy"], &path.field("strategy"), &mut errors);
    non_negative(
        spec,
        &["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"],
        &path,
        &mut errors,
    );
    if let Some(deadline) = spec["progressDeadlineSeconds"].as_i64()
        && deadline <= spec["minReadySeconds"].as_i64().unwrap_or_default()
    {
        let why = "must be greater than minReadySeconds";
        errors.invalid(path.field("progressDeadlineSeconds"), deadline, why);
    }
    errors
}

fn deployment_strategy(strategy: &Value, path: &FieldPath, errors: &mut Errors) {
    match text(strategy, "type") {
        "Recreate" => {
            if get(strategy, "rollingUpdate").is_some() {
                let why = "may not be specified when strategy `type` is 'Recreate'";
                errors.forbidden(path.field("rollingUpdate"), why);
            }
        }
        "RollingUpdate" => {
            deployment_rolling(&strategy["rollingUpdate"], &path.field("rollingUpdate"), errors);
        }
        other => {
            let supported = ["Recreate", "RollingUpdate"].map(Value::from);
            errors.push(FieldError::not_supported(path, other, &supported).shown_as(format!(
                "apps.DeploymentStrategy{{Type:{other:?}, \
                 RollingUpdate:(*apps.RollingUpdateDeployment)(nil)}}"
            )));
        }
    }
}

fn deployment_rolling(rolling: &Value, path: &FieldPath, errors: &mut Errors) {
    amount(rolling, "maxUnavailable", path, errors);
    amount(rolling, "maxSurge", path, errors);
    let is_zero = |field: &str| rolling[field] == 0 || percent(&rolling[field]) == Some(0);
    if is_zero("maxUnavailable") && is_zero("maxSurge") {
        let shown = int_or_string(&rolling["maxUnavailable"]);
        let path = path.field("maxUnavailable");
        errors.invalid_as(path, shown, "may not be 0 when `maxSurge` is 0");
    }
    max_100_percent(rolling, "maxUnavailable", path, errors);
}

pub(super) const REPLICA_SET: Rules = Rules {
    default: default_replica_set,
    validate: validate_replica_set,
    validate_update: immutable_selector,
    generation: Generation::Of(&["spec"]),
    ..DEFAULT_RULES
};

fn default_replica_set(set: &mut Value) {
    let Some(spec) = get_mut(set, "spec") else { return };
    default(spec, "replicas", 1);
    pod::default_template(&mut spec["template"]);
}

fn validate_replica_set(set: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = FieldPath::new("spec");
    let spec = &set["spec"];
    non_negative(spec, &["replicas", "minReadySeconds"], &path, &mut errors);
    // The API server says "deployment" for ReplicaSets, too.
    validate_workload(spec, "deployment", &path, &mut errors);
    errors
}

pub(super) const DAEMON_SET: Rules = Rules {
    default: default_daemon_set,
    create,
    update,
    validate: validate_daemon_set,
    validate_update: immutable_selector,
    generation: Generation::Of(&["spec"]),
    ..DEFAULT_RULES
};

/// Counts changes of the pod template; formerly the field `spec.templateGeneration`.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

fn default_daemon_set(set: &mut Value) {
    if set["metadata"]["annotations"].get(TEMPLATE_GENERATION).is_none() {
        annotate(set, 0);
    }
    let Some(spec) = get_mut(set, "spec") else { return };
    default(spec, "revisionHistoryLimit", 10);
    if let Some(strategy) = get_mut(spec, "updateStrategy") {
        default(strategy, "type", "RollingUpdate");
        if text(strategy, "type") == "RollingUpdate" {
            default(strategy, "rollingUpdate", json!({}));
            default(&mut strategy["rollingUpdate"], "maxUnavailable", 1);
            default(&mut strategy["rollingUpdate"], "maxSurge", 0);
        }
    }
    pod::default_template(&mut spec["template"]);
}

fn create(set: &mut Value) {
    annotate(set, 1);
}

fn update(set: &mut Value, old: &Value, _: Option<Subresource>) {
    let generation = &old["metadata"]["annotations"][TEMPLATE_GENERATION];
    let generation = generation.as_str().and_then(|text| text.parse::<i64>().ok()).unwrap_or(1);
    let changed = set["spec"]["template"] != old["spec"]["template"];
    annotate(set, generation.saturating_add(i64::from(changed)));
}

fn annotate(set: &mut Value, generation: i64) {
    if let Some(annotations) = object_at(&mut set["metadata"], "annotations") {
        annotations.insert(TEMPLATE_GENERATION.to_owned(), generation.to_string().into());
    }
}

fn validate_daemon_set(set: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = FieldPath::new("spec");
    let spec = &set["spec"];
    validate_workload(spec, "daemonset", &path, &mut errors);
    daemon_set_strategy(&spec["updateStrategy"], &path.field("updateStrategy"), &mut errors);
    non_negative(spec, &["minReadySeconds", "revisionHistoryLimit"], &path, &mut errors);
    errors
}

fn daemon_set_strategy(strategy: &Value, path: &FieldPath, errors: &mut Errors) {
    match text(strategy, "type") {
        "OnDelete" => {}
        "RollingUpdate" => {
            daemon_set_rolling(&strategy["rollingUpdate"], &path.field("rollingUpdate"), errors);
        }
        other => {
            let supported = ["RollingUpdate", "OnDelete"].map(Value::from);
            errors.push(FieldError::not_supported(path, other, &supported).shown_as(format!(
                "apps.DaemonSetUpdateStrategy{{Type:{other:?}, \
                 RollingUpdate:(*apps.RollingUpdateDaemonSet)(nil)}}"
            )));
        }
    }
}

fn daemon_set_rolling(rolling: &Value, path: &FieldPath, errors: &mut Errors) {
    let is_zero = |field: &str| match &rolling[field] {
        Value::String(_) => percent(&rolling[field]).unwrap_or_default() == 0,
        number => number.as_i64().unwrap_or_default() == 0,
    };
    for field in ["maxUnavailable", "maxSurge"] {
        amount(rolling, field, path, errors);
        max_100_percent(rolling, field, path, errors);
    }
    let [unavailable, surge] = ["maxUnavailable", "maxSurge"].map(is_zero);
    let at = path.field("maxUnavailable");
    let shown = int_or_string(&rolling["maxUnavailable"]);
    if unavailable && surge {
        errors.invalid_as(at, shown, "cannot be 0 when maxSurge is 0");
    } else if !unavailable && !surge {
        errors.invalid_as(
            path.field("maxSurge"),
            int_or_string(&rolling["maxSurge"]),
            "may not be set when maxUnavailable is non-zero",
        );
    }
}
