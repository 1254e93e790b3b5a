//! StorageClasses.

use serde_json::Value;

use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::default;

pub(super) const RULES: Rules = Rules { default: set_defaults, ..NOTHING_SPECIAL };

fn set_defaults(class: &mut Value) {
    default(class, "reclaimPolicy", "Delete");
    default(class, "volumeBindingMode", "Immediate");
}
