//! What Deployments, `ReplicaSets`, `DaemonSets` and `StatefulSets` have in common.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector as Structured;
use serde::Deserialize;
use serde_json::{Value, json};

use super::check::{
    Errors, IMMUTABLE, labels_in_go, selector as check_selector, selector_in_go, unsupported,
};
use super::pod;
use super::value::{get, text};
use crate::field_error::{FieldError, Path};
use crate::selector::LabelSelector;

/// Selector and template of a workload whose pods run for ever.
pub(super) fn check(spec: &Value, kind: &str, path: &Path, errors: &mut Errors) {
    selector(spec, kind, path, errors);
    template(spec, path, errors);
    let template = path.field("template").field("spec");
    let spec = &spec["template"]["spec"];
    let policy = text(spec, "restartPolicy");
    if matches!(policy, "Never" | "OnFailure") {
        errors.push(unsupported(template.field("restartPolicy"), policy, &["Always"]));
    }
    if get(spec, "activeDeadlineSeconds").is_some() {
        let why = "activeDeadlineSeconds in ReplicaSet is not Supported";
        errors.push(FieldError::forbidden(template.field("activeDeadlineSeconds"), why));
    }
}

fn selector(spec: &Value, kind: &str, path: &Path, errors: &mut Errors) {
    let path = path.field("selector");
    let Some(selector) = get(spec, "selector") else {
        // Of these the API server only says that their labels do not match.
        if kind != "daemonset" {
            errors.push(FieldError::required(path, ""));
        }
        return;
    };
    check_selector(selector, &path, errors);
    if selects_everything(selector) {
        let why = format!("empty selector is invalid for {kind}");
        errors.push(FieldError::invalid_as(&path, selector_in_go(selector), why));
    }
}

/// The template, whose pods have to be those that are selected.
pub(super) fn template(spec: &Value, path: &Path, errors: &mut Errors) {
    let at = path.field("template");
    let labels = &spec["template"]["metadata"]["labels"];
    match matches(&spec["selector"], labels) {
        None => {
            let shown = selector_in_go(&spec["selector"]);
            errors.push(FieldError::invalid_as(
                path.field("selector"),
                shown,
                "invalid label selector",
            ));
        }
        Some(true) => {}
        Some(false) => errors.push(FieldError::invalid_as(
            at.field("metadata").field("labels"),
            labels_in_go(labels),
            "`selector` does not match template `labels`",
        )),
    }
    pod::validate_template(&spec["template"], &at, errors);
}

/// A selector that once is set stays.
pub(super) fn selector_stays(new: &Value, old: &Value, errors: &mut Errors) {
    let (new, old) = (&new["spec"]["selector"], &old["spec"]["selector"]);
    if new != old {
        errors.push(FieldError::invalid_as("spec.selector", selector_in_go(new), IMMUTABLE));
    }
}

fn selects_everything(selector: &Value) -> bool {
    let is_empty = |field: &str| match &selector[field] {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => true,
    };
    is_empty("matchLabels") && is_empty("matchExpressions")
}

/// Whether labels are selected; `None` where the selector makes no sense.
pub(super) fn matches(selector: &Value, labels: &Value) -> Option<bool> {
    if selector.is_null() {
        return Some(false);
    }
    let selector = Structured::deserialize(selector).ok()?;
    let selector = LabelSelector::from_structured(&selector).ok()?;
    Some(selector.matches(&json!({ "metadata": { "labels": labels } })))
}
