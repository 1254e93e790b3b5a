//! Pods, and the templates of pods in workloads.

mod default;

use serde_json::{Value, json};

use super::rules::{Generation, NOTHING_SPECIAL, Rules};
use super::value::set;

pub(super) use default::template as default_template;

pub(super) const RULES: Rules = Rules {
    default: default::pod,
    create,
    generation: Generation::Of(&["spec"]),
    ..NOTHING_SPECIAL
};

fn create(pod: &mut Value) {
    let class = default::quality_of_service(&pod["spec"]);
    set(pod, "status", json!({ "phase": "Pending", "qosClass": class }));
}
