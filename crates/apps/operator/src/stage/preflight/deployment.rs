//! Deployment of a preflight run: the target release, on the operator's node, with read access
//! only.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use fairway_findings::{FORMAT, labels, record};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy};
use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, Container, EnvVar, HostPathVolumeSource, LocalObjectReference,
    NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodSecurityContext,
    PodSpec, PodTemplateSpec, ResourceRequirements, SeccompProfile, SecretVolumeSource,
    SecurityContext, Toleration, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use super::results_root::RUNNER_UID;
use crate::settings::PreflightPod;

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

/// Mount path of the pull secret.
const PULL_SECRET_PATH: &str = "/etc/fairway/pull-secret";

/// Key of a pull secret's data.
pub(super) const PULL_SECRET_KEY: &str = ".dockerconfigjson";

/// Termination grace period in seconds. The target release writes nothing that must be complete.
const TERMINATION_GRACE_PERIOD_SECONDS: i64 = 5;

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
}

/// Builds the Deployment of a run.
pub(super) fn deployment(
    run: &PreflightRun,
    namespace: &str,
    results: &Path,
    defaults: &PodDefaults,
    limits: &PreflightPod,
) -> Deployment {
    let labels = labels(run);
    let metadata = ObjectMeta {
        name: Some(DEPLOYMENT_NAME.to_owned()),
        namespace: Some(namespace.to_owned()),
        ..metadata(run)
    };
    let selector = [(labels::APP, DEPLOYMENT_NAME), (labels::RUN, run.id.as_str())];
    let selector = selector.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    Deployment {
        metadata,
        spec: Some(DeploymentSpec {
            replicas: Some(1),
            revision_history_limit: Some(0),
            strategy: Some(DeploymentStrategy {
                type_: Some("Recreate".to_owned()),
                rolling_update: None,
            }),
            selector: LabelSelector { match_labels: Some(selector), match_expressions: None },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(labels), ..ObjectMeta::default() }),
                spec: Some(pod(run, results, defaults, limits)),
            },
            ..DeploymentSpec::default()
        }),
        status: None,
    }
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
    let annotations = annotations.into_iter().chain(forced);
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
    limits: &PreflightPod,
) -> PodSpec {
    let own = &defaults.own;
    let secret = defaults.has_pull_secret.then(|| secret_name(run));
    let mut volumes = vec![results_volume(results, &run.id)];
    volumes.extend(secret.clone().map(secret_volume));
    volumes.extend(own.ca_certificates.clone().map(|(volume, _)| volume));
    let tolerations = limits.tolerations.clone().or_else(|| own.tolerations.clone());
    PodSpec {
        service_account_name: Some(SERVICE_ACCOUNT.to_owned()),
        affinity: Some(operator_node_affinity(&run.node)),
        node_selector: Some(limits.node_selector.clone()).filter(|labels| !labels.is_empty()),
        tolerations: Some(tolerations.unwrap_or_else(control_plane_tolerations)),
        priority_class_name: limits.priority_class.clone().or_else(|| own.priority_class.clone()),
        // The API server is reachable without the cluster network.
        host_network: Some(true),
        dns_policy: Some(own.dns_policy.clone().unwrap_or_else(|| "Default".to_owned())),
        termination_grace_period_seconds: Some(TERMINATION_GRACE_PERIOD_SECONDS),
        image_pull_secrets: secret.map(|name| vec![LocalObjectReference { name }]),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: Some(RUNNER_UID.into()),
            run_as_group: Some(RUNNER_UID.into()),
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                localhost_profile: None,
            }),
            ..PodSecurityContext::default()
        }),
        containers: vec![container(run, defaults, limits)],
        volumes: Some(volumes),
        ..PodSpec::default()
    }
}

fn container(run: &PreflightRun, defaults: &PodDefaults, limits: &PreflightPod) -> Container {
    let own = &defaults.own;
    let mut mounts = vec![mount("results", RESULTS_PATH, false)];
    let mut args = vec![
        "preflight".to_owned(),
        format!("--format={FORMAT}"),
        format!("--release-image={}", run.image),
        format!("{SOURCE_VERSION_FLAG}{}", run.source),
        format!("--results={RESULTS_PATH}"),
        format!("--run={}", run.id),
        "--log-format=json".to_owned(),
    ];
    if defaults.has_pull_secret {
        args.push(format!("--pull-secret={PULL_SECRET_PATH}/{PULL_SECRET_KEY}"));
        mounts.push(mount("pull-secret", PULL_SECRET_PATH, true));
    }
    mounts.extend(own.ca_certificates.clone().map(|(_, mount)| mount));
    Container {
        name: DEPLOYMENT_NAME.to_owned(),
        image: Some(run.image.clone()),
        image_pull_policy: Some("IfNotPresent".to_owned()),
        args: Some(args),
        // Proxy settings and the like apply to the target release, too.
        env: Some(own.environment.clone()).filter(|variables| !variables.is_empty()),
        resources: Some(resources(limits)),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            read_only_root_filesystem: Some(true),
            capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
            ..SecurityContext::default()
        }),
        // The kubelet copies the end of the log to the Pod status, for the diagnosis.
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        volume_mounts: Some(mounts),
        ..Container::default()
    }
}

/// Flag with the running version of the cluster.
const SOURCE_VERSION_FLAG: &str = "--source-version=";

fn mount(name: &str, path: &str, read_only: bool) -> VolumeMount {
    VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only: read_only.then_some(true),
        ..VolumeMount::default()
    }
}

/// The directory of this run only.
fn results_volume(results: &Path, run: &RunId) -> Volume {
    Volume {
        name: "results".to_owned(),
        host_path: Some(HostPathVolumeSource {
            path: results.join(run.as_str()).display().to_string(),
            // The operator creates the directory. On another node the mount fails instead of
            // creating it.
            type_: Some("Directory".to_owned()),
        }),
        ..Volume::default()
    }
}

fn secret_volume(name: String) -> Volume {
    Volume {
        name: "pull-secret".to_owned(),
        secret: Some(SecretVolumeSource {
            secret_name: Some(name),
            ..SecretVolumeSource::default()
        }),
        ..Volume::default()
    }
}

fn resources(PreflightPod { memory_limit, cpu_limit, .. }: &PreflightPod) -> ResourceRequirements {
    let quantities = |cpu: &str, memory: &str| {
        let quantities = [("cpu", cpu), ("memory", memory)];
        quantities.map(|(name, value)| (name.to_owned(), Quantity(value.to_owned()))).into()
    };
    ResourceRequirements {
        // Small requests: Pods that are on the node already have priority.
        requests: Some(quantities("10m", "50Mi")),
        limits: Some(quantities(cpu_limit, memory_limit)),
        ..ResourceRequirements::default()
    }
}

/// Results are exchanged through the disk of the operator's node. With `nodeName`, a Pod that the
/// node rejects would be created again and again.
fn operator_node_affinity(node: &str) -> Affinity {
    let is_the_node = NodeSelectorRequirement {
        key: "metadata.name".to_owned(),
        operator: "In".to_owned(),
        values: Some(vec![node.to_owned()]),
    };
    let term = NodeSelectorTerm { match_fields: Some(vec![is_the_node]), match_expressions: None };
    Affinity {
        node_affinity: Some(NodeAffinity {
            required_during_scheduling_ignored_during_execution: Some(NodeSelector {
                node_selector_terms: vec![term],
            }),
            ..NodeAffinity::default()
        }),
        ..Affinity::default()
    }
}

/// Tolerations of an operator without a Deployment of its own.
fn control_plane_tolerations() -> Vec<Toleration> {
    ["node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane"]
        .map(|key| Toleration {
            key: Some(key.to_owned()),
            operator: Some("Exists".to_owned()),
            effect: Some("NoSchedule".to_owned()),
            ..Toleration::default()
        })
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
