//! PersistentVolumeClaims.

use serde_json::{Value, json};

use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::{default, get_mut, set};

pub(super) const RULES: Rules = Rules { default: set_defaults, create, ..NOTHING_SPECIAL };

fn set_defaults(claim: &mut Value) {
    if let Some(spec) = get_mut(claim, "spec") {
        default(spec, "volumeMode", "Filesystem");
    }
    if let Some(status) = get_mut(claim, "status") {
        default(status, "phase", "Pending");
    }
}

fn create(claim: &mut Value) {
    set(claim, "status", json!({ "phase": "Pending" }));
}
