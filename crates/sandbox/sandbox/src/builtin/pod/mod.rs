//! Pods, and pod templates of workloads.

mod container;
mod environment;
mod resources;
mod scheduling;
mod security;
mod validate;
mod volume;

use serde_json::{Value, json};

use super::value::{default, entries, get, get_mut, items, items_mut, object_at, set, text};
use super::{DEFAULT_RULES, Generation, Rules};

pub(super) use validate::template as validate_template;

pub(super) const RULES: Rules = Rules {
    default: default_pod,
    create,
    validate: validate::pod,
    validate_update: validate::update,
    generation: Generation::Of(&["spec"]),
    metadata_immutable_in_status: &["ownerReferences"],
    ..DEFAULT_RULES
};

fn create(pod: &mut Value) {
    let class = qos_class(&pod["spec"]);
    set(pod, "status", json!({ "phase": "Pending", "qosClass": class }));
}

/// Default mode of files in volumes.
const FILE_MODE: i32 = 0o644;
const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// Sets the defaults of a pod.
fn default_pod(pod: &mut Value) {
    let Some(spec) = get_mut(pod, "spec") else { return };
    default(spec, "enableServiceLinks", true);
    default_spec(spec);
    let on_host = spec["hostNetwork"] == true;
    for list in ["initContainers", "containers"] {
        for container in items_mut(spec, list) {
            default_requests_to_limits(container);
            if on_host {
                items_mut(container, "ports").for_each(use_host_port);
            }
        }
    }
}

/// Sets the defaults of a pod template.
pub(super) fn default_template(template: &mut Value) {
    if let Some(spec) = get_mut(template, "spec") {
        default_spec(spec);
    }
}

fn default_spec(spec: &mut Value) {
    default(spec, "dnsPolicy", "ClusterFirst");
    default(spec, "restartPolicy", "Always");
    default(spec, "securityContext", json!({}));
    default(spec, "terminationGracePeriodSeconds", 30);
    default(spec, "schedulerName", "default-scheduler");
    mirror_service_account(spec);
    for list in CONTAINERS {
        items_mut(spec, list).for_each(default_container);
    }
    items_mut(spec, "volumes").for_each(default_volume);
}

/// Keeps the deprecated `serviceAccount` equal to `serviceAccountName`.
fn mirror_service_account(spec: &mut Value) {
    let name = match (text(spec, "serviceAccountName"), text(spec, "serviceAccount")) {
        ("", "") => return,
        ("", older) => older.to_owned(),
        (name, _) => name.to_owned(),
    };
    set(spec, "serviceAccountName", name.clone());
    set(spec, "serviceAccount", name);
}

fn default_container(container: &mut Value) {
    default(container, "imagePullPolicy", pull_policy(text(container, "image")));
    default(container, "terminationMessagePath", "/dev/termination-log");
    default(container, "terminationMessagePolicy", "File");
    items_mut(container, "ports").for_each(|port| default(port, "protocol", "TCP"));
    for env in items_mut(container, "env") {
        if let Some(source) = get_mut(env, "valueFrom") {
            default_field_reference(source);
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = get_mut(container, name) {
            default_probe(probe);
        }
    }
    if let Some(lifecycle) = get_mut(container, "lifecycle") {
        for name in ["postStart", "preStop"] {
            if let Some(hook) = get_mut(lifecycle, name) {
                default_http_get(hook);
            }
        }
    }
}

/// Default pull policy: `Always` for tags that may move (`latest` or none).
fn pull_policy(image: &str) -> &'static str {
    let (name, digest) = image.split_once('@').map_or((image, false), |(name, _)| (name, true));
    let last = name.rsplit('/').next().unwrap_or_default();
    match last.split_once(':') {
        _ if image.is_empty() => "IfNotPresent",
        None if digest => "IfNotPresent",
        None | Some((_, "latest")) => "Always",
        Some(_) => "IfNotPresent",
    }
}

fn default_probe(probe: &mut Value) {
    default(probe, "timeoutSeconds", 1);
    default(probe, "periodSeconds", 10);
    default(probe, "successThreshold", 1);
    default(probe, "failureThreshold", 3);
    default_http_get(probe);
    if let Some(grpc) = get_mut(probe, "grpc") {
        default(grpc, "service", "");
    }
}

fn default_http_get(handler: &mut Value) {
    if let Some(http_get) = get_mut(handler, "httpGet") {
        default(http_get, "path", "/");
        default(http_get, "scheme", "HTTP");
    }
}

fn default_field_reference(source: &mut Value) {
    if let Some(reference) = get_mut(source, "fieldRef") {
        default(reference, "apiVersion", "v1");
    }
}

fn default_volume(volume: &mut Value) {
    let is_bare = volume.as_object().is_some_and(|fields| fields.keys().all(|key| key == "name"));
    if is_bare {
        set(volume, "emptyDir", json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = get_mut(volume, source) {
            default(source, "defaultMode", FILE_MODE);
        }
    }
    if let Some(host_path) = get_mut(volume, "hostPath") {
        default(host_path, "type", "");
    }
    if let Some(downward) = get_mut(volume, "downwardAPI") {
        items_mut(downward, "items").for_each(default_field_reference);
    }
    if let Some(projected) = get_mut(volume, "projected") {
        items_mut(projected, "sources").for_each(default_projection);
    }
    if let Some(claim) =
        get_mut(volume, "ephemeral").and_then(|it| it.get_mut("volumeClaimTemplate"))
        && let Some(spec) = get_mut(claim, "spec")
    {
        default(spec, "volumeMode", "Filesystem");
    }
}

fn default_projection(source: &mut Value) {
    if let Some(token) = get_mut(source, "serviceAccountToken") {
        default(token, "expirationSeconds", 3600);
    }
    if let Some(downward) = get_mut(source, "downwardAPI") {
        items_mut(downward, "items").for_each(default_field_reference);
    }
}

fn default_requests_to_limits(container: &mut Value) {
    let Some(resources) = get_mut(container, "resources") else { return };
    let limits: Vec<_> =
        entries(resources, "limits").map(|(name, amount)| (name.clone(), amount.clone())).collect();
    if limits.is_empty() {
        return;
    }
    if let Some(requests) = object_at(resources, "requests") {
        for (name, amount) in limits {
            requests.entry(name).or_insert(amount);
        }
    }
}

/// With `hostNetwork`, the host port is the container port.
fn use_host_port(port: &mut Value) {
    if let Some(number) = get(port, "containerPort").cloned() {
        default(port, "hostPort", number);
    }
}

/// The `QoS` class of a pod.
fn qos_class(spec: &Value) -> &'static str {
    let mut best_effort = true;
    let mut guaranteed = true;
    for container in CONTAINERS[..2].iter().flat_map(|list| items(spec, list)) {
        let resources = &container["resources"];
        for name in ["cpu", "memory"] {
            let (request, limit) = (&resources["requests"][name], &resources["limits"][name]);
            let is_set = |amount: &Value| amount.as_str().is_some_and(|amount| amount != "0");
            best_effort &= !is_set(request) && !is_set(limit);
            guaranteed &= is_set(limit) && (request == limit || request.is_null());
        }
    }
    match (best_effort, guaranteed) {
        (true, _) => "BestEffort",
        (false, true) => "Guaranteed",
        (false, false) => "Burstable",
    }
}
