//! Endpoints.

use serde_json::Value;

use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::{default, items_mut};

pub(super) const RULES: Rules = Rules { default: set_defaults, ..NOTHING_SPECIAL };

fn set_defaults(endpoints: &mut Value) {
    for subset in items_mut(endpoints, "subsets") {
        items_mut(subset, "ports").for_each(|port| default(port, "protocol", "TCP"));
    }
}
