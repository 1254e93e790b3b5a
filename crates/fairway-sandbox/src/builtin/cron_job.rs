//! CronJobs.

use serde_json::Value;

use super::pod;
use super::rules::{Generation, NOTHING_SPECIAL, Rules};
use super::value::{default, get_mut};

pub(super) const RULES: Rules =
    Rules { default: set_defaults, generation: Generation::Of(&["spec"]), ..NOTHING_SPECIAL };

fn set_defaults(cron_job: &mut Value) {
    let Some(spec) = get_mut(cron_job, "spec") else { return };
    default(spec, "concurrencyPolicy", "Allow");
    default(spec, "suspend", false);
    default(spec, "successfulJobsHistoryLimit", 3);
    default(spec, "failedJobsHistoryLimit", 1);
    pod::default_template(&mut spec["jobTemplate"]["spec"]["template"]);
}
