//! Validation of pods and pod templates.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::Value;

use super::{container, scheduling, security, volume};
use crate::builtin::validation::{ErrorList, Errors, duplicates, invalid, one_of, unsupported};
use crate::builtin::value::{copy, get, items, items_mut, text};
use crate::field_error::FieldPath;
use crate::metadata::{self, label, subdomain};

/// Maximum of durations in seconds.
const MAX_SECONDS: i64 = 2_147_483_647;

/// Validates a pod.
pub(super) fn pod(pod: &Value) -> Errors {
    let mut errors = Errors::new();
    spec(&pod["spec"], &FieldPath::new("spec"), &mut errors);
    errors
}

/// Validates a pod template.
pub(in crate::builtin) fn template(template: &Value, path: &FieldPath, errors: &mut Errors) {
    let metadata = &template["metadata"];
    metadata::labels(&metadata["labels"], &path.field("labels"), errors);
    metadata::annotations(&metadata["annotations"], &path.field("annotations"), errors);
    spec(&template["spec"], &path.field("spec"), errors);
}

fn spec(spec: &Value, path: &FieldPath, errors: &mut Errors) {
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

fn containers(spec: &Value, path: &FieldPath, errors: &mut Errors) {
    let volumes: BTreeSet<_> = items(spec, "volumes").iter().map(|it| text(it, "name")).collect();
    let on_host = spec["hostNetwork"] == true;
    let main = path.field("containers");
    if items(spec, "containers").is_empty() {
        errors.required(&main);
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

/// Refuses two containers with the same host port.
fn host_ports(containers: &[Value], path: &FieldPath, errors: &mut Errors) {
    let mut taken = BTreeSet::new();
    for (index, container) in containers.iter().enumerate() {
        for (position, port) in items(container, "ports").iter().enumerate() {
            let Some(number) = port["hostPort"].as_i64().filter(|&number| number != 0) else {
                continue;
            };
            let name = format!("{}/{}/{number}", text(port, "protocol"), text(port, "hostIP"));
            if !taken.insert(name.clone()) {
                let path = path.index(index).field("ports").index(position).field("hostPort");
                errors.duplicate(path, name);
            }
        }
    }
}

fn dns(spec: &Value, path: &FieldPath, errors: &mut Errors) {
    const POLICIES: [&str; 4] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    let policy = text(spec, "dnsPolicy");
    if !POLICIES.contains(&policy) {
        errors.push(unsupported(path.field("dnsPolicy"), policy, &POLICIES));
    }
    let at = path.field("dnsConfig");
    let config = &spec["dnsConfig"];
    if policy == "None" && config.is_null() {
        errors.required_because(&at, "must provide `dnsConfig` when `dnsPolicy` is None");
    } else if policy == "None" && items(config, "nameservers").is_empty() {
        let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
        errors.required_because(at.field("nameservers"), why);
    }
    for (index, server) in items(config, "nameservers").iter().enumerate() {
        let server = server.as_str().unwrap_or_default();
        if server.parse::<IpAddr>().is_err() {
            let at = at.field("nameservers").index(index);
            errors.invalid(at, server, "must be valid IP address");
        }
    }
}

fn names(spec: &Value, path: &FieldPath, errors: &mut Errors) {
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

fn deadline(spec: &Value, path: &FieldPath, errors: &mut Errors) {
    if let Some(seconds) = spec["activeDeadlineSeconds"].as_i64()
        && !(1..=MAX_SECONDS).contains(&seconds)
    {
        let path = path.field("activeDeadlineSeconds");
        errors.invalid(path, seconds, format!("must be between 1 and {MAX_SECONDS}, inclusive"));
    }
}

fn host_aliases(spec: &Value, path: &FieldPath, errors: &mut Errors) {
    let path = path.field("hostAliases");
    for alias in items(spec, "hostAliases") {
        let ip = text(alias, "ip");
        if ip.parse::<IpAddr>().is_err() {
            errors.invalid(path.field("ip"), ip, "must be valid IP address");
        }
        for name in items(alias, "hostnames").iter().filter_map(Value::as_str) {
            invalid(&path.field("hostnames"), name, subdomain(name), errors);
        }
    }
}

const REST: &str = "pod updates may not change fields other than `spec.containers[*].image`, `spec.initContainers[*].image`, `spec.activeDeadlineSeconds` or `spec.tolerations` (only additions to existing tolerations)";

/// Validates the update of a pod.
pub(super) fn update(pod: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = FieldPath::new("spec");
    let (new, old) = (&pod["spec"], &old["spec"]);
    for list in ["containers", "initContainers"] {
        if items(new, list).len() != items(old, list).len() {
            errors.forbidden(path.field(list), "pod updates may not add or remove containers");
            return errors;
        }
    }
    validate_deadline_update(new, old, &path, &mut errors);
    if !keeps_tolerations(new, old) {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        errors.forbidden(path.field("tolerations"), why);
    }
    if with_mutable_fields_of(new, old) != *old {
        errors.forbidden(path, REST);
    }
    errors
}

/// `activeDeadlineSeconds` can be set and reduced.
fn validate_deadline_update(new: &Value, old: &Value, path: &FieldPath, errors: &mut Errors) {
    let path = path.field("activeDeadlineSeconds");
    let seconds = |spec: &Value| spec["activeDeadlineSeconds"].as_i64();
    match (seconds(new), seconds(old)) {
        (Some(new), _) if !(0..=MAX_SECONDS).contains(&new) => {
            errors.invalid(path, new, format!("must be between 0 and {MAX_SECONDS}, inclusive"));
        }
        (Some(new), Some(old)) if new > old => {
            errors.invalid(path, new, "must be less than or equal to previous value");
        }
        (None, Some(_)) => {
            errors.invalid(
                path,
                Value::Null,
                "must not update from a positive integer to nil value",
            );
        }
        _ => {}
    }
}

fn keeps_tolerations(new: &Value, old: &Value) -> bool {
    let lasting = |toleration: &Value| {
        let mut toleration = toleration.clone();
        copy(&mut toleration, "tolerationSeconds", &Value::Null);
        toleration
    };
    let new: Vec<_> = items(new, "tolerations").iter().map(lasting).collect();
    items(old, "tolerations").iter().all(|toleration| new.contains(&lasting(toleration)))
}

/// The new pod with all mutable fields as they were.
fn with_mutable_fields_of(new: &Value, old: &Value) -> Value {
    let mut spec = new.clone();
    for field in ["activeDeadlineSeconds", "tolerations"] {
        copy(&mut spec, field, old);
    }
    for list in ["containers", "initContainers"] {
        for (container, old) in items_mut(&mut spec, list).zip(items(old, list)) {
            copy(container, "image", old);
        }
    }
    // A negative grace period may be replaced by 1, which it means.
    let grace = |spec: &Value| get(spec, "terminationGracePeriodSeconds").and_then(Value::as_i64);
    if grace(new) == Some(1) && grace(old).is_some_and(|seconds| seconds < 0) {
        copy(&mut spec, "terminationGracePeriodSeconds", old);
    }
    spec
}
