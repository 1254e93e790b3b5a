//! Nodes.

use serde_json::Value;

use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::{default, get, get_mut};

pub(super) const RULES: Rules = Rules { default: set_defaults, ..NOTHING_SPECIAL };

/// All that a node has can be used.
fn set_defaults(node: &mut Value) {
    let Some(status) = get_mut(node, "status") else { return };
    if let Some(capacity) = get(status, "capacity").cloned() {
        default(status, "allocatable", capacity);
    }
}
