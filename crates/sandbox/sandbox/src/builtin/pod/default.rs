//! What pods and the templates of pods have by default.

use serde_json::{Value, json};

use crate::builtin::value::{
    default, entries, get, get_mut, items, items_mut, object_at, set, text,
};

/// The mode of files in volumes: everybody may read them.
const FILE_MODE: i32 = 0o644;
const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// A pod.
pub(in crate::builtin) fn pod(pod: &mut Value) {
    let Some(spec) = get_mut(pod, "spec") else { return };
    default(spec, "enableServiceLinks", true);
    self::spec(spec);
    let on_host = spec["hostNetwork"] == true;
    for list in ["initContainers", "containers"] {
        for container in items_mut(spec, list) {
            request_what_is_limited(container);
            if on_host {
                items_mut(container, "ports").for_each(use_host_port);
            }
        }
    }
}

/// The template of pods in a field of a workload's `spec`.
pub(in crate::builtin) fn template(template: &mut Value) {
    if let Some(spec) = get_mut(template, "spec") {
        self::spec(spec);
    }
}

fn spec(spec: &mut Value) {
    default(spec, "dnsPolicy", "ClusterFirst");
    default(spec, "restartPolicy", "Always");
    default(spec, "securityContext", json!({}));
    default(spec, "terminationGracePeriodSeconds", 30);
    default(spec, "schedulerName", "default-scheduler");
    mirror_service_account(spec);
    for list in CONTAINERS {
        items_mut(spec, list).for_each(container);
    }
    items_mut(spec, "volumes").for_each(volume);
}

/// There are two names for it, the older of which follows.
fn mirror_service_account(spec: &mut Value) {
    let name = match (text(spec, "serviceAccountName"), text(spec, "serviceAccount")) {
        ("", "") => return,
        ("", older) => older.to_owned(),
        (name, _) => name.to_owned(),
    };
    set(spec, "serviceAccountName", name.clone());
    set(spec, "serviceAccount", name);
}

fn container(container: &mut Value) {
    default(container, "imagePullPolicy", pull_policy(text(container, "image")));
    default(container, "terminationMessagePath", "/dev/termination-log");
    default(container, "terminationMessagePolicy", "File");
    items_mut(container, "ports").for_each(|port| default(port, "protocol", "TCP"));
    for env in items_mut(container, "env") {
        if let Some(source) = get_mut(env, "valueFrom") {
            field_reference(source);
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = get_mut(container, name) {
            self::probe(probe);
        }
    }
    if let Some(lifecycle) = get_mut(container, "lifecycle") {
        for name in ["postStart", "preStop"] {
            if let Some(hook) = get_mut(lifecycle, name) {
                http_get(hook);
            }
        }
    }
}

/// What may change under its name is fetched each time.
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

fn probe(probe: &mut Value) {
    default(probe, "timeoutSeconds", 1);
    default(probe, "periodSeconds", 10);
    default(probe, "successThreshold", 1);
    default(probe, "failureThreshold", 3);
    http_get(probe);
    if let Some(grpc) = get_mut(probe, "grpc") {
        default(grpc, "service", "");
    }
}

fn http_get(handler: &mut Value) {
    if let Some(http_get) = get_mut(handler, "httpGet") {
        default(http_get, "path", "/");
        default(http_get, "scheme", "HTTP");
    }
}

fn field_reference(source: &mut Value) {
    if let Some(reference) = get_mut(source, "fieldRef") {
        default(reference, "apiVersion", "v1");
    }
}

fn volume(volume: &mut Value) {
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
        items_mut(downward, "items").for_each(field_reference);
    }
    if let Some(projected) = get_mut(volume, "projected") {
        items_mut(projected, "sources").for_each(projection);
    }
    if let Some(claim) =
        get_mut(volume, "ephemeral").and_then(|it| it.get_mut("volumeClaimTemplate"))
        && let Some(spec) = get_mut(claim, "spec")
    {
        default(spec, "volumeMode", "Filesystem");
    }
}

fn projection(source: &mut Value) {
    if let Some(token) = get_mut(source, "serviceAccountToken") {
        default(token, "expirationSeconds", 3600);
    }
    if let Some(downward) = get_mut(source, "downwardAPI") {
        items_mut(downward, "items").for_each(field_reference);
    }
}

fn request_what_is_limited(container: &mut Value) {
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

/// Whoever uses the host's network has the host's ports.
fn use_host_port(port: &mut Value) {
    if let Some(number) = get(port, "containerPort").cloned() {
        default(port, "hostPort", number);
    }
}

/// How the node treats the pod when it runs out of something.
pub(super) fn quality_of_service(spec: &Value) -> &'static str {
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
