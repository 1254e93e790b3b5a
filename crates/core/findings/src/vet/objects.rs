//! Objects that are created for a check.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::access::{Access, GROUP, Grant, RBAC, RoleRef, Rules};
use super::job::CheckJob;
use super::{ACCOUNT, ANNOTATION, NAMESPACE, Network, RunParameters};
use crate::jobs::JobRequest;
use crate::{environment, labels};

/// Deadline of a Job in seconds, from its creation. Includes the image pull.
pub const JOB_SECONDS: i64 = 900;

/// Timeout of a check in seconds, from the start of its container.
pub const CHECK_SECONDS: i64 = 300;

/// Time in seconds after which Kubernetes removes an ended Job that was not removed before.
const TTL_SECONDS: i64 = 3600;

/// Name of the check's container.
pub const CONTAINER: &str = "check";

/// Command of the init container, which runs the target release.
const COPY_MANIFESTS: [&str; 2] = ["preflight", "copy-manifests"];

/// Mount path of the release manifests.
const MANIFESTS: &str = "/preflight/manifests";

/// Volume of the release manifests.
const MANIFESTS_VOLUME: &str = "fairway-preflight-manifests";

/// Memory limit of a check. It is part of the documented contract with component authors.
const MEMORY_LIMIT: &str = "100Mi";

/// Size limit of the manifests volume. A large platform has 20 MiB of manifests.
const MANIFESTS_SIZE_LIMIT: &str = "256Mi";

/// Ephemeral storage limit of a check: volumes, log, writable layer and, with some container
/// runtimes, a copy of the image.
const EPHEMERAL_STORAGE_LIMIT: &str = "1Gi";

/// Size limit of each volume of the check.
const VOLUME_SIZE_LIMIT: &str = "64Mi";

/// User ID of all checks. No distribution, container runtime or component uses it, so no file on a
/// node belongs to it. 65534 is the user `nobody`, and 65532 is Fairway.
const CHECK_UID: u32 = 65531;

/// Job of a check.
pub(super) fn job(
    request: &JobRequest,
    check: &CheckJob<'_>,
    access: &Access<'_>,
    run: &RunParameters,
    now: Timestamp,
) -> Value {
    let metadata = json!({
        "name": request.name,
        "namespace": NAMESPACE,
        "labels": labels_of(request, run),
        "annotations": {ANNOTATION: "true", labels::CHECK: request.check},
    });
    let template = json!({
        "metadata": {
            "labels": labels_of(request, run),
            "annotations": {labels::CHECK: request.check},
        },
        "spec": pod(check, access, run, now),
    });
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            "activeDeadlineSeconds": JOB_SECONDS,
            "ttlSecondsAfterFinished": TTL_SECONDS,
            "template": template,
        },
    })
}

fn pod(check: &CheckJob<'_>, access: &Access<'_>, run: &RunParameters, now: Timestamp) -> Value {
    let own = access.account.filter(|account| *account == check.account);
    let account = own.map_or(ACCOUNT.to_owned(), |account| with_suffix(account, check));
    let mut volumes: Vec<Value> = check
        .volumes
        .iter()
        .map(|name| json!({"name": name, "emptyDir": {"sizeLimit": VOLUME_SIZE_LIMIT}}))
        .collect();
    volumes
        .push(json!({"name": MANIFESTS_VOLUME, "emptyDir": {"sizeLimit": MANIFESTS_SIZE_LIMIT}}));
    let mut pod = json!({
        "restartPolicy": "Never",
        "serviceAccountName": account,
        "automountServiceAccountToken": !check.without_token,
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": 5,
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": CHECK_UID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "tolerations": run.tolerations,
        "volumes": volumes,
        "initContainers": [manifests_container(run)],
        "containers": [container(check, run, now)],
    });
    if !run.node_selector.is_null() {
        pod["nodeSelector"] = run.node_selector.clone();
    }
    if let Some(name) = &run.pull_secret {
        pod["imagePullSecrets"] = json!([{"name": name}]);
    }
    if run.network == Network::Host {
        pod["hostNetwork"] = true.into();
        pod["dnsPolicy"] = "Default".into();
    }
    pod
}

fn container(check: &CheckJob<'_>, run: &RunParameters, now: Timestamp) -> Value {
    let mut mounts = check.mounts.clone();
    mounts.push(json!({"name": MANIFESTS_VOLUME, "mountPath": MANIFESTS, "readOnly": true}));
    let mut container: Map<String, Value> = check.container.clone();
    let ours = [
        ("name", CONTAINER.into()),
        ("imagePullPolicy", "IfNotPresent".into()),
        ("env", variables(check, run, now).into()),
        ("volumeMounts", mounts.into()),
        ("resources", resources()),
        ("securityContext", confined()),
        ("terminationMessagePolicy", "FallbackToLogsOnError".into()),
    ];
    container.extend(ours.map(|(name, value)| (name.to_owned(), value)));
    container.into()
}

/// Init container that copies the release manifests to the volume.
fn manifests_container(run: &RunParameters) -> Value {
    let mut confined = confined();
    confined["readOnlyRootFilesystem"] = true.into();
    json!({
        "name": "manifests",
        "image": run.target_image,
        "imagePullPolicy": "IfNotPresent",
        "args": COPY_MANIFESTS.into_iter().chain([MANIFESTS]).collect::<Vec<_>>(),
        "volumeMounts": [{"name": MANIFESTS_VOLUME, "mountPath": MANIFESTS}],
        "resources": resources(),
        "securityContext": confined,
        "terminationMessagePolicy": "FallbackToLogsOnError",
    })
}

/// Variables of the manifest and of the protocol.
fn variables(check: &CheckJob<'_>, run: &RunParameters, now: Timestamp) -> Vec<Value> {
    let deadline = now + SignedDuration::from_secs(JOB_SECONDS);
    let ours = [
        (environment::RUN, run.id.as_str()),
        (environment::SOURCE_VERSION, &run.source_version),
        (environment::TARGET_VERSION, &run.target_version),
        (environment::TARGET_IMAGE, &run.target_image),
        (environment::DEADLINE, &deadline.to_string()),
        (environment::NAMESPACE, check.namespace),
        (environment::MANIFESTS, MANIFESTS),
    ]
    .map(|(name, value)| json!({"name": name, "value": value}));
    let is_ours = |variable: &Value| ours.iter().any(|own| own["name"] == variable["name"]);
    let theirs = check.variables.iter();
    theirs.filter(|variable| !is_ours(variable)).cloned().chain(ours.clone()).collect()
}

fn resources() -> Value {
    json!({
        // Without this request, the limit would be the request and reserve disk space of the node.
        "requests": {"cpu": "10m", "memory": "32Mi", "ephemeral-storage": "0"},
        "limits": {"cpu": "500m", "memory": MEMORY_LIMIT, "ephemeral-storage": EPHEMERAL_STORAGE_LIMIT},
    })
}

fn confined() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": true,
        "seccompProfile": {"type": "RuntimeDefault"},
    })
}

/// RBAC objects of a check in the order of creation: bindings last.
pub(super) fn access(
    request: &JobRequest,
    check: &CheckJob<'_>,
    access: &Access<'_>,
    run: &RunParameters,
) -> Vec<Value> {
    let metadata = |name: &str, namespace: &str| {
        let mut metadata = json!({
            "name": with_suffix(name, check),
            "labels": labels_of(request, run),
            "annotations": {ANNOTATION: "true", labels::CHECK: request.check},
        });
        if !namespace.is_empty() {
            metadata["namespace"] = namespace.into();
        }
        metadata
    };
    let account = access.account.map(|name| {
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(name, NAMESPACE)})
    });
    let role = |Grant { kind, name, namespace, content }: &Grant<'_, Rules<'_>>| json!({"apiVersion": RBAC, "kind": kind, "metadata": metadata(name, namespace), "rules": content});
    let binding = |Grant { kind, name, namespace, content }: &Grant<'_, RoleRef<'_>>| {
        let role = with_suffix(content.name, check);
        let account = access.account.map(|name| with_suffix(name, check));
        json!({
            "apiVersion": RBAC,
            "kind": kind,
            "metadata": metadata(name, namespace),
            "roleRef": {"apiGroup": GROUP, "kind": content.kind, "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}],
        })
    };
    let roles = access.roles.iter().map(role);
    account.into_iter().chain(roles).chain(access.bindings.iter().map(binding)).collect()
}

/// Labels of all objects of a Job.
fn labels_of(request: &JobRequest, run: &RunParameters) -> BTreeMap<String, String> {
    let mut labels_of = labels::of_run(&run.id, &run.target_version);
    labels_of.insert(labels::BY.to_owned(), run.by.as_str().to_owned());
    labels_of.insert(labels::JOB.to_owned(), labels::value(&request.name));
    labels_of
}

/// Adds the random suffix to a name, which makes it unique in the cluster.
fn with_suffix(name: &str, check: &CheckJob<'_>) -> String {
    format!("{name}-{}", check.suffix)
}
