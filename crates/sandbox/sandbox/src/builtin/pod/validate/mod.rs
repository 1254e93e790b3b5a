//! Which pods, and templates of pods, are valid.

mod container;
mod environment;
mod probe;
mod resources;
mod scheduling;
mod security;
mod update;
mod volume;

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::Value;

use crate::builtin::check::{Errors, duplicates, invalid, one_of, unsupported};
use crate::builtin::value::{get, items, text};
use crate::field_error::{FieldError, Path};
use crate::metadata::{self, label, subdomain};

pub(in crate::builtin) use resources::{
    amount as resource_amount, quantity as resource_quantity, standard as standard_resource,
};
pub(super) use update::update;
pub(in crate::builtin) use volume::host_path;

/// The largest number of seconds that can be waited for.
const MAX_SECONDS: i64 = 2_147_483_647;

/// What is wrong with a pod.
pub(super) fn pod(pod: &Value) -> Errors {
    let mut errors = Errors::new();
    spec(&pod["spec"], &Path::new("spec"), &mut errors);
    errors
}

/// What is wrong with a template of pods.
pub(in crate::builtin) fn template(template: &Value, path: &Path, errors: &mut Errors) {
    let metadata = &template["metadata"];
    metadata::labels(&metadata["labels"], &path.field("labels"), errors);
    metadata::annotations(&metadata["annotations"], &path.field("annotations"), errors);
    spec(&template["spec"], &path.field("spec"), errors);
}

fn spec(spec: &Value, path: &Path, errors: &mut Errors) {
    volume::all(spec, &path.field("volumes"), errors);
    containers(spec, path, errors);
    one_of(spec, "restartPolicy", &["Always", "OnFailure", "Never"], path, errors);
    dns(spec, path, errors);
    metadata::labels(&spec["nodeSelector"], &path.field("nodeSelector"), errors);
    security::pod(spec, path, errors);
    scheduling::check(spec, path, errors);
    names(spec, path, errors);
    deadline(spec, path, errors);
    host_aliases(spec, path, errors);
}

fn containers(spec: &Value, path: &Path, errors: &mut Errors) {
    let volumes: BTreeSet<_> = items(spec, "volumes").iter().map(|it| text(it, "name")).collect();
    let on_host = spec["hostNetwork"] == true;
    let main = path.field("containers");
    if items(spec, "containers").is_empty() {
        errors.push(FieldError::required(&main, ""));
    }
    for (list, is_init) in [("containers", false), ("initContainers", true)] {
        let path = path.field(list);
        for (index, container) in items(spec, list).iter().enumerate() {
            let path = path.index(index);
            container::check(container, &volumes, on_host, &path, errors);
            if is_init {
                container::init_only(container, &path, errors);
            }
        }
        host_ports(items(spec, list), &path, errors);
    }
    let lists = ["containers", "initContainers"].into_iter();
    let names = lists.flat_map(|list| {
        let numbered = items(spec, list).iter().enumerate();
        let path = path.field(list);
        numbered.map(move |(index, it)| (text(it, "name"), path.index(index).field("name")))
    });
    duplicates(names, errors);
}

/// A port of the host has one user.
fn host_ports(containers: &[Value], path: &Path, errors: &mut Errors) {
    let mut taken = BTreeSet::new();
    for (index, container) in containers.iter().enumerate() {
        for (position, port) in items(container, "ports").iter().enumerate() {
            let Some(number) = port["hostPort"].as_i64().filter(|&number| number != 0) else {
                continue;
            };
            let name = format!("{}/{}/{number}", text(port, "protocol"), text(port, "hostIP"));
            if !taken.insert(name.clone()) {
                let path = path.index(index).field("ports").index(position).field("hostPort");
                errors.push(FieldError::duplicate(path, name));
            }
        }
    }
}

fn dns(spec: &Value, path: &Path, errors: &mut Errors) {
    const POLICIES: [&str; 4] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    let policy = text(spec, "dnsPolicy");
    if !POLICIES.contains(&policy) {
        errors.push(unsupported(path.field("dnsPolicy"), policy, &POLICIES));
    }
    let at = path.field("dnsConfig");
    let config = &spec["dnsConfig"];
    if policy == "None" && config.is_null() {
        errors.push(FieldError::required(&at, "must provide `dnsConfig` when `dnsPolicy` is None"));
    } else if policy == "None" && items(config, "nameservers").is_empty() {
        let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
        errors.push(FieldError::required(at.field("nameservers"), why));
    }
    for (index, server) in items(config, "nameservers").iter().enumerate() {
        let server = server.as_str().unwrap_or_default();
        if server.parse::<IpAddr>().is_err() {
            let at = at.field("nameservers").index(index);
            errors.push(FieldError::invalid(at, server, "must be valid IP address"));
        }
    }
}

fn names(spec: &Value, path: &Path, errors: &mut Errors) {
    type Rule = fn(&str) -> Vec<String>;
    let rules: [(&str, Rule); 6] = [
        ("serviceAccountName", subdomain),
        ("nodeName", subdomain),
        ("hostname", label),
        ("subdomain", label),
        ("priorityClassName", subdomain),
        ("runtimeClassName", subdomain),
    ];
    for (field, rule) in rules {
        if let Some(name) = get(spec, field).and_then(Value::as_str).filter(|it| !it.is_empty()) {
            invalid(&path.field(field), name, rule(name), errors);
        }
    }
}

fn deadline(spec: &Value, path: &Path, errors: &mut Errors) {
    if let Some(seconds) = spec["activeDeadlineSeconds"].as_i64()
        && !(1..=MAX_SECONDS).contains(&seconds)
    {
        let path = path.field("activeDeadlineSeconds");
        let why = format!("must be between 1 and {MAX_SECONDS}, inclusive");
        errors.push(FieldError::invalid(path, seconds, why));
    }
}

fn host_aliases(spec: &Value, path: &Path, errors: &mut Errors) {
    let path = path.field("hostAliases");
    for alias in items(spec, "hostAliases") {
        let ip = text(alias, "ip");
        if ip.parse::<IpAddr>().is_err() {
            errors.push(FieldError::invalid(path.field("ip"), ip, "must be valid IP address"));
        }
        for name in items(alias, "hostnames").iter().filter_map(Value::as_str) {
            invalid(&path.field("hostnames"), name, subdomain(name), errors);
        }
    }
}
