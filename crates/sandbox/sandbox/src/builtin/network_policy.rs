//! `NetworkPolicies`.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::check::{Errors, one_of, port as check_port, selector, unsupported};
use super::rules::{Generation, NOTHING_SPECIAL, Rules};
use super::value::{default, get, get_mut, items, items_mut, text};
use crate::field_error::{FieldError, Path};

pub(super) const RULES: Rules = Rules {
    default: set_defaults,
    generation: Generation::Of(&["spec"]),
    validate,
    ..NOTHING_SPECIAL
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

fn validate(policy: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("spec");
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

fn types(spec: &Value, path: &Path, errors: &mut Errors) {
    const TYPES: [&str; 2] = ["Ingress", "Egress"];
    let types = items(spec, "policyTypes");
    if types.len() > 2 {
        let shown: Vec<_> = types.iter().map(Value::to_string).collect();
        let shown = format!("[]networking.PolicyType{{{}}}", shown.join(", "));
        let why = "may not specify more than two policyTypes";
        errors.push(FieldError::invalid_as(path, shown, why));
        return;
    }
    for (index, kind) in types.iter().enumerate() {
        let kind = kind.as_str().unwrap_or_default();
        if !TYPES.contains(&kind) {
            errors.push(unsupported(path.index(index), kind, &TYPES));
        }
    }
}

fn ports(rule: &Value, path: &Path, errors: &mut Errors) {
    for (index, port) in items(rule, "ports").iter().enumerate() {
        let at = path.index(index);
        one_of(port, "protocol", &["TCP", "UDP", "SCTP"], &at, errors);
        if let Some(number) = get(port, "port") {
            check_port(number, &at.field("port"), errors);
        }
    }
}

fn peer(peer: &Value, at: &Path, errors: &mut Errors) {
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
                let why = "may not specify both ipBlock and another peer";
                errors.push(FieldError::forbidden(at, why));
            }
        }
        None if selectors == 0 => errors.push(FieldError::required(at, "must specify a peer")),
        None => {}
    }
}

fn block(block: &Value, at: &Path, errors: &mut Errors) {
    let Some((network, length)) = cidr(text(block, "cidr")) else {
        let at = at.field("cidr");
        match text(block, "cidr") {
            "" => errors.push(FieldError::required(at, "")),
            text => errors.push(FieldError::invalid(at, text, "not a valid CIDR")),
        }
        return;
    };
    for (index, except) in items(block, "except").iter().enumerate() {
        let at = at.field("except").index(index);
        let except = except.as_str().unwrap_or_default();
        let why = match cidr(except) {
            None => "not a valid CIDR",
            Some((address, inner)) if inner > length && same_start(network, address, length) => {
                continue;
            }
            Some(_) => "must be a strict subset of `cidr`",
        };
        errors.push(FieldError::invalid(at, except, why));
    }
}

/// An address and how many bits of it count.
fn cidr(text: &str) -> Option<(IpAddr, u32)> {
    let (address, length) = text.split_once('/')?;
    let (address, length): (IpAddr, u32) = (address.parse().ok()?, length.parse().ok()?);
    let bits = if address.is_ipv4() { 32 } else { 128 };
    (length <= bits).then_some((address, length))
}

fn same_start(left: IpAddr, right: IpAddr, bits: u32) -> bool {
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
