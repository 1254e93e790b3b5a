//! Pods, and the templates of pods in workloads.

mod default;
mod validate;

use serde_json::{Value, json};

use super::rules::{Generation, NOTHING_SPECIAL, Rules};
use super::value::set;

pub(super) use default::template as default_template;
pub(super) use validate::template as validate_template;
pub(super) use validate::{host_path, resource_amount, resource_quantity, standard_resource};

pub(super) const RULES: Rules = Rules {
    default: default::pod,
    create,
    validate: validate::pod,
    validate_update: validate::update,
    generation: Generation::Of(&["spec"]),
    metadata_beside_status: &["ownerReferences"],
    ..NOTHING_SPECIAL
};

fn create(pod: &mut Value) {
    let class = default::quality_of_service(&pod["spec"]);
    set(pod, "status", json!({ "phase": "Pending", "qosClass": class }));
}
