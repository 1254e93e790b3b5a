//! Where the real server of the tests is older than what is followed here, and what a comparison
//! cannot tell.

use fairway_sandbox::catalog::Resource;
use serde_json::Value;

use super::Outcome;

/// Whether the real server does not have a kind at all.
pub(super) fn is_unknown(kind: &str) -> bool {
    kind == "SelfSubjectReview"
}

/// The version in which the real server has a resource.
pub(super) fn version(resource: &Resource) -> &str {
    match (&*resource.group, &*resource.kind) {
        ("batch", "CronJob") | ("policy", "PodDisruptionBudget") => "v1beta1",
        _ => &resource.version,
    }
}

pub(super) fn in_its_version(resource: &Resource, object: &Value) -> Value {
    let mut object = object.clone();
    if version(resource) != resource.version {
        object["apiVersion"] = format!("{}/{}", resource.group, version(resource)).into();
    }
    object
}

/// Whether an update needs no resource version.
pub(super) fn can_be_overwritten(resource: &Resource) -> bool {
    !matches!(
        &*resource.kind,
        "CustomResourceDefinition"
            | "Service"
            | "APIService"
            | "PodDisruptionBudget"
            | "Lease"
            | "MutatingWebhookConfiguration"
            | "ValidatingWebhookConfiguration"
            | "IngressClass"
    )
}

/// Fields that the real server does not have.
const NEWER: &[&str] = &[
    "/spec/internalTrafficPolicy",
    "/spec/completionMode",
    "/spec/podReplacementPolicy",
    "/spec/persistentVolumeClaimRetentionPolicy",
    "/spec/updateStrategy/rollingUpdate/maxSurge",
    "/metadata/labels/kubernetes.io~1metadata.name",
    "/spec/ipFamilies",
    "/spec/ipFamilyPolicy",
    "/status/availableReplicas",
];

/// What the server sets by itself, or another component of it.
const SET_BY_THE_SERVER: &[&str] = &[
    "/apiVersion",
    "/metadata/uid",
    "/metadata/creationTimestamp",
    "/metadata/resourceVersion",
    "/metadata/selfLink",
    "/metadata/managedFields",
    "/metadata/namespace",
    "/spec/clusterIP",
    "/spec/clusterIPs",
];

pub(super) fn comparable(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Stored(object) => Outcome::Stored(comparable_object(object)),
        Outcome::Invalid(mut causes) => {
            // An update is validated as a whole and as a change; some find the same twice.
            causes.sort();
            causes.dedup();
            Outcome::Invalid(causes.into_iter().map(comparable_cause).collect())
        }
        other => other,
    }
}

/// Takes away what the real server does not have.
pub(super) fn take_away(object: &mut Value) {
    if object["kind"] == "Job" {
        remove(object, "/spec/suspend");
    }
    for path in NEWER {
        remove(object, path);
    }
    if object["metadata"]["labels"].as_object().is_some_and(serde_json::Map::is_empty) {
        remove(object, "/metadata/labels");
    }
}

fn comparable_object(mut object: Value) -> Value {
    match object["kind"].as_str() {
        Some("Pod") => pod(&mut object),
        Some("Job") => job(&mut object),
        Some("CronJob") => remove(&mut object, "/metadata/generation"),
        Some("Node") => without(&mut object["spec"], "taints", |taint| {
            taint["key"] == "node.kubernetes.io/not-ready"
        }),
        Some("PersistentVolume" | "PersistentVolumeClaim") => {
            without(&mut object["metadata"], "finalizers", |name| {
                name.as_str().is_some_and(|name| name.ends_with("-protection"))
            });
        }
        Some("SelfSubjectRulesReview") => {
            remove(&mut object, "/spec");
            remove(&mut object, "/status");
        }
        Some(kind) if kind.ends_with("Review") => remove(&mut object, "/status"),
        _ => {}
    }
    take_away(&mut object);
    for path in SET_BY_THE_SERVER {
        remove(&mut object, path);
    }
    object
}

/// What admission adds: the identity of the pod, its priority, and how long it stays on bad nodes.
fn pod(pod: &mut Value) {
    remove(pod, "/metadata/generation");
    if !pod["metadata"]["generateName"].is_null() {
        remove(pod, "/metadata/name");
    }
    // The older server tells the older kubelets by an annotation.
    if let Some(annotations) = pod["metadata"].get_mut("annotations").and_then(Value::as_object_mut)
    {
        annotations.retain(|key, _| !key.contains("seccomp.security.alpha"));
        if annotations.is_empty() {
            remove(pod, "/metadata/annotations");
        }
    }
    for field in ["priority", "preemptionPolicy", "serviceAccount", "serviceAccountName"] {
        remove(pod, &format!("/spec/{field}"));
    }
    let is_token =
        |item: &Value| item["name"].as_str().is_some_and(|name| name.starts_with("default-token-"));
    let is_added = |item: &Value| {
        item["key"].as_str().is_some_and(|key| key.starts_with("node.kubernetes.io/"))
    };
    without(&mut pod["spec"], "volumes", is_token);
    without(&mut pod["spec"], "tolerations", is_added);
    for list in ["containers", "initContainers"] {
        for container in
            pod["spec"].get_mut(list).and_then(Value::as_array_mut).into_iter().flatten()
        {
            without(container, "volumeMounts", is_token);
        }
    }
}

/// Takes items out of a list, and the list if nothing is left.
fn without(object: &mut Value, list: &str, is_out: impl Fn(&Value) -> bool) {
    let Some(items) = object.get_mut(list).and_then(Value::as_array_mut) else { return };
    items.retain(|item| !is_out(item));
    if items.is_empty() {
        remove(object, &format!("/{list}"));
    }
}

/// The labels by which a Job knows its pods have longer names now.
fn job(job: &mut Value) {
    remove(job, "/metadata/generation");
    for path in ["/metadata/labels", "/spec/selector/matchLabels", "/spec/template/metadata/labels"]
    {
        let Some(labels) = job.pointer_mut(path).and_then(Value::as_object_mut) else { continue };
        labels.retain(|key, _| !key.ends_with("controller-uid") && !key.ends_with("job-name"));
    }
}

/// Some messages print whole structures, with addresses of the server's memory.
fn comparable_cause([reason, field, message]: [String; 3]) -> [String; 3] {
    let structure = [
        "(0x",
        "must be an integer",
        "is greater than",
        "controller-uid",
        "core.PodTemplateSpec{",
        "resource.Quantity{",
        "v1.OwnerReference{",
    ];
    let message = match message.strip_prefix("Forbidden: ").and_then(|text| text.split_once('\n')) {
        Some((first, _)) => format!("Forbidden: {first}"),
        None => message,
    };
    let shown =
        structure.iter().any(|part| message.contains(part)) || message.contains("interface {}");
    let message = match message.rsplit_once(": ") {
        Some((_, why)) if shown => why.to_owned(),
        _ => message,
    };
    let message = match &*field {
        "spec.leaseTransitions" => {
            message.replace("must be greater than or equal to 0", "must to greater or equal than 0")
        }
        _ => older(message),
    };
    [reason, field, message]
}

/// Messages that were written otherwise.
fn older(message: String) -> String {
    const REWRITTEN: &[(&str, &str)] = &[
        (
            "'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are",
            "'replicas', 'template', and 'updateStrategy' are",
        ),
        ("cannot be 0 when maxSurge is 0", "cannot be 0"),
        (", \"ReadWriteOncePod\"", ""),
    ];
    REWRITTEN.iter().fold(message, |message, (newer, older)| message.replace(newer, older))
}

fn remove(object: &mut Value, path: &str) {
    let (parent, name) = path.rsplit_once('/').unwrap();
    if let Some(parent) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
        parent.remove(&name.replace("~1", "/"));
    }
}
