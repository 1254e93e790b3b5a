//! Ingresses, `IngressClasses` and `NetworkPolicies`.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::validation::{
    ErrorList, Errors, immutable, invalid, one_of, port as check_port, port_name, port_number,
    selector, unsupported,
};
use super::value::{default, get, get_mut, items, items_mut, text};
use super::{DEFAULT_RULES, Generation, Rules};
use crate::field_error::{FieldError, FieldPath};
use crate::metadata::{letter_first_label, subdomain};

pub(super) const INGRESS: Rules =
    Rules { generation: Generation::Of(&["spec"]), validate: validate_ingress, ..DEFAULT_RULES };
pub(super) const INGRESS_CLASS: Rules = Rules {
    default: default_class,
    generation: Generation::Of(&["spec"]),
    validate: validate_class,
    validate_update: validate_class_update,
    ..DEFAULT_RULES
};

fn default_class(class: &mut Value) {
    if let Some(parameters) = get_mut(class, "spec").and_then(|spec| get_mut(spec, "parameters")) {
        default(parameters, "scope", "Cluster");
    }
}

fn validate_class(class: &Value) -> Errors {
    let path = FieldPath::new("spec").field("controller");
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
    immutable(&new["spec"], &old["spec"], "controller", &FieldPath::new("spec"), &mut errors);
    errors
}

fn validate_ingress(ingress: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = FieldPath::new("spec");
    let spec = &ingress["spec"];
    if items(spec, "rules").is_empty() && get(spec, "defaultBackend").is_none() {
        let why = "either `defaultBackend` or `rules` must be specified";
        let shown = "[]networking.IngressRule(nil)".to_owned();
        errors.invalid_as(&path, shown, why);
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

fn rule(rule: &Value, at: &FieldPath, errors: &mut Errors) {
    let host = text(rule, "host");
    let at_host = at.field("host");
    if host.parse::<IpAddr>().is_ok() {
        errors.invalid(&at_host, host, "must be a DNS name, not an IP address");
    } else if !host.is_empty() {
        let name = host.strip_prefix("*.").unwrap_or(host);
        invalid(&at_host, host, subdomain(name), errors);
    }
    let Some(http) = get(rule, "http") else { return };
    let path = at.field("http").field("paths");
    if items(http, "paths").is_empty() {
        errors.required(&path);
    }
    for (index, entry) in items(http, "paths").iter().enumerate() {
        self::path(entry, &path.index(index), errors);
    }
}

fn path(entry: &Value, at: &FieldPath, errors: &mut Errors) {
    const TYPES: [&str; 3] = ["Exact", "ImplementationSpecific", "Prefix"];
    let path = text(entry, "path");
    match get(entry, "pathType").and_then(Value::as_str) {
        None => {
            errors.required_because(at.field("pathType"), "pathType must be specified");
        }
        Some(kind) if !TYPES.contains(&kind) => {
            errors.push(unsupported(at.field("pathType"), kind, &TYPES));
        }
        Some(kind) => {
            let may_be_empty = kind == "ImplementationSpecific" && path.is_empty();
            if !path.starts_with('/') && !may_be_empty {
                errors.invalid(at.field("path"), path, "must be an absolute path");
            }
        }
    }
    backend(&entry["backend"], &at.field("backend"), errors);
}

fn backend(backend: &Value, at: &FieldPath, errors: &mut Errors) {
    let Some(service) = get(backend, "service") else {
        if get(backend, "resource").is_none() {
            errors.invalid(at, "", "resource or service backend is required");
        }
        return;
    };
    if get(backend, "resource").is_some() {
        errors.invalid(at, "", "cannot set both resource and service backends");
    }
    let here = at.field("service");
    match text(service, "name") {
        "" => errors.required(here.field("name")),
        name => invalid(&here.field("name"), name, letter_first_label(name), errors),
    }
    let port = &service["port"];
    match (text(port, "name"), port["number"].as_i64().unwrap_or_default()) {
        ("", 0) => errors.required_because(at, "port name or number is required"),
        ("", _) => port_number(&port["number"], &here.field("port").field("number"), errors),
        (name, 0) => invalid(&here.field("port").field("name"), name, port_name(name), errors),
        _ => errors.invalid(at, "", "cannot set both port name & port number"),
    }
}

pub(super) const NETWORK_POLICY: Rules = Rules {
    default: set_defaults,
    generation: Generation::Of(&["spec"]),
    validate: validate_network_policy,
    ..DEFAULT_RULES
};

fn set_defaults(policy: &mut Value) {
    let Some(spec) = get_mut(policy, "spec") else { return };
    for direction in ["ingress", "egress"] {
        for rule in items_mut(spec, direction) {
            items_mut(rule, "ports").for_each(|port| default(port, "protocol", "TCP"));
        }
    }
    let types = match get(spec, "egress") {
        Some(_) => json!(["Ingress", "Egress"]),
        None => json!(["Ingress"]),
    };
    default(spec, "policyTypes", types);
}

fn validate_network_policy(policy: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = FieldPath::new("spec");
    let spec = &policy["spec"];
    selector(&spec["podSelector"], &path.field("podSelector"), &mut errors);
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        for (index, rule) in items(spec, direction).iter().enumerate() {
            let at = path.field(direction).index(index);
            ports(rule, &at.field("ports"), &mut errors);
            for (index, peer) in items(rule, peers).iter().enumerate() {
                self::peer(peer, &at.field(peers).index(index), &mut errors);
            }
        }
    }
    types(spec, &path.field("policyTypes"), &mut errors);
    errors
}

fn types(spec: &Value, path: &FieldPath, errors: &mut Errors) {
    const TYPES: [&str; 2] = ["Ingress", "Egress"];
    let types = items(spec, "policyTypes");
    if types.len() > 2 {
        let shown: Vec<_> = types.iter().map(Value::to_string).collect();
        let shown = format!("[]networking.PolicyType{{{}}}", shown.join(", "));
        errors.invalid_as(path, shown, "may not specify more than two policyTypes");
        return;
    }
    for (index, kind) in types.iter().enumerate() {
        let kind = kind.as_str().unwrap_or_default();
        if !TYPES.contains(&kind) {
            errors.push(unsupported(path.index(index), kind, &TYPES));
        }
    }
}

fn ports(rule: &Value, path: &FieldPath, errors: &mut Errors) {
    for (index, port) in items(rule, "ports").iter().enumerate() {
        let at = path.index(index);
        one_of(port, "protocol", &["TCP", "UDP", "SCTP"], &at, errors);
        if let Some(number) = get(port, "port") {
            check_port(number, &at.field("port"), errors);
        }
    }
}

fn peer(peer: &Value, at: &FieldPath, errors: &mut Errors) {
    let mut selectors = 0;
    for name in ["podSelector", "namespaceSelector"] {
        if let Some(labels) = get(peer, name) {
            selectors += 1;
            selector(labels, &at.field(name), errors);
        }
    }
    match get(peer, "ipBlock") {
        Some(block) => {
            self::block(block, &at.field("ipBlock"), errors);
            if selectors > 0 {
                errors.forbidden(at, "may not specify both ipBlock and another peer");
            }
        }
        None if selectors == 0 => errors.required_because(at, "must specify a peer"),
        None => {}
    }
}

fn block(block: &Value, at: &FieldPath, errors: &mut Errors) {
    let Some((network, length)) = cidr(text(block, "cidr")) else {
        let at = at.field("cidr");
        match text(block, "cidr") {
            "" => errors.required(at),
            text => errors.invalid(at, text, "not a valid CIDR"),
        }
        return;
    };
    for (index, except) in items(block, "except").iter().enumerate() {
        let at = at.field("except").index(index);
        let except = except.as_str().unwrap_or_default();
        let why = match cidr(except) {
            None => "not a valid CIDR",
            Some((address, inner)) if inner > length && same_prefix(network, address, length) => {
                continue;
            }
            Some(_) => "must be a strict subset of `cidr`",
        };
        errors.invalid(at, except, why);
    }
}

/// Address and prefix length.
fn cidr(text: &str) -> Option<(IpAddr, u32)> {
    let (address, length) = text.split_once('/')?;
    let (address, length): (IpAddr, u32) = (address.parse().ok()?, length.parse().ok()?);
    let bits = if address.is_ipv4() { 32 } else { 128 };
    (length <= bits).then_some((address, length))
}

fn same_prefix(left: IpAddr, right: IpAddr, bits: u32) -> bool {
    match (left, right) {
        (IpAddr::V4(left), IpAddr::V4(right)) => {
            (left.to_bits() ^ right.to_bits()).leading_zeros() >= bits
        }
        (IpAddr::V6(left), IpAddr::V6(right)) => {
            (left.to_bits() ^ right.to_bits()).leading_zeros() >= bits
        }
        _ => false,
    }
}
