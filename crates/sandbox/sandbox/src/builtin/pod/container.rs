//! Containers, their probes and lifecycle hooks.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{environment, resources, security};
use crate::builtin::validation::{
    ErrorList, Errors, duplicates, invalid, non_negative, one_of, port, port_name, port_number,
    required,
};
use crate::builtin::value::{get, items, text};
use crate::field_error::{FieldError, FieldPath};
use crate::metadata::label;

pub(super) fn check(
    container: &Value,
    volumes: &BTreeSet<&str>,
    on_host: bool,
    path: &FieldPath,
    errors: &mut Errors,
) {
    match text(container, "name") {
        "" => errors.required(path.field("name")),
        name => invalid(&path.field("name"), name, label(name), errors),
    }
    image(container, path, errors);
    lifecycle(container, path, errors);
    probes(container, path, errors);
    message_policy(container, path, errors);
    ports(container, on_host, &path.field("ports"), errors);
    environment::check(container, path, errors);
    mounts(container, volumes, &path.field("volumeMounts"), errors);
    if get(container, "imagePullPolicy").is_some() {
        one_of(container, "imagePullPolicy", &["Always", "IfNotPresent", "Never"], path, errors);
    }
    resources::check(&container["resources"], &path.field("resources"), errors);
    security::container(container, path, errors);
}

/// Init containers may not have probes or lifecycle hooks, except sidecars (`restartPolicy:
/// Always`).
pub(super) fn init_only(container: &Value, path: &FieldPath, errors: &mut Errors) {
    if text(container, "restartPolicy") == "Always" {
        return;
    }
    for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(value) = get(container, field) {
            errors.invalid(path.field(field), value.clone(), "must not be set for init containers");
        }
    }
}

fn image(container: &Value, path: &FieldPath, errors: &mut Errors) {
    let path = path.field("image");
    match text(container, "image") {
        "" => errors.required(path),
        image if image.trim() != image => {
            errors.invalid(path, image, "must not have leading or trailing whitespace");
        }
        _ => {}
    }
}

fn message_policy(container: &Value, path: &FieldPath, errors: &mut Errors) {
    match text(container, "terminationMessagePolicy") {
        "File" | "FallbackToLogsOnError" => {}
        "" => errors.required_because(
            path.field("terminationMessagePolicy"),
            "must be 'File' or 'FallbackToLogsOnError'",
        ),
        other => errors.invalid(
            path.field("terminationMessagePolicy"),
            other,
            "must be 'File' or 'FallbackToLogsOnError'",
        ),
    }
}

fn ports(container: &Value, on_host: bool, path: &FieldPath, errors: &mut Errors) {
    let ports = items(container, "ports");
    for (index, port) in ports.iter().enumerate() {
        let at = path.index(index);
        let name = text(port, "name");
        if !name.is_empty() {
            invalid(&at.field("name"), name, port_name(name), errors);
        }
        match port["containerPort"].as_i64().unwrap_or_default() {
            0 => errors.required(at.field("containerPort")),
            _ => port_number(&port["containerPort"], &at.field("containerPort"), errors),
        }
        let host_port = port["hostPort"].as_i64().unwrap_or_default();
        if host_port != 0 {
            port_number(&port["hostPort"], &at.field("hostPort"), errors);
        }
        one_of(port, "protocol", &["SCTP", "TCP", "UDP"], &at, errors);
        // Pods have the host port by default; templates do not.
        if on_host && host_port != 0 && port["hostPort"] != port["containerPort"] {
            let why = "must match `hostPort` when `hostNetwork` is true";
            let number = port["containerPort"].clone();
            errors.invalid(at.field("containerPort"), number, why);
        }
    }
    let valid =
        ports.iter().enumerate().filter(|(_, port)| port_name(text(port, "name")).is_empty());
    duplicates(valid.map(|(at, port)| (text(port, "name"), path.index(at).field("name"))), errors);
}

fn mounts(container: &Value, volumes: &BTreeSet<&str>, path: &FieldPath, errors: &mut Errors) {
    let mut taken = BTreeSet::new();
    for (index, mount) in items(container, "volumeMounts").iter().enumerate() {
        let at = path.index(index);
        let name = text(mount, "name");
        if name.is_empty() {
            errors.required(at.field("name"));
        }
        if !volumes.contains(name) {
            errors.push(FieldError::not_found(at.field("name"), name));
        }
        let target = text(mount, "mountPath");
        if target.is_empty() {
            errors.required(at.field("mountPath"));
        }
        if !taken.insert(target) {
            errors.invalid(at.field("mountPath"), target, "must be unique");
        }
        sub_paths(mount, path, &at, errors);
    }
}

fn sub_paths(mount: &Value, list: &FieldPath, at: &FieldPath, errors: &mut Errors) {
    let (plain, expanded) = (text(mount, "subPath"), text(mount, "subPathExpr"));
    relative(plain, &list.field("subPath"), errors);
    if !expanded.is_empty() {
        if !plain.is_empty() {
            let why = "subPathExpr and subPath are mutually exclusive";
            errors.invalid(at.field("subPathExpr"), expanded, why);
        }
        relative(expanded, &list.field("subPathExpr"), errors);
    }
}

/// Requires a relative path without `..`.
pub(super) fn relative(path: &str, at: &FieldPath, errors: &mut Errors) {
    if path.starts_with('/') {
        errors.invalid(at, path, "must be a relative path");
    }
    no_parent_references(path, at, errors);
}

/// Refuses paths that contain `..`.
pub(super) fn no_parent_references(path: &str, at: &FieldPath, errors: &mut Errors) {
    if path.split('/').any(|part| part == "..") {
        errors.invalid(at, path, "must not contain '..'");
    }
}

const HEADER: &str = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";

fn lifecycle(container: &Value, path: &FieldPath, errors: &mut Errors) {
    let Some(lifecycle) = get(container, "lifecycle") else { return };
    for name in ["postStart", "preStop"] {
        if let Some(hook) = get(lifecycle, name) {
            handler(hook, &path.field("lifecycle").field(name), errors);
        }
    }
}

fn probes(container: &Value, path: &FieldPath, errors: &mut Errors) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = get(container, name) else { continue };
        let path = path.field(name);
        self::probe(probe, &path, errors);
        let successes = probe["successThreshold"].as_i64().unwrap_or(1);
        if name != "readinessProbe" && successes != 1 {
            let path = path.field("successThreshold");
            errors.invalid(path, successes, "must be 1");
        }
    }
}

fn probe(probe: &Value, path: &FieldPath, errors: &mut Errors) {
    const NUMBERS: [&str; 5] = [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ];
    handler(probe, path, errors);
    non_negative(probe, &NUMBERS, path, errors);
}

fn handler(handler: &Value, path: &FieldPath, errors: &mut Errors) {
    let kinds = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];
    let mut given = kinds.into_iter().filter(|kind| get(handler, kind).is_some());
    let Some(kind) = given.next() else {
        errors.required_because(path, "must specify a handler type");
        return;
    };
    action(kind, &handler[kind], &path.field(kind), errors);
    for kind in given {
        errors.forbidden(path.field(kind), "may not specify more than 1 handler type");
    }
}

fn action(kind: &str, action: &Value, path: &FieldPath, errors: &mut Errors) {
    match kind {
        "exec" if items(action, "command").is_empty() => {
            errors.required(path.field("command"));
        }
        "httpGet" => http_get(action, path, errors),
        "tcpSocket" => port(&action["port"], &path.field("port"), errors),
        "grpc" => port_number(&action["port"], &path.field("port"), errors),
        _ => {}
    }
}

fn http_get(action: &Value, path: &FieldPath, errors: &mut Errors) {
    required(action, "path", path, errors);
    port(&action["port"], &path.field("port"), errors);
    one_of(action, "scheme", &["HTTP", "HTTPS"], path, errors);
    for header in items(action, "httpHeaders") {
        let name = text(header, "name");
        let valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if name.is_empty() || !name.bytes().all(valid) {
            errors.invalid(path.field("httpHeaders"), name, HEADER);
        }
    }
}
