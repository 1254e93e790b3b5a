//! Differences to the older API server of the tests, and differences that are ignored.

use fairway_sandbox::catalog::Resource;
use serde_json::Value;

use super::WriteResult;

/// Whether an update needs no resource version.
pub(super) fn can_be_overwritten(resource: &Resource) -> bool {
    !matches!(
        &*resource.kind,
        "CustomResourceDefinition" | "Service" | "Lease" | "ValidatingWebhookConfiguration"
    )
}

/// Fields that the older server lacks.
const NEWER: &[&str] = &[
    "/spec/internalTrafficPolicy",
    "/spec/completionMode",
    "/spec/podReplacementPolicy",
    "/spec/updateStrategy/rollingUpdate/maxSurge",
    "/metadata/labels/kubernetes.io~1metadata.name",
    "/spec/ipFamilies",
    "/spec/ipFamilyPolicy",
    "/status/availableReplicas",
];

/// Fields that the server or its components set.
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

pub(super) fn comparable(result: WriteResult) -> WriteResult {
    match result {
        WriteResult::Stored(object) => WriteResult::Stored(comparable_object(object)),
        WriteResult::Invalid(mut causes) => {
            // Updates are validated as a whole and as a change, which can report an error twice.
            causes.sort();
            causes.dedup();
            WriteResult::Invalid(causes.into_iter().map(comparable_cause).collect())
        }
        other => other,
    }
}

/// Removes fields that the older server lacks.
pub(super) fn remove_newer_fields(object: &mut Value) {
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
        Some("Node") => remove_items(&mut object["spec"], "taints", |taint| {
            taint["key"] == "node.kubernetes.io/not-ready"
        }),
        Some("SelfSubjectRulesReview") => {
            remove(&mut object, "/spec");
            remove(&mut object, "/status");
        }
        Some(kind) if kind.ends_with("Review") => remove(&mut object, "/status"),
        _ => {}
    }
    remove_newer_fields(&mut object);
    for path in SET_BY_THE_SERVER {
        remove(&mut object, path);
    }
    object
}

/// Removes what admission adds: ServiceAccount, priority and tolerations.
fn pod(pod: &mut Value) {
    remove(pod, "/metadata/generation");
    if !pod["metadata"]["generateName"].is_null() {
        remove(pod, "/metadata/name");
    }
    // The older server sets an annotation for older kubelets.
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
    remove_items(&mut pod["spec"], "volumes", is_token);
    remove_items(&mut pod["spec"], "tolerations", is_added);
    for list in ["containers", "initContainers"] {
        for container in
            pod["spec"].get_mut(list).and_then(Value::as_array_mut).into_iter().flatten()
        {
            remove_items(container, "volumeMounts", is_token);
        }
    }
}

/// Removes items of a list, and the list if it is empty.
fn remove_items(object: &mut Value, list: &str, is_out: impl Fn(&Value) -> bool) {
    let Some(items) = object.get_mut(list).and_then(Value::as_array_mut) else { return };
    items.retain(|item| !is_out(item));
    if items.is_empty() {
        remove(object, &format!("/{list}"));
    }
}

/// Removes the labels of a Job's pods, which have longer names now.
fn job(job: &mut Value) {
    remove(job, "/metadata/generation");
    for path in ["/metadata/labels", "/spec/selector/matchLabels", "/spec/template/metadata/labels"]
    {
        let Some(labels) = job.pointer_mut(path).and_then(Value::as_object_mut) else { continue };
        labels.retain(|key, _| !key.ends_with("controller-uid") && !key.ends_with("job-name"));
    }
}

/// Removes structures from messages, which contain memory addresses.
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
        _ => message.replace("cannot be 0 when maxSurge is 0", "cannot be 0"),
    };
    [reason, field, message]
}

fn remove(object: &mut Value, path: &str) {
    let (parent, name) = path.rsplit_once('/').unwrap();
    if let Some(parent) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
        parent.remove(&name.replace("~1", "/"));
    }
}
