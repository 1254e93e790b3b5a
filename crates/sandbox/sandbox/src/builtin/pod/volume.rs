//! Volumes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::container::{no_parent_references, relative};
use super::environment;
use super::resources::quantity;
use crate::builtin::quantity::Quantity;
use crate::builtin::validation::{ErrorList, Errors, duplicates, invalid, required, unsupported};
use crate::builtin::value::{get, items, text};
use crate::field_error::FieldPath;
use crate::metadata::label;

/// Fields of a pod that a downward API volume can reference.
const FIELDS: [&str; 5] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
const PATH_TYPES: [&str; 8] = [
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
];
/// Minimum lifetime of a projected token, in seconds; kubelets renew tokens before they expire.
const MIN_TOKEN_SECONDS: i64 = 600;
/// Maximum lifetime of a projected token, in seconds.
const MAX_TOKEN_SECONDS: i64 = 1 << 32;

pub(super) fn all(spec: &Value, path: &FieldPath, errors: &mut Errors) {
    let volumes = items(spec, "volumes");
    for (index, volume) in volumes.iter().enumerate() {
        let at = path.index(index);
        source(volume, &at, errors);
        match text(volume, "name") {
            "" => errors.required(at.field("name")),
            name => invalid(&at.field("name"), name, label(name), errors),
        }
    }
    let names = volumes.iter().enumerate();
    duplicates(names.map(|(at, it)| (text(it, "name"), path.index(at).field("name"))), errors);
}

fn source(volume: &Value, at: &FieldPath, errors: &mut Errors) {
    /// Volume sources in the order in which the API server checks them; the second one found is
    /// reported.
    const KNOWN: [&str; 7] = [
        "emptyDir",
        "hostPath",
        "secret",
        "persistentVolumeClaim",
        "configMap",
        "downwardAPI",
        "projected",
    ];
    let fields = volume.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let others = fields.filter(|name| *name != "name" && !KNOWN.contains(name));
    let known = KNOWN.into_iter().filter(|name| get(volume, name).is_some());
    for (index, name) in known.chain(others).enumerate() {
        let path = at.field(name);
        if index > 0 {
            errors.forbidden(path, "may not specify more than 1 volume type");
            continue;
        }
        let source = &volume[name];
        match name {
            "emptyDir" => empty_dir(source, &path, errors),
            "hostPath" => host_path(source, &path, errors),
            "secret" => keys(source, "secretName", &path, errors),
            "configMap" => keys(source, "name", &path, errors),
            "persistentVolumeClaim" => required(source, "claimName", &path, errors),
            "downwardAPI" => downward(source, &path, errors),
            "projected" => projected(source, &path, errors),
            _ => {}
        }
    }
}

fn empty_dir(source: &Value, path: &FieldPath, errors: &mut Errors) {
    if quantity(&source["sizeLimit"]).is_some_and(Quantity::is_negative) {
        let why = "SizeLimit field must be a valid resource quantity";
        errors.forbidden(path.field("sizeLimit"), why);
    }
}

fn host_path(source: &Value, path: &FieldPath, errors: &mut Errors) {
    match text(source, "path") {
        "" => {
            errors.required(path.field("path"));
            return;
        }
        host_path => no_parent_references(host_path, &path.field("path"), errors),
    }
    let kind = text(source, "type");
    if !PATH_TYPES.contains(&kind) {
        errors.push(unsupported(path.field("type"), kind, &PATH_TYPES));
    }
}

/// Validates the reference of a volume to a ConfigMap or a Secret.
fn keys(source: &Value, name: &str, path: &FieldPath, errors: &mut Errors) {
    required(source, name, path, errors);
    mode(source, "defaultMode", path, errors);
    key_paths(source, path, errors);
}

fn key_paths(source: &Value, path: &FieldPath, errors: &mut Errors) {
    for (index, item) in items(source, "items").iter().enumerate() {
        let at = path.field("items").index(index);
        required(item, "key", &at, errors);
        file_path(item, &at, errors);
        mode(item, "mode", &at, errors);
    }
}

fn file_path(item: &Value, at: &FieldPath, errors: &mut Errors) {
    match text(item, "path") {
        "" => errors.required(at.field("path")),
        path => {
            relative(path, &at.field("path"), errors);
            if path.starts_with("..") && !path.split('/').any(|part| part == "..") {
                errors.invalid(at.field("path"), path, "must not start with '..'");
            }
        }
    }
}

fn mode(object: &Value, field: &str, at: &FieldPath, errors: &mut Errors) {
    if let Some(mode) = object[field].as_i64().filter(|mode| !(0..=0o777).contains(mode)) {
        let why = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.invalid(at.field(field), mode, why);
    }
}

/// Validates a downward API volume. The API server reports field paths without indices.
fn downward(source: &Value, path: &FieldPath, errors: &mut Errors) {
    mode(source, "defaultMode", path, errors);
    for item in items(source, "items") {
        file_path(item, path, errors);
        match (get(item, "fieldRef"), get(item, "resourceFieldRef")) {
            (Some(_), Some(_)) => {
                let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.invalid(path, "resource", why);
            }
            (Some(field), None) => {
                environment::field(field, &FIELDS, &path.field("fieldRef"), errors);
            }
            (None, Some(resource)) => {
                resource_field(resource, true, &path.field("resourceFieldRef"), errors);
            }
            (None, None) => {
                errors.required_because(path, "one of fieldRef and resourceFieldRef is required");
            }
        }
        mode(item, "mode", path, errors);
    }
}

/// Validates a `resourceFieldRef`; in a volume, the container name is required.
pub(super) fn resource_field(
    reference: &Value,
    of_volume: bool,
    at: &FieldPath,
    errors: &mut Errors,
) {
    if of_volume && text(reference, "containerName").is_empty() {
        errors.required(at.field("containerName"));
    }
    match text(reference, "resource") {
        "" => errors.required(at.field("resource")),
        name if RESOURCES.contains(&name) || name.contains("hugepages-") => {}
        name => errors.push(unsupported(at.field("resource"), name, &RESOURCES)),
    }
}

fn projected(source: &Value, path: &FieldPath, errors: &mut Errors) {
    mode(source, "defaultMode", path, errors);
    let mut taken = BTreeSet::new();
    for (index, projection) in items(source, "sources").iter().enumerate() {
        let at = path.field("sources").index(index);
        for kind in ["secret", "configMap", "downwardAPI"] {
            let Some(source) = get(projection, kind) else { continue };
            let at = at.field(kind);
            if kind == "downwardAPI" {
                downward(source, &at, errors);
            } else {
                required(source, "name", &at, errors);
                key_paths(source, &at, errors);
            }
            for item in items(source, "items") {
                let file = text(item, "path");
                if !file.is_empty() && !taken.insert(file.to_owned()) {
                    let name = text(source, "name");
                    errors.invalid(path, name, "conflicting duplicate paths");
                }
            }
        }
        if let Some(token) = get(projection, "serviceAccountToken") {
            self::token(token, path, &at.field("serviceAccountToken"), errors);
        }
    }
}

fn token(token: &Value, volume: &FieldPath, at: &FieldPath, errors: &mut Errors) {
    let seconds = token["expirationSeconds"].as_i64().unwrap_or(MIN_TOKEN_SECONDS);
    let path = at.field("expirationSeconds");
    if seconds < MIN_TOKEN_SECONDS {
        errors.invalid(path, seconds, "may not specify a duration less than 10 minutes");
    } else if seconds > MAX_TOKEN_SECONDS {
        errors.invalid(path, seconds, "may not specify a duration larger than 2^32 seconds");
    }
    if text(token, "path").is_empty() {
        errors.required(volume.field("path"));
    }
}
