//! Services.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::validation::{
    ErrorList, Errors, duplicates, invalid, ip_address, one_of, port as check_port, port_number,
    special_address,
};
use super::value::{copy, default, get_mut, items, items_mut, text};
use super::{DEFAULT_RULES, Rules};
use crate::catalog::Subresource;
use crate::field_error::{FieldError, FieldPath};
use crate::metadata::{self, label, subdomain};

pub(super) const SERVICE: Rules = Rules {
    default: default_service,
    validate: validate_service,
    validate_update,
    update,
    ..DEFAULT_RULES
};

/// Three hours, the default of `ClientIP` affinity.
const AFFINITY_SECONDS: i32 = 10_800;

fn default_service(service: &mut Value) {
    let Some(spec) = get_mut(service, "spec") else { return };
    default(spec, "type", "ClusterIP");
    affinity(spec);
    let kind = text(spec, "type").to_owned();
    if kind != "ExternalName" {
        default(spec, "internalTrafficPolicy", "Cluster");
        families(spec);
    }
    if matches!(&*kind, "NodePort" | "LoadBalancer") {
        default(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        default(spec, "allocateLoadBalancerNodePorts", true);
    }
    items_mut(spec, "ports").for_each(port);
}

fn affinity(spec: &mut Value) {
    default(spec, "sessionAffinity", "None");
    if text(spec, "sessionAffinity") == "None" {
        if let Some(fields) = spec.as_object_mut() {
            fields.remove("sessionAffinityConfig");
        }
    } else if text(spec, "sessionAffinity") == "ClientIP" {
        default(spec, "sessionAffinityConfig", json!({}));
        default(&mut spec["sessionAffinityConfig"], "clientIP", json!({}));
        default(&mut spec["sessionAffinityConfig"]["clientIP"], "timeoutSeconds", AFFINITY_SECONDS);
    }
}

/// The cluster is IPv4 only.
fn families(spec: &mut Value) {
    default(spec, "ipFamilyPolicy", "SingleStack");
    default(spec, "ipFamilies", json!(["IPv4"]));
}

fn port(port: &mut Value) {
    default(port, "protocol", "TCP");
    if port["targetPort"] == 0 || port["targetPort"] == "" {
        let number = port["port"].clone();
        port["targetPort"] = number;
    }
}

fn validate_service(service: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = FieldPath::new("spec");
    let spec = &service["spec"];
    let kind = text(spec, "type");
    let headless = text(spec, "clusterIP") == "None";
    if items(spec, "ports").is_empty() && !headless && kind != "ExternalName" {
        errors.required(path.field("ports"));
    }
    service_ports(spec, kind, headless, &path.field("ports"), &mut errors);
    metadata::labels(&spec["selector"], &path.field("selector"), &mut errors);
    one_of(spec, "sessionAffinity", &["ClientIP", "None"], &path, &mut errors);
    affinity_time(spec, &path, &mut errors);
    let kinds = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    one_of(spec, "type", &kinds, &path, &mut errors);
    addresses(spec, kind, &path, &mut errors);
    if kind == "ExternalName" {
        external_name(spec, &path, &mut errors);
    }
    let policy = text(spec, "externalTrafficPolicy");
    if !policy.is_empty() && !matches!(kind, "NodePort" | "LoadBalancer") {
        let why = "ExternalTrafficPolicy can only be set on NodePort and LoadBalancer service";
        errors.invalid(path.field("externalTrafficPolicy"), policy, why);
    }
    errors
}

fn service_ports(spec: &Value, kind: &str, headless: bool, path: &FieldPath, errors: &mut Errors) {
    let ports = items(spec, "ports");
    for (index, port) in ports.iter().enumerate() {
        let at = path.index(index);
        match text(port, "name") {
            "" if ports.len() > 1 => errors.required(at.field("name")),
            "" => {}
            name => invalid(&at.field("name"), name, label(name), errors),
        }
        port_number(&port["port"], &at.field("port"), errors);
        one_of(port, "protocol", &["SCTP", "TCP", "UDP"], &at, errors);
        if !headless || port["targetPort"].is_string() {
            check_port(&port["targetPort"], &at.field("targetPort"), errors);
        }
        if kind == "ClusterIP" && port["nodePort"].as_i64().unwrap_or_default() != 0 {
            errors.forbidden(at.field("nodePort"), "may not be used when `type` is 'ClusterIP'");
        }
        let same =
            |other: &Value| other["port"] == port["port"] && other["protocol"] == port["protocol"];
        if ports[..index].iter().any(same) {
            let shown = format!(
                "core.ServicePort{{Name:\"\", Protocol:{}, AppProtocol:(*string)(nil), Port:{}, \
                 TargetPort:intstr.IntOrString{{Type:0, IntVal:0, StrVal:\"\"}}, NodePort:0}}",
                port["protocol"], port["port"]
            );
            errors.push(FieldError::duplicate(at, Value::Null).shown_as(shown));
        }
    }
    let names = ports.iter().enumerate();
    duplicates(names.map(|(at, it)| (text(it, "name"), path.index(at).field("name"))), errors);
}

fn affinity_time(spec: &Value, path: &FieldPath, errors: &mut Errors) {
    /// One day.
    const MAX: i64 = 86_400;
    let at = path.field("sessionAffinityConfig").field("clientIP").field("timeoutSeconds");
    let seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"].as_i64();
    if let Some(seconds) = seconds.filter(|seconds| !(1..=MAX).contains(seconds)) {
        errors.invalid(at, seconds, format!("must be greater than 0 and less than {MAX}"));
    }
}

fn addresses(spec: &Value, kind: &str, path: &FieldPath, errors: &mut Errors) {
    let address = text(spec, "clusterIP");
    let at = path.field("clusterIPs");
    if kind == "ExternalName" {
        if !address.is_empty() {
            errors.forbidden(&at, "may not be set for ExternalName services");
        }
    } else if !matches!(address, "" | "None") {
        ip_address(address, &at.index(0), errors);
    }
    for (index, address) in items(spec, "externalIPs").iter().enumerate() {
        let at = path.field("externalIPs").index(index);
        let address = address.as_str().unwrap_or_default();
        match address.parse::<IpAddr>() {
            Ok(_) => special_address(address, &at, errors),
            Err(_) => ip_address(address, &at, errors),
        }
    }
}

fn external_name(spec: &Value, path: &FieldPath, errors: &mut Errors) {
    let at = path.field("externalName");
    match text(spec, "externalName") {
        "" => errors.required(at),
        name => invalid(&at, name, subdomain(name.trim_end_matches('.')), errors),
    }
}

/// Cluster IPs are immutable.
fn validate_update(new: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    let (new, old) = (&new["spec"], &old["spec"]);
    let name = |spec: &Value| text(spec, "type") == "ExternalName";
    let had = text(old, "clusterIP");
    if !name(new) && !name(old) && !had.is_empty() && text(new, "clusterIP") != had {
        let shown = metadata::go_list(std::iter::once(text(new, "clusterIP")));
        errors.invalid_as("spec.clusterIPs[0]", shown, "may not change once set");
    }
    errors
}

/// An update without a cluster IP keeps it.
fn update(service: &mut Value, old: &Value, _: Option<Subresource>) {
    let (Some(new), old) = (get_mut(service, "spec"), &old["spec"]) else { return };
    if text(new, "type") == "ExternalName" || text(old, "type") == "ExternalName" {
        return;
    }
    if text(new, "clusterIP").is_empty() {
        copy(new, "clusterIP", old);
    }
    if text(new, "clusterIP") == text(old, "clusterIP") {
        copy(new, "clusterIPs", old);
    }
}
