//! `CronJobs`.

mod schedule;

use serde_json::Value;

use crate::builtin::check::{Errors, not_negative, one_of};
use crate::builtin::rules::{Generation, NOTHING_SPECIAL, Rules};
use crate::builtin::value::{default, get_mut, text};
use crate::builtin::{job, pod};
use crate::field_error::{FieldError, Path};

pub(in crate::builtin) const RULES: Rules = Rules {
    default: set_defaults,
    generation: Generation::Of(&["spec"]),
    validate,
    ..NOTHING_SPECIAL
};

/// The names of its Jobs have eleven characters more, and are labels of pods.
const MAX_NAME: usize = 52;

fn set_defaults(cron_job: &mut Value) {
    let Some(spec) = get_mut(cron_job, "spec") else { return };
    default(spec, "concurrencyPolicy", "Allow");
    default(spec, "suspend", false);
    default(spec, "successfulJobsHistoryLimit", 3);
    default(spec, "failedJobsHistoryLimit", 1);
    pod::default_template(&mut spec["jobTemplate"]["spec"]["template"]);
}

fn validate(cron_job: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("spec");
    let spec = &cron_job["spec"];
    let name = text(&cron_job["metadata"], "name");
    if name.len() > MAX_NAME {
        let why = format!("must be no more than {MAX_NAME} characters");
        errors.push(FieldError::invalid("metadata.name", name, why));
    }
    match text(spec, "schedule") {
        "" => errors.push(FieldError::required(path.field("schedule"), "")),
        schedule => {
            if let Err(problem) = schedule::check(schedule) {
                errors.push(FieldError::invalid(path.field("schedule"), schedule, problem));
            }
        }
    }
    let numbers =
        ["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"];
    not_negative(spec, &numbers, &path, &mut errors);
    let policies = ["Allow", "Forbid", "Replace"];
    one_of(spec, "concurrencyPolicy", &policies, &path, &mut errors);
    let template = path.field("jobTemplate").field("spec");
    let job = &spec["jobTemplate"]["spec"];
    job::validate_spec(job, &template, &mut errors);
    if job["manualSelector"] == true {
        let words = ["nil", "false"].map(Value::from);
        let at = template.field("manualSelector");
        errors.push(FieldError::not_supported(at, true, &words));
    }
    errors
}
