//! `PersistentVolumes`.

use serde_json::{Value, json};

use super::check::{Errors, one_of, unsupported, without};
use super::pod;
use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::{default, get, get_mut, items, set};
use crate::field_error::{FieldError, Path};

pub(super) const RULES: Rules =
    Rules { default: set_defaults, create, validate, validate_update, ..NOTHING_SPECIAL };

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

pub(super) const ACCESS_MODES: [&str; 4] =
    ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
/// What of the spec is not the volume itself.
const OTHERS: [&str; 9] = [
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
];

fn validate(volume: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("spec");
    let spec = &volume["spec"];
    access_modes(spec, "", &path, &mut errors);
    let capacity = spec["capacity"].as_object();
    if capacity.is_none() {
        errors.push(FieldError::required(path.field("capacity"), ""));
    }
    if capacity.is_none_or(|it| it.len() != 1 || !it.contains_key("storage")) {
        let error = unsupported(path.field("capacity"), "", &["storage"]);
        errors.push(error.shown_as("core.ResourceList(nil)".to_owned()));
    }
    let policies = ["Delete", "Recycle", "Retain"];
    one_of(spec, "persistentVolumeReclaimPolicy", &policies, &path, &mut errors);
    let sources = without(spec, &OTHERS);
    if sources.is_empty() {
        errors.push(FieldError::required(&path, "must specify a volume type"));
    }
    if let Some(host_path) = get(spec, "hostPath") {
        pod::host_path(host_path, &path.field("hostPath"), &mut errors);
    }
    errors
}

/// How something can be mounted, which has to be said.
pub(super) fn access_modes(spec: &Value, why: &str, path: &Path, errors: &mut Errors) {
    let path = path.field("accessModes");
    let modes = items(spec, "accessModes");
    if modes.is_empty() {
        errors.push(FieldError::required(&path, why));
    }
    for mode in modes.iter().filter_map(Value::as_str) {
        if !ACCESS_MODES.contains(&mode) {
            errors.push(unsupported(&path, mode, &ACCESS_MODES));
        }
    }
}

fn validate_update(new: &Value, old: &Value) -> Errors {
    if without(&new["spec"], &OTHERS) == without(&old["spec"], &OTHERS) {
        return Errors::new();
    }
    let field = "spec.persistentvolumesource";
    vec![FieldError::forbidden(field, format!("{field} is immutable after creation"))]
}
