//! Environment variables.

use serde_json::Value;

use super::volume::resource_field;
use crate::builtin::validation::{ErrorList, Errors, config_key, invalid, unsupported};
use crate::builtin::value::{get, items, text};
use crate::field_error::FieldPath;
use crate::metadata::subdomain;
use crate::selector::validate::key_problems;

const NAME: &str = "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')";

/// Fields of a pod that an environment variable can reference.
const FIELDS: [&str; 8] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.podIP",
    "status.podIPs",
];

pub(super) fn check(container: &Value, path: &FieldPath, errors: &mut Errors) {
    for (index, variable) in items(container, "env").iter().enumerate() {
        let at = path.field("env").index(index);
        match text(variable, "name") {
            "" => errors.required(at.field("name")),
            name => invalid(&at.field("name"), name, name_problems(name), errors),
        }
        if let Some(source) = get(variable, "valueFrom") {
            self::source(variable, source, &at.field("valueFrom"), errors);
        }
    }
    for (index, group) in items(container, "envFrom").iter().enumerate() {
        self::group(group, &path.field("envFrom"), index, errors);
    }
}

fn name_problems(name: &str) -> Vec<String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let valid =
        name.bytes().all(allowed) && !name.starts_with(|first: char| first.is_ascii_digit());
    let mut problems = Vec::new();
    if !valid {
        problems.push(NAME.to_owned());
    }
    match name {
        "." | ".." => problems.push(format!("must not be '{name}'")),
        _ if name.starts_with("..") => problems.push("must not start with '..'".to_owned()),
        _ => {}
    }
    problems
}

fn source(variable: &Value, source: &Value, path: &FieldPath, errors: &mut Errors) {
    let sources = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef"];
    let given = sources.iter().filter(|name| get(source, name).is_some()).count();
    if let Some(reference) = get(source, "fieldRef") {
        field(reference, &FIELDS, &path.field("fieldRef"), errors);
    }
    if let Some(reference) = get(source, "resourceFieldRef") {
        resource_field(reference, false, &path.field("resourceFieldRef"), errors);
    }
    for name in ["configMapKeyRef", "secretKeyRef"] {
        if let Some(reference) = get(source, name) {
            key(reference, &path.field(name), errors);
        }
    }
    let problem = match given {
        0 => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or \
             `secretKeyRef`"
        }
        _ if !text(variable, "value").is_empty() => {
            "may not be specified when `value` is not empty"
        }
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    errors.invalid(path, "", problem);
}

/// Validates a `fieldRef`: one of the known fields, or a single label or annotation.
pub(super) fn field(reference: &Value, known: &[&str], path: &FieldPath, errors: &mut Errors) {
    let name = text(reference, "fieldPath");
    let at = path.field("fieldPath");
    let entry = name.split_once("['").and_then(|(map, key)| Some((map, key.strip_suffix("']")?)));
    match (name, entry) {
        ("", _) => errors.required(at),
        (_, Some(("metadata.labels", key))) => subscript(key, key, path, errors),
        (_, Some(("metadata.annotations", key))) => {
            subscript(key, &key.to_lowercase(), path, errors);
        }
        (_, Some((map, _))) => {
            let why = format!(
                "error converting fieldPath: field label does not support subscript: {map}"
            );
            errors.invalid(at, name, why);
        }
        (name, None) if known.contains(&name) => {}
        (name, None) if is_downward_field(name) => errors.push(unsupported(at, name, known)),
        (name, None) => {
            let why = format!("error converting fieldPath: field label not supported: {name}");
            errors.invalid(at, name, why);
        }
    }
}

fn subscript(shown: &str, key: &str, path: &FieldPath, errors: &mut Errors) {
    for problem in key_problems(key) {
        errors.invalid(path, shown, problem);
    }
}

/// Whether the downward API has a field of this name, for environment variables or volumes.
fn is_downward_field(name: &str) -> bool {
    const OTHERS: [&str; 5] = [
        "metadata.labels",
        "metadata.annotations",
        "spec.restartPolicy",
        "spec.schedulerName",
        "status.phase",
    ];
    FIELDS.contains(&name) || OTHERS.contains(&name)
}

fn key(reference: &Value, path: &FieldPath, errors: &mut Errors) {
    let name = text(reference, "name");
    invalid(&path.field("name"), name, subdomain(name), errors);
    match text(reference, "key") {
        "" => errors.required(path.field("key")),
        key => invalid(&path.field("key"), key, config_key(key), errors),
    }
}

fn group(group: &Value, list: &FieldPath, index: usize, errors: &mut Errors) {
    let at = list.index(index);
    let prefix = text(group, "prefix");
    if !prefix.is_empty() {
        invalid(&at.field("prefix"), prefix, name_problems(prefix), errors);
    }
    let mut given = 0;
    for name in ["configMapRef", "secretRef"] {
        if let Some(reference) = get(group, name) {
            given += 1;
            match text(reference, "name") {
                "" => errors.required(at.field(name).field("name")),
                named => invalid(&at.field(name).field("name"), named, subdomain(named), errors),
            }
        }
    }
    match given {
        0 => errors.invalid(list, "", "must specify one of: `configMapRef` or `secretRef`"),
        1 => {}
        _ => errors.invalid(list, "", "may not have more than one field specified at a time"),
    }
}
