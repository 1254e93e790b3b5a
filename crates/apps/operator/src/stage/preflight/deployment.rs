//! Deployment of a preflight run: the target release, on the operator's node, with read access
//! only.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use fairway_findings::{FORMAT, consent, environment, images, labels, record};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{EnvVar, Toleration, Volume, VolumeMount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use super::results_root::{RUNNER_GID, RUNNER_UID};
use crate::settings::{CheckNetwork, PreflightPod};

/// Name of the Deployment, and prefix of the names of its Secrets.
pub(super) const DEPLOYMENT_NAME: &str = labels::APP_VALUE;

/// Annotation with the version of the target release. Label values do not allow every version.
const VERSION_ANNOTATION: &str = "fairway.dev/preflight-version";

/// Annotation of a run whose release image needs no signature. Its value is `true`.
const FORCED_ANNOTATION: &str = "fairway.dev/preflight-forced";

/// ServiceAccount of the target release, with read access only.
const SERVICE_ACCOUNT: &str = "preflight-runner";

/// Mount path of the results directory.
const RESULTS_PATH: &str = "/results";

/// Key of a pull secret's data.
pub(super) const PULL_SECRET_KEY: &str = ".dockerconfigjson";

/// Termination grace period in seconds. The target release writes nothing that must be complete.
const TERMINATION_GRACE_PERIOD_SECONDS: i64 = 5;

/// Flag with the running version of the cluster.
const SOURCE_VERSION_FLAG: &str = "--source-version=";

/// Parameters of a run. The Deployment stores all of them, so that another operator process can
/// resume the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PreflightRun {
    pub(super) id: RunId,
    /// Image of the target release, by digest.
    pub(super) image: String,
    /// Version of the target release.
    pub(super) version: String,
    /// Running version of the cluster.
    pub(super) source: String,
    /// Node of the operator.
    pub(super) node: String,
    /// Whether the request is forced, so that the image needs no signature.
    pub(super) forced: bool,
    /// Secrets that checks may read with the consent of the administrator, as `NAMESPACE/NAME`.
    pub(super) secrets: BTreeSet<String>,
}

/// Builds the Deployment of a run.
pub(super) fn deployment(
    run: &PreflightRun,
    namespace: &str,
    results: &Path,
    defaults: &PodDefaults,
    settings: &PreflightPod,
) -> serde_json::Result<Deployment> {
    let metadata = ObjectMeta {
        name: Some(DEPLOYMENT_NAME.to_owned()),
        namespace: Some(namespace.to_owned()),
        ..metadata(run)
    };
    serde_json::from_value(json!({
        "metadata": metadata,
        "spec": {
            "replicas": 1,
            "revisionHistoryLimit": 0,
            "strategy": {"type": "Recreate"},
            "selector": {
                "matchLabels": {labels::APP: DEPLOYMENT_NAME, labels::RUN: run.id.as_str()},
            },
            "template": {
                "metadata": {"labels": labels(run)},
                "spec": pod(run, results, defaults, settings),
            },
        },
    }))
}

/// Name of a run's pull secret. It contains the run ID, because the Secret of the previous run is
/// deleted with its Deployment.
pub(super) fn secret_name(run: &PreflightRun) -> String {
    format!("{DEPLOYMENT_NAME}-{}", run.id)
}

/// Labels and annotations of all objects of a run.
pub(super) fn metadata(run: &PreflightRun) -> ObjectMeta {
    let forced = run.forced.then_some((FORCED_ANNOTATION, "true"));
    let annotations =
        [(record::TARGET_IMAGE, run.image.as_str()), (VERSION_ANNOTATION, &run.version)];
    let secrets = run.secrets.iter().map(String::as_str).collect::<Vec<_>>().join(",");
    let secrets = (!secrets.is_empty()).then_some((consent::ANNOTATION, secrets.as_str()));
    let annotations = annotations.into_iter().chain(forced).chain(secrets);
    let texts = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    ObjectMeta {
        labels: Some(labels(run)),
        annotations: Some(annotations.map(texts).collect()),
        ..ObjectMeta::default()
    }
}

fn labels(run: &PreflightRun) -> BTreeMap<String, String> {
    labels::of_run(run.id.as_str(), &run.version)
}

/// Label selector of the objects of all runs.
pub(super) fn selector() -> String {
    format!("{}={DEPLOYMENT_NAME}", labels::APP)
}

fn pod(
    run: &PreflightRun,
    results: &Path,
    defaults: &PodDefaults,
    settings: &PreflightPod,
) -> Value {
    let own = &defaults.own;
    let secret = defaults.has_pull_secret.then(|| secret_name(run));
    // The operator creates the directory of this run only. On another node the mount fails instead
    // of creating it.
    let directory = results.join(run.id.as_str()).display().to_string();
    let mut volumes =
        vec![json!({"name": "results", "hostPath": {"path": directory, "type": "Directory"}})];
    volumes.extend(own.ca_certificates.iter().map(|(volume, _)| json!(volume)));
    let is_on_host = settings.network == CheckNetwork::Host;
    let dns_policy =
        if is_on_host { own.dns_policy.as_deref().unwrap_or("Default") } else { "ClusterFirst" };
    let tolerations = settings.tolerations.as_ref().or(own.tolerations.as_ref());
    // Results are exchanged through the disk of the operator's node. With `nodeName`, a Pod that
    // the node rejects would be created again and again.
    let is_operator_node = json!({"key": "metadata.name", "operator": "In", "values": [run.node]});
    json!({
        "serviceAccountName": SERVICE_ACCOUNT,
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchFields": [is_operator_node]}],
        }}},
        "nodeSelector": Some(&settings.node_selector).filter(|labels| !labels.is_empty()),
        "tolerations": tolerations.map_or_else(control_plane_tolerations, |own| json!(own)),
        "priorityClassName": settings.priority_class.as_ref().or(own.priority_class.as_ref()),
        "hostNetwork": is_on_host,
        "dnsPolicy": dns_policy,
        "terminationGracePeriodSeconds": TERMINATION_GRACE_PERIOD_SECONDS,
        // For the kubelet. The Pod does not mount it.
        "imagePullSecrets": secret.map(|name| json!([{"name": name}])),
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": RUNNER_UID,
            // The group of the results directory.
            "runAsGroup": RUNNER_GID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container(run, defaults, settings)],
        "volumes": volumes,
    })
}

fn container(run: &PreflightRun, defaults: &PodDefaults, settings: &PreflightPod) -> Value {
    let own = &defaults.own;
    let mut mounts = vec![json!({"name": "results", "mountPath": RESULTS_PATH})];
    let args = vec![
        "preflight".to_owned(),
        format!("--format={FORMAT}"),
        format!("--release-image={}", run.image),
        format!("{SOURCE_VERSION_FLAG}{}", run.source),
        format!("--results={RESULTS_PATH}"),
        format!("--run={}", run.id),
        "--log-format=json".to_owned(),
    ];
    mounts.extend(own.ca_certificates.iter().map(|(_, mount)| json!(mount)));
    json!({
        "name": DEPLOYMENT_NAME,
        "image": run.image,
        "imagePullPolicy": "IfNotPresent",
        "args": args,
        "env": environment(own, settings.network),
        "resources": {
            // Small requests: Pods that are on the node already have priority.
            "requests": {"cpu": "10m", "memory": "50Mi"},
            "limits": {"cpu": settings.cpu_limit, "memory": settings.memory_limit},
        },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]},
        },
        // The kubelet copies the end of the log to the Pod status, for the diagnosis.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": mounts,
    })
}

/// Variables of the container. Proxy settings and the like apply to the target release, too.
fn environment(own: &OperatorPod, network: CheckNetwork) -> Vec<Value> {
    // An address of the API server that the operator reaches on its node, such as a loopback
    // address, is not reachable in the Pod network.
    let is_usable = |variable: &&EnvVar| {
        network == CheckNetwork::Host || !variable.name.starts_with("KUBERNETES_SERVICE_")
    };
    // The operator has the registry credentials and probes the images itself. A variable, because
    // other releases ignore it.
    let skipped = json!({"name": environment::SKIPPED_CHECKS, "value": images::NAME});
    let own = own.environment.iter().filter(is_usable).map(|variable| json!(variable));
    own.chain([skipped]).collect()
}

/// Tolerations of an operator without a Deployment of its own.
fn control_plane_tolerations() -> Value {
    let toleration = |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoSchedule"});
    ["node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane"]
        .map(toleration)
        .as_slice()
        .into()
}

/// Reads the parameters of a run from its Deployment; `None` if the operator did not create it.
pub(super) fn read(deployment: &Deployment) -> Option<PreflightRun> {
    let ObjectMeta { labels: labelled, annotations, .. } = &deployment.metadata;
    let id = RunId::parse(labelled.as_ref()?.get(labels::RUN)?)?;
    let annotation = |name: &str| annotations.as_ref()?.get(name).cloned();
    let pod = deployment.spec.as_ref()?.template.spec.as_ref()?;
    let mut args = pod.containers.first()?.args.iter().flatten();
    let affinity = pod.affinity.as_ref()?.node_affinity.as_ref()?;
    let terms = affinity.required_during_scheduling_ignored_during_execution.as_ref()?;
    let fields = terms.node_selector_terms.first()?.match_fields.as_ref()?;
    Some(PreflightRun {
        id,
        image: annotation(record::TARGET_IMAGE)?,
        version: annotation(VERSION_ANNOTATION)?,
        source: args.find_map(|argument| argument.strip_prefix(SOURCE_VERSION_FLAG))?.to_owned(),
        node: fields.first()?.values.as_ref()?.first()?.clone(),
        forced: annotation(FORCED_ANNOTATION).is_some(),
        secrets: annotation(consent::ANNOTATION)
            .map(|names| names.split(',').map(str::to_owned).collect())
            .unwrap_or_default(),
    })
}

/// Volume with the node's CA certificates.
const CA_VOLUME: &str = "ssl-certs";

/// Settings that a run takes over from the operator's Pod and from the cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PodDefaults {
    /// Settings of the operator's Pod.
    pub(super) own: OperatorPod,
    /// Whether the cluster has a pull secret.
    pub(super) has_pull_secret: bool,
}

/// Settings of the operator's Deployment; empty if the operator runs outside of the cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OperatorPod {
    pub(super) tolerations: Option<Vec<Toleration>>,
    pub(super) priority_class: Option<String>,
    pub(super) dns_policy: Option<String>,
    pub(super) environment: Vec<EnvVar>,
    pub(super) ca_certificates: Option<(Volume, VolumeMount)>,
}

impl OperatorPod {
    pub(super) fn from_deployment(deployment: &Deployment) -> Self {
        let pod = deployment.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
        let Some(pod) = pod else { return Self::default() };
        let container = pod.containers.first();
        let environment = container.and_then(|container| container.env.clone()).unwrap_or_default();
        let volume = pod.volumes.iter().flatten().find(|volume| volume.name == CA_VOLUME);
        let mounts = container.and_then(|container| container.volume_mounts.as_ref());
        let mount = mounts.into_iter().flatten().find(|mount| mount.name == CA_VOLUME);
        Self {
            tolerations: pod.tolerations.clone(),
            priority_class: pod.priority_class_name.clone(),
            dns_policy: pod.dns_policy.clone(),
            environment: environment.into_iter().filter(is_not_secret).collect(),
            ca_certificates: volume.cloned().zip(mount.cloned()),
        }
    }
}

/// Values from Secrets and `ConfigMaps` are not passed on.
fn is_not_secret(variable: &EnvVar) -> bool {
    variable
        .value_from
        .as_ref()
        .is_none_or(|source| source.secret_key_ref.is_none() && source.config_map_key_ref.is_none())
}

/// Digits of a run ID: 128 bits, so that directory names cannot be guessed.
const DIGITS: usize = 32;

/// ID of a run: 32 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RunId(String);

impl RunId {
    /// A new ID.
    pub(super) fn random() -> io::Result<Self> {
        let mut bytes = [0; DIGITS / 2];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self(hex::encode(bytes)))
    }

    /// Parses an ID. Rejects everything else, because the ID is used as a directory name.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_id = text.len() == DIGITS && text.bytes().all(is_digit);
        is_id.then(|| Self(text.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
