//! ReplicaSets.

use serde_json::Value;

use super::pod;
use super::rules::{Generation, NOTHING_SPECIAL, Rules};
use super::value::{default, get_mut};

pub(super) const RULES: Rules =
    Rules { default: set_defaults, generation: Generation::Of(&["spec"]), ..NOTHING_SPECIAL };

fn set_defaults(set: &mut Value) {
    let Some(spec) = get_mut(set, "spec") else { return };
    default(spec, "replicas", 1);
    pod::default_template(&mut spec["template"]);
}
