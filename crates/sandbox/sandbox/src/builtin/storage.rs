//! `PersistentVolumes`, `PersistentVolumeClaims` and `StorageClasses`.

use serde_json::{Value, json};

use super::pod::resource_quantity;
use super::validation::{
    ErrorList, Errors, immutable, invalid, one_of, selector, unsupported, without,
};
use super::value::{default, get, get_mut, items, set, text};
use super::{DEFAULT_RULES, Rules, pod};
use crate::field_error::{FieldError, FieldPath};
use crate::selector::validate::key_problems;

pub(super) const VOLUME: Rules = Rules {
    default: default_volume,
    create: prepare_volume,
    validate: validate_volume,
    validate_update: validate_volume_update,
    ..DEFAULT_RULES
};

fn default_volume(volume: &mut Value) {
    let Some(spec) = get_mut(volume, "spec") else { return };
    default(spec, "persistentVolumeReclaimPolicy", "Retain");
    default(spec, "volumeMode", "Filesystem");
    if let Some(host_path) = get_mut(spec, "hostPath") {
        default(host_path, "type", "");
    }
}

fn prepare_volume(volume: &mut Value) {
    set(volume, "status", json!({ "phase": "Pending" }));
}

pub(super) const ACCESS_MODES: [&str; 4] =
    ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
/// Fields of the spec other than the volume source.
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

fn validate_volume(volume: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = FieldPath::new("spec");
    let spec = &volume["spec"];
    access_modes(spec, "", &path, &mut errors);
    let capacity = spec["capacity"].as_object();
    if capacity.is_none() {
        errors.required(path.field("capacity"));
    }
    if capacity.is_none_or(|it| it.len() != 1 || !it.contains_key("storage")) {
        let error = unsupported(path.field("capacity"), "", &["storage"]);
        errors.push(error.shown_as("core.ResourceList(nil)".to_owned()));
    }
    let policies = ["Delete", "Recycle", "Retain"];
    one_of(spec, "persistentVolumeReclaimPolicy", &policies, &path, &mut errors);
    let sources = without(spec, &OTHERS);
    if sources.is_empty() {
        errors.required_because(&path, "must specify a volume type");
    }
    if let Some(host_path) = get(spec, "hostPath") {
        pod::host_path(host_path, &path.field("hostPath"), &mut errors);
    }
    errors
}

/// Requires valid access modes.
pub(super) fn access_modes(spec: &Value, why: &str, path: &FieldPath, errors: &mut Errors) {
    let path = path.field("accessModes");
    let modes = items(spec, "accessModes");
    if modes.is_empty() {
        errors.required_because(&path, why);
    }
    for mode in modes.iter().filter_map(Value::as_str) {
        if !ACCESS_MODES.contains(&mode) {
            errors.push(unsupported(&path, mode, &ACCESS_MODES));
        }
    }
}

fn validate_volume_update(new: &Value, old: &Value) -> Errors {
    if without(&new["spec"], &OTHERS) == without(&old["spec"], &OTHERS) {
        return Errors::new();
    }
    let field = "spec.persistentvolumesource";
    vec![FieldError::forbidden(field, format!("{field} is immutable after creation"))]
}

pub(super) const CLAIM: Rules = Rules {
    default: default_claim,
    create: prepare_claim,
    validate: validate_claim,
    validate_update: validate_claim_update,
    ..DEFAULT_RULES
};

fn default_claim(claim: &mut Value) {
    if let Some(spec) = get_mut(claim, "spec") {
        default(spec, "volumeMode", "Filesystem");
    }
    if let Some(status) = get_mut(claim, "status") {
        default(status, "phase", "Pending");
    }
}

fn prepare_claim(claim: &mut Value) {
    set(claim, "status", json!({ "phase": "Pending" }));
}

fn validate_claim(claim: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = FieldPath::new("spec");
    let spec = &claim["spec"];
    access_modes(spec, "at least 1 access mode is required", &path, &mut errors);
    let at = path.field("resources").key("storage");
    match resource_quantity(&spec["resources"]["requests"]["storage"]) {
        None => errors.required(at),
        Some(amount) if amount.is_zero() || amount.is_negative() => {
            errors.invalid(at, amount.to_string(), "must be greater than zero");
        }
        Some(_) => {}
    }
    if let Some(labels) = get(spec, "selector") {
        selector(labels, &path.field("selector"), &mut errors);
    }
    one_of(spec, "volumeMode", &["Block", "Filesystem"], &path, &mut errors);
    errors
}

fn validate_claim_update(new: &Value, old: &Value) -> Errors {
    /// `volumeName` is set by the binder; `resources` allow expansion.
    const MUTABLE: [&str; 3] = ["volumeName", "resources", "volumeAttributesClassName"];
    if without(&new["spec"], &MUTABLE) == without(&old["spec"], &MUTABLE) {
        return Errors::new();
    }
    let why = "spec is immutable after creation except resources.requests for bound claims";
    vec![FieldError::forbidden("spec", why)]
}

pub(super) const STORAGE_CLASS: Rules = Rules {
    default: default_storage_class,
    validate: validate_storage_class,
    validate_update: validate_storage_class_update,
    ..DEFAULT_RULES
};

fn default_storage_class(class: &mut Value) {
    default(class, "reclaimPolicy", "Delete");
    default(class, "volumeBindingMode", "Immediate");
}

fn validate_storage_class(class: &Value) -> Errors {
    let mut errors = Errors::new();
    let root = FieldPath::default();
    match text(class, "provisioner") {
        "" => errors.required("provisioner"),
        name => invalid(
            &root.field("provisioner"),
            name,
            key_problems(&name.to_lowercase()),
            &mut errors,
        ),
    }
    one_of(class, "reclaimPolicy", &["Delete", "Retain"], &root, &mut errors);
    let modes = ["Immediate", "WaitForFirstConsumer"];
    one_of(class, "volumeBindingMode", &modes, &root, &mut errors);
    errors
}

fn validate_storage_class_update(new: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    for field in ["parameters", "provisioner", "reclaimPolicy"] {
        if new[field] != old[field] {
            errors.forbidden(field, format!("updates to {field} are forbidden."));
        }
    }
    immutable(new, old, "volumeBindingMode", &FieldPath::default(), &mut errors);
    errors
}
