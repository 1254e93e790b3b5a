//! Jobs.

use serde_json::{Value, json};

use super::pod;
use super::rules::{Generation, NOTHING_SPECIAL, Rules};
use super::value::{default, get, get_mut, items_mut, object_at, set};

pub(super) const RULES: Rules = Rules {
    default: set_defaults,
    create,
    generation: Generation::Of(&["spec"]),
    ..NOTHING_SPECIAL
};

const CONTROLLER_UID: &str = "batch.kubernetes.io/controller-uid";
const JOB_NAME: &str = "batch.kubernetes.io/job-name";

fn set_defaults(job: &mut Value) {
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

/// A Job knows its pods by its own identity, unless its author says otherwise.
fn create(job: &mut Value) {
    if job["spec"]["manualSelector"] == true {
        return;
    }
    let metadata = &job["metadata"];
    let (uid, name) = (metadata["uid"].clone(), metadata["name"].clone());
    let Some(spec) = get_mut(job, "spec") else { return };
    default(spec, "selector", json!({}));
    if let Some(labels) = object_at(&mut spec["selector"], "matchLabels") {
        labels.insert(CONTROLLER_UID.to_owned(), uid.clone());
    }
    default(spec, "template", json!({}));
    default(&mut spec["template"], "metadata", json!({}));
    if let Some(labels) = object_at(&mut spec["template"]["metadata"], "labels") {
        for (key, value) in [
            ("controller-uid", &uid),
            (CONTROLLER_UID, &uid),
            ("job-name", &name),
            (JOB_NAME, &name),
        ] {
            labels.insert(key.to_owned(), value.clone());
        }
    }
    set(job, "status", json!({}));
}
