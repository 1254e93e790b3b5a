//! Deployments.

use serde_json::{Value, json};

use super::pod;
use super::rules::{Generation, NOTHING_SPECIAL, Rules};
use super::value::{default, get_mut, text};

pub(super) const RULES: Rules =
    Rules { default: set_defaults, generation: Generation::SpecAndAnnotations, ..NOTHING_SPECIAL };

fn set_defaults(deployment: &mut Value) {
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
