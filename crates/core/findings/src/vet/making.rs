//! The objects that are created for a check.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::access::{Access, GROUP, Grant, RBAC, RoleRef, Rules};
use super::job::Check;
use super::{ACCOUNT, ANNOTATION, NAMESPACE, Network, Run};
use crate::jobs::JobRequest;
use crate::{environment, labels};

/// Seconds that a Job has, from its creation: its image has to be pulled, too.
pub const JOB_SECONDS: i64 = 900;

/// Seconds that a check has, from the start of its container.
pub const CHECK_SECONDS: i64 = 300;

/// Seconds after which the cluster removes a Job that ended, should nobody have done it.
const FORGOTTEN_SECONDS: i64 = 3600;

/// The container of a check, whatever its manifest calls it.
pub const CONTAINER: &str = "check";

/// What the target release is told to do before: bring its manifests to a directory.
const COPY_MANIFESTS: [&str; 2] = ["preflight", "copy-manifests"];

/// Where a check finds the manifests of its release.
const MANIFESTS: &str = "/preflight/manifests";

/// The volume for them.
const MANIFESTS_VOLUME: &str = "fairway-preflight-manifests";

/// Memory of a check, as component authors were promised.
const MEMORY: &str = "100Mi";

/// Room for the manifests: a large platform has 20 MiB of them.
const MANIFESTS_SIZE: &str = "256Mi";

/// What a check may take of its node's disk in all: its volumes, its log, what it writes elsewhere,
/// and with some container runtimes a copy of its image.
const DISK: &str = "1Gi";

/// Room for what a check writes into a volume of its own.
const VOLUME_SIZE: &str = "64Mi";

/// Whom all checks run as: a number that no distribution, container runtime or component gives to
/// anybody, so that nothing on any node belongs to it. `nobody` is somebody, and 65532 is Fairway.
const STRANGER: u32 = 65531;

/// The Job of a check.
pub(super) fn job(
    request: &JobRequest,
    check: &Check<'_>,
    access: &Access<'_>,
    run: &Run,
    now: Timestamp,
) -> Value {
    let metadata = json!({
        "name": request.name,
        "namespace": NAMESPACE,
        "labels": marks(request, run),
        "annotations": {ANNOTATION: "true", labels::CHECK: request.check},
    });
    let template = json!({
        "metadata": {
            "labels": marks(request, run),
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
            "ttlSecondsAfterFinished": FORGOTTEN_SECONDS,
            "template": template,
        },
    })
}

fn pod(check: &Check<'_>, access: &Access<'_>, run: &Run, now: Timestamp) -> Value {
    let own = access.account.filter(|account| *account == check.account);
    let account = own.map_or(ACCOUNT.to_owned(), |account| renamed(account, check));
    let mut volumes: Vec<Value> = check
        .volumes
        .iter()
        .map(|name| json!({"name": name, "emptyDir": {"sizeLimit": VOLUME_SIZE}}))
        .collect();
    volumes.push(json!({"name": MANIFESTS_VOLUME, "emptyDir": {"sizeLimit": MANIFESTS_SIZE}}));
    let mut pod = json!({
        "restartPolicy": "Never",
        "serviceAccountName": account,
        "automountServiceAccountToken": !check.without_token,
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": 5,
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": STRANGER,
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

fn container(check: &Check<'_>, run: &Run, now: Timestamp) -> Value {
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

/// Brings the manifests of the target release to where the check finds them.
fn manifests_container(run: &Run) -> Value {
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

/// What the check's manifest says, and what all checks are told.
fn variables(check: &Check<'_>, run: &Run, now: Timestamp) -> Vec<Value> {
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
        // Without one for the disk, that would be its limit, and take the room of others.
        "requests": {"cpu": "10m", "memory": "32Mi", "ephemeral-storage": "0"},
        "limits": {"cpu": "500m", "memory": MEMORY, "ephemeral-storage": DISK},
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

/// What a check needs to read: its account first, and bindings after what they bind.
pub(super) fn access(
    request: &JobRequest,
    check: &Check<'_>,
    access: &Access<'_>,
    run: &Run,
) -> Vec<Value> {
    let metadata = |name: &str, namespace: &str| {
        let mut metadata = json!({
            "name": renamed(name, check),
            "labels": marks(request, run),
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
    let role = |Grant { kind, name, namespace, gives }: &Grant<'_, Rules<'_>>| json!({"apiVersion": RBAC, "kind": kind, "metadata": metadata(name, namespace), "rules": gives});
    let binding = |Grant { kind, name, namespace, gives }: &Grant<'_, RoleRef<'_>>| {
        let role = renamed(gives.name, check);
        let account = access.account.map(|name| renamed(name, check));
        json!({
            "apiVersion": RBAC,
            "kind": kind,
            "metadata": metadata(name, namespace),
            "roleRef": {"apiGroup": GROUP, "kind": gives.kind, "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}],
        })
    };
    let roles = access.roles.iter().map(role);
    account.into_iter().chain(roles).chain(access.bindings.iter().map(binding)).collect()
}

/// What everything that exists for a Job is found by.
fn marks(request: &JobRequest, run: &Run) -> BTreeMap<String, String> {
    let mut marks = labels::of_run(&run.id, &run.target_version);
    marks.insert(labels::BY.to_owned(), run.by.as_str().to_owned());
    marks.insert(labels::JOB.to_owned(), labels::value(&request.name));
    marks
}

/// A name that nothing in the cluster has yet.
fn renamed(name: &str, check: &Check<'_>) -> String {
    format!("{name}-{}", check.suffix)
}
