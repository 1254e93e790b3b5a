//! PersistentVolumes.

use serde_json::{Value, json};

use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::{default, get_mut, set};

pub(super) const RULES: Rules = Rules { default: set_defaults, create, ..NOTHING_SPECIAL };

fn set_defaults(volume: &mut Value) {
    let Some(spec) = get_mut(volume, "spec") else { return };
    default(spec, "persistentVolumeReclaimPolicy", "Retain");
    default(spec, "volumeMode", "Filesystem");
    if let Some(host_path) = get_mut(spec, "hostPath") {
        default(host_path, "type", "");
    }
}

fn create(volume: &mut Value) {
    set(volume, "status", json!({ "phase": "Pending" }));
}
