//! LimitRanges.

use serde_json::Value;

use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::{entries, get_mut, items_mut, object_at, text};

pub(super) const RULES: Rules = Rules { default: set_defaults, ..NOTHING_SPECIAL };

fn set_defaults(range: &mut Value) {
    let Some(spec) = get_mut(range, "spec") else { return };
    for limit in items_mut(spec, "limits").filter(|limit| text(limit, "type") == "Container") {
        inherit(limit, "default", "max");
        inherit(limit, "defaultRequest", "default");
        inherit(limit, "defaultRequest", "min");
    }
}

fn inherit(limit: &mut Value, field: &str, from: &str) {
    let amounts: Vec<_> =
        entries(limit, from).map(|(name, amount)| (name.clone(), amount.clone())).collect();
    if amounts.is_empty() {
        return;
    }
    if let Some(target) = object_at(limit, field) {
        for (name, amount) in amounts {
            target.entry(name).or_insert(amount);
        }
    }
}
