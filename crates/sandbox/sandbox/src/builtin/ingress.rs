//! Ingresses and their classes.

use std::net::IpAddr;

use serde_json::Value;

use super::check::{Errors, immutable, invalid, port_name, port_number, unsupported};
use super::rules::{Generation, NOTHING_SPECIAL, Rules};
use super::value::{default, get, get_mut, items, text};
use crate::field_error::{FieldError, Path};
use crate::metadata::{letter_first_label, subdomain};

pub(super) const INGRESS: Rules =
    Rules { generation: Generation::Of(&["spec"]), validate, ..NOTHING_SPECIAL };
pub(super) const CLASS: Rules = Rules {
    default: default_class,
    generation: Generation::Of(&["spec"]),
    validate: validate_class,
    validate_update: validate_class_update,
    ..NOTHING_SPECIAL
};

fn default_class(class: &mut Value) {
    if let Some(parameters) = get_mut(class, "spec").and_then(|spec| get_mut(spec, "parameters")) {
        default(parameters, "scope", "Cluster");
    }
}

fn validate_class(class: &Value) -> Errors {
    let path = Path::new("spec").field("controller");
    match text(&class["spec"], "controller") {
        "" => vec![FieldError::required(path, "")],
        name => {
            let domain = name.split_once('/').filter(|(_, rest)| !rest.is_empty());
            if domain.is_some_and(|(domain, _)| subdomain(domain).is_empty()) {
                return Errors::new();
            }
            let why = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            vec![FieldError::invalid(path, name, why)]
        }
    }
}

fn validate_class_update(new: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    immutable(&new["spec"], &old["spec"], "controller", &Path::new("spec"), &mut errors);
    errors
}

fn validate(ingress: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("spec");
    let spec = &ingress["spec"];
    if items(spec, "rules").is_empty() && get(spec, "defaultBackend").is_none() {
        let why = "either `defaultBackend` or `rules` must be specified";
        let shown = "[]networking.IngressRule(nil)".to_owned();
        errors.push(FieldError::invalid_as(&path, shown, why));
    }
    if let Some(backend) = get(spec, "defaultBackend") {
        self::backend(backend, &path.field("defaultBackend"), &mut errors);
    }
    for (index, rule) in items(spec, "rules").iter().enumerate() {
        self::rule(rule, &path.field("rules").index(index), &mut errors);
    }
    if let Some(class) = get(spec, "ingressClassName").and_then(Value::as_str) {
        invalid(&path.field("ingressClassName"), class, subdomain(class), &mut errors);
    }
    errors
}

fn rule(rule: &Value, at: &Path, errors: &mut Errors) {
    let host = text(rule, "host");
    let at_host = at.field("host");
    if host.parse::<IpAddr>().is_ok() {
        let why = "must be a DNS name, not an IP address";
        errors.push(FieldError::invalid(&at_host, host, why));
    } else if !host.is_empty() {
        let name = host.strip_prefix("*.").unwrap_or(host);
        invalid(&at_host, host, subdomain(name), errors);
    }
    let Some(http) = get(rule, "http") else { return };
    let path = at.field("http").field("paths");
    if items(http, "paths").is_empty() {
        errors.push(FieldError::required(&path, ""));
    }
    for (index, entry) in items(http, "paths").iter().enumerate() {
        self::path(entry, &path.index(index), errors);
    }
}

fn path(entry: &Value, at: &Path, errors: &mut Errors) {
    const TYPES: [&str; 3] = ["Exact", "ImplementationSpecific", "Prefix"];
    let path = text(entry, "path");
    match get(entry, "pathType").and_then(Value::as_str) {
        None => {
            errors.push(FieldError::required(at.field("pathType"), "pathType must be specified"));
        }
        Some(kind) if !TYPES.contains(&kind) => {
            errors.push(unsupported(at.field("pathType"), kind, &TYPES));
        }
        Some(kind) => {
            let may_be_empty = kind == "ImplementationSpecific" && path.is_empty();
            if !path.starts_with('/') && !may_be_empty {
                let why = "must be an absolute path";
                errors.push(FieldError::invalid(at.field("path"), path, why));
            }
        }
    }
    backend(&entry["backend"], &at.field("backend"), errors);
}

fn backend(backend: &Value, at: &Path, errors: &mut Errors) {
    let Some(service) = get(backend, "service") else {
        if get(backend, "resource").is_none() {
            let why = "resource or service backend is required";
            errors.push(FieldError::invalid(at, "", why));
        }
        return;
    };
    if get(backend, "resource").is_some() {
        let why = "cannot set both resource and service backends";
        errors.push(FieldError::invalid(at, "", why));
    }
    let here = at.field("service");
    match text(service, "name") {
        "" => errors.push(FieldError::required(here.field("name"), "")),
        name => invalid(&here.field("name"), name, letter_first_label(name), errors),
    }
    let port = &service["port"];
    match (text(port, "name"), port["number"].as_i64().unwrap_or_default()) {
        ("", 0) => errors.push(FieldError::required(at, "port name or number is required")),
        ("", _) => port_number(&port["number"], &here.field("port").field("number"), errors),
        (name, 0) => invalid(&here.field("port").field("name"), name, port_name(name), errors),
        _ => errors.push(FieldError::invalid(at, "", "cannot set both port name & port number")),
    }
}
