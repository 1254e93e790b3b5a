//! Ingresses and their classes.

use serde_json::Value;

use super::rules::{Generation, NOTHING_SPECIAL, Rules};
use super::value::{default, get_mut};

pub(super) const INGRESS: Rules =
    Rules { generation: Generation::Of(&["spec"]), ..NOTHING_SPECIAL };
pub(super) const CLASS: Rules =
    Rules { default: default_class, generation: Generation::Of(&["spec"]), ..NOTHING_SPECIAL };

fn default_class(class: &mut Value) {
    if let Some(parameters) = get_mut(class, "spec").and_then(|spec| get_mut(spec, "parameters")) {
        default(parameters, "scope", "Cluster");
    }
}
