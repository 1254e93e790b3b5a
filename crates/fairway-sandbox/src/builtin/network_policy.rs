//! NetworkPolicies.

use serde_json::{Value, json};

use super::rules::{Generation, NOTHING_SPECIAL, Rules};
use super::value::{default, get, get_mut, items_mut};

pub(super) const RULES: Rules =
    Rules { default: set_defaults, generation: Generation::Of(&["spec"]), ..NOTHING_SPECIAL };

fn set_defaults(policy: &mut Value) {
    let Some(spec) = get_mut(policy, "spec") else { return };
    for direction in ["ingress", "egress"] {
        for rule in items_mut(spec, direction) {
            items_mut(rule, "ports").for_each(|port| default(port, "protocol", "TCP"));
        }
    }
    let types = match get(spec, "egress") {
        Some(_) => json!(["Ingress", "Egress"]),
        None => json!(["Ingress"]),
    };
    default(spec, "policyTypes", types);
}
