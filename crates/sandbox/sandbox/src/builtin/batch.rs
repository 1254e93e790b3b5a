//! Jobs.

use serde_json::{Value, json};

use super::validation::{
    ErrorList, Errors, IMMUTABLE, immutable, labels_in_go, non_negative,
    selector as check_selector, selector_in_go, unsupported,
};
use super::value::{default, get, get_mut, items_mut, object_at, set, text};
use super::{DEFAULT_RULES, Generation, Rules, pod, workload};
use crate::field_error::FieldPath;

pub(super) const JOB: Rules = Rules {
    default: default_job,
    create,
    validate: validate_job,
    validate_update,
    generation: Generation::Of(&["spec"]),
    ..DEFAULT_RULES
};

const CONTROLLER_UID: &str = "batch.kubernetes.io/controller-uid";
const JOB_NAME: &str = "batch.kubernetes.io/job-name";

fn default_job(job: &mut Value) {
    let labels = job["spec"]["template"]["metadata"]["labels"].clone();
    if !labels.is_null() {
        default(&mut job["metadata"], "labels", labels);
    }
    let Some(spec) = get_mut(job, "spec") else { return };
    if get(spec, "parallelism").is_none() {
        default(spec, "completions", 1);
    }
    default(spec, "parallelism", 1);
    let per_index = get(spec, "backoffLimitPerIndex").is_some();
    default(spec, "backoffLimit", if per_index { i32::MAX } else { 6 });
    default(spec, "completionMode", "NonIndexed");
    default(spec, "suspend", false);
    let when_failed = get(spec, "podFailurePolicy").is_some();
    let replacement = if when_failed { "Failed" } else { "TerminatingOrFailed" };
    default(spec, "podReplacementPolicy", replacement);
    if let Some(policy) = get_mut(spec, "podFailurePolicy") {
        for rule in items_mut(policy, "rules") {
            items_mut(rule, "onPodConditions").for_each(|it| default(it, "status", "True"));
        }
    }
    pod::default_template(&mut spec["template"]);
}

/// Generates selector and labels from the UID of the Job, unless `spec.manualSelector` is set.
fn create(job: &mut Value) {
    if job["spec"]["manualSelector"] == true {
        return;
    }
    let metadata = &job["metadata"];
    let (uid, name) = (metadata["uid"].clone(), metadata["name"].clone());
    let inherits = metadata["labels"] == job["spec"]["template"]["metadata"]["labels"];
    let Some(spec) = get_mut(job, "spec") else { return };
    default(spec, "selector", json!({}));
    if let Some(labels) = object_at(&mut spec["selector"], "matchLabels") {
        labels.insert(CONTROLLER_UID.to_owned(), uid.clone());
    }
    let template = &mut spec["template"]["metadata"];
    if let Some(labels) = object_at(template, "labels") {
        for (key, value) in [
            ("controller-uid", &uid),
            (CONTROLLER_UID, &uid),
            ("job-name", &name),
            (JOB_NAME, &name),
        ] {
            labels.insert(key.to_owned(), value.clone());
        }
    }
    let labels = template["labels"].clone();
    if inherits {
        set(&mut job["metadata"], "labels", labels);
    }
}

fn validate_job(job: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = FieldPath::new("spec");
    let spec = &job["spec"];
    if spec["manualSelector"] != true {
        generated_selector(job, &path, &mut errors);
    }
    validate_job_spec(spec, &path, &mut errors);
    if get(spec, "selector").is_none() {
        errors.required(path.field("selector"));
    } else {
        check_selector(&spec["selector"], &path.field("selector"), &mut errors);
    }
    let labels = &spec["template"]["metadata"]["labels"];
    if workload::matches(&spec["selector"], labels) == Some(false) {
        errors.invalid_as(
            path.field("template").field("metadata").field("labels"),
            labels_in_go(labels),
            "`selector` does not match template `labels`",
        );
    }
    errors
}

fn validate_job_spec(spec: &Value, path: &FieldPath, errors: &mut Errors) {
    const NUMBERS: [&str; 5] = [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
    ];
    non_negative(spec, &NUMBERS, path, errors);
    let mode = text(spec, "completionMode");
    if !matches!(mode, "" | "NonIndexed" | "Indexed") {
        let supported = ["Indexed", "NonIndexed"];
        errors.push(unsupported(path.field("completionMode"), mode, &supported));
    }
    if mode == "Indexed" && get(spec, "completions").is_none() {
        errors.required_because(path.field("completions"), "when completion mode is Indexed");
    }
    pod::validate_template(&spec["template"], &path.field("template"), errors);
    if text(&spec["template"]["spec"], "restartPolicy") == "Always" {
        errors.required_because(
            path.field("template").field("spec").field("restartPolicy"),
            "valid values: \"OnFailure\", \"Never\"",
        );
    }
}

/// The generated selector must not conflict with labels in the template.
fn generated_selector(job: &Value, path: &FieldPath, errors: &mut Errors) {
    let selector = &job["spec"]["selector"];
    let generated = json!({ "matchLabels": { CONTROLLER_UID: job["metadata"]["uid"] } });
    let older = json!({ "matchLabels": { "controller-uid": job["metadata"]["uid"] } });
    if *selector != generated && *selector != older {
        let why = "`selector` not auto-generated";
        let shown = selector_in_go(selector);
        errors.invalid_as(path.field("selector"), shown, why);
    }
}

fn validate_update(new: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = FieldPath::new("spec");
    let (new, old) = (&new["spec"], &old["spec"]);
    for field in ["completions", "completionMode", "podFailurePolicy", "template"] {
        immutable(new, old, field, &path, &mut errors);
    }
    if new["selector"] != old["selector"] {
        let shown = selector_in_go(&new["selector"]);
        errors.invalid_as(path.field("selector"), shown, IMMUTABLE);
    }
    errors
}
