//! Jobs, `CronJobs` and their schedules.

use serde_json::{Value, json};

use super::validation::{
    ErrorList, Errors, IMMUTABLE, immutable, labels_in_go, non_negative, one_of,
    selector as check_selector, selector_in_go, unsupported,
};
use super::value::{default, get, get_mut, items_mut, object_at, set, text};
use super::{DEFAULT_RULES, Generation, Rules, pod, workload};
use crate::field_error::{FieldError, FieldPath};

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

/// Validates a Job spec, also that of a `CronJob`'s `jobTemplate`.
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

pub(super) const CRON_JOB: Rules = Rules {
    default: default_cron_job,
    generation: Generation::Of(&["spec"]),
    validate: validate_cron_job,
    ..DEFAULT_RULES
};

/// Jobs append 11 characters to the name, and the result has to be a label value.
const MAX_NAME: usize = 52;

fn default_cron_job(cron_job: &mut Value) {
    let Some(spec) = get_mut(cron_job, "spec") else { return };
    default(spec, "concurrencyPolicy", "Allow");
    default(spec, "suspend", false);
    default(spec, "successfulJobsHistoryLimit", 3);
    default(spec, "failedJobsHistoryLimit", 1);
    pod::default_template(&mut spec["jobTemplate"]["spec"]["template"]);
}

fn validate_cron_job(cron_job: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = FieldPath::new("spec");
    let spec = &cron_job["spec"];
    let name = text(&cron_job["metadata"], "name");
    if name.len() > MAX_NAME {
        let why = format!("must be no more than {MAX_NAME} characters");
        errors.invalid("metadata.name", name, why);
    }
    match text(spec, "schedule") {
        "" => errors.required(path.field("schedule")),
        schedule => {
            if let Err(problem) = validate_schedule(schedule) {
                errors.invalid(path.field("schedule"), schedule, problem);
            }
        }
    }
    let numbers =
        ["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"];
    non_negative(spec, &numbers, &path, &mut errors);
    let policies = ["Allow", "Forbid", "Replace"];
    one_of(spec, "concurrencyPolicy", &policies, &path, &mut errors);
    let template = path.field("jobTemplate").field("spec");
    let job = &spec["jobTemplate"]["spec"];
    validate_job_spec(job, &template, &mut errors);
    if job["manualSelector"] == true {
        let supported = ["nil", "false"].map(Value::from);
        let at = template.field("manualSelector");
        errors.push(FieldError::not_supported(at, true, &supported));
    }
    errors
}

/// Minimum and maximum of each field of a cron schedule, and the names of values.
const FIELDS: [(u32, u32, &[&str]); 5] =
    [(0, 59, &[]), (0, 23, &[]), (1, 31, &[]), (1, 12, &MONTHS), (0, 6, &DAYS)];
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const NICKNAMES: [&str; 7] =
    ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// Validates a schedule; the error is the message of the API server (robfig/cron).
fn validate_schedule(schedule: &str) -> Result<(), String> {
    if schedule.starts_with('@') {
        return nickname(schedule);
    }
    let fields: Vec<_> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!("Expected exactly 5 fields, found {}: {schedule}", fields.len()));
    }
    for (field, (min, max, supported)) in fields.into_iter().zip(FIELDS) {
        field.split(',').try_for_each(|range| range_of(range, min, max, supported))?;
    }
    Ok(())
}

fn nickname(schedule: &str) -> Result<(), String> {
    let is_period = schedule.strip_prefix("@every ").is_some_and(|period| !period.is_empty());
    if NICKNAMES.contains(&schedule) || is_period {
        Ok(())
    } else {
        Err(format!("Unrecognized descriptor: {schedule}"))
    }
}

fn range_of(range: &str, min: u32, max: u32, supported: &[&str]) -> Result<(), String> {
    let (values, step) = match range.split_once('/') {
        Some((_, step)) if step.contains('/') => return Err(format!("Too many slashes: {range}")),
        Some((values, step)) => (values, Some(step)),
        None => (range, None),
    };
    let (start, end) = match values.split_once('-') {
        _ if values == "*" || values == "?" => (min, max),
        Some((_, end)) if end.contains('-') => return Err(format!("Too many hyphens: {range}")),
        Some((start, end)) => (number(start, min, supported)?, number(end, min, supported)?),
        None => {
            let start = number(values, min, supported)?;
            (start, if step.is_some() { max } else { start })
        }
    };
    if let Some(step) = step
        && number(step, 0, &[])? == 0
    {
        return Err(format!("Step of range should be a positive number: {range}"));
    }
    if start < min {
        return Err(format!("Beginning of range ({start}) below minimum ({min}): {range}"));
    }
    if end > max {
        return Err(format!("End of range ({end}) above maximum ({max}): {range}"));
    }
    if start > end {
        return Err(format!("Beginning of range ({start}) beyond end of range ({end}): {range}"));
    }
    Ok(())
}

/// A number, or the number that a name stands for.
fn number(text: &str, first: u32, supported: &[&str]) -> Result<u32, String> {
    let value = (first..).zip(supported).find(|(_, value)| text.eq_ignore_ascii_case(value));
    match (value, text.parse()) {
        (Some((number, _)), _) | (None, Ok(number)) => Ok(number),
        (None, Err(_)) => Err(format!(
            "Failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"
        )),
    }
}
