//! The Deployment of a run: the target release, beside the operator and with fewer rights.

use std::collections::BTreeMap;
use std::path::Path;

use fairway_findings::{FORMAT, labels, record};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy};
use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, Container, HostPathVolumeSource, LocalObjectReference, NodeAffinity,
    NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodSecurityContext, PodSpec,
    PodTemplateSpec, ResourceRequirements, SeccompProfile, SecretVolumeSource, SecurityContext,
    Toleration, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use super::results::RUNNER;
use super::run_id::RunId;
use super::surroundings::Surroundings;
use crate::settings::PreflightPod;

/// The Deployment, and the Secret beside it.
pub(super) const NAME: &str = labels::APP_VALUE;

/// The annotation with the version of the target as it is: labels do not take every version.
const VERSION: &str = "fairway.dev/preflight-version";

/// The annotation of a run whose release nobody had to sign; its value is `true`.
const FORCED: &str = "fairway.dev/preflight-forced";

/// Who the target release is for the API server: somebody who may read, and nothing else.
const ACCOUNT: &str = "preflight-runner";

/// Where the target release puts what it finds.
const RESULTS: &str = "/results";

/// Where it finds who the cluster is for registries.
const PULL_SECRET: &str = "/etc/fairway/pull-secret";

/// The key of a Secret of registries.
pub(super) const PULL_SECRET_KEY: &str = ".dockerconfigjson";

/// How long it may take to end: it writes nothing that could not be lost.
const GRACE: i64 = 5;

/// A run as it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) id: RunId,
    /// The image of the target release, by digest.
    pub(super) image: String,
    /// Its version.
    pub(super) version: String,
    /// The version that runs.
    pub(super) source: String,
    /// The node of the operator.
    pub(super) node: String,
    /// Whether nobody had to sign the release.
    pub(super) forced: bool,
}

/// Makes the Deployment of a run.
pub(super) fn deployment(
    run: &Run,
    namespace: &str,
    results: &Path,
    surroundings: &Surroundings,
    limits: &PreflightPod,
) -> Deployment {
    let labels = labels(run);
    let metadata = ObjectMeta {
        name: Some(NAME.to_owned()),
        namespace: Some(namespace.to_owned()),
        ..metadata(run)
    };
    let selector = [(labels::APP, NAME), (labels::RUN, run.id.as_str())];
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
                spec: Some(pod(run, results, surroundings, limits)),
            },
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

/// The name of the Secret of a run. Each has its own: that of the run before goes when it goes.
pub(super) fn secret_name(run: &Run) -> String {
    format!("{NAME}-{}", run.id)
}

/// What everything that belongs to a run is marked with.
pub(super) fn metadata(run: &Run) -> ObjectMeta {
    let forced = run.forced.then_some((FORCED, "true"));
    let annotations = [(record::TARGET_IMAGE, run.image.as_str()), (VERSION, &run.version)];
    let annotations = annotations.into_iter().chain(forced);
    let texts = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    ObjectMeta {
        labels: Some(labels(run)),
        annotations: Some(annotations.map(texts).collect()),
        ..ObjectMeta::default()
    }
}

fn labels(run: &Run) -> BTreeMap<String, String> {
    labels::of_run(run.id.as_str(), &run.version)
}

/// What everything that belongs to any run is found by.
pub(super) fn selector() -> String {
    format!("{}={NAME}", labels::APP)
}

fn pod(run: &Run, results: &Path, surroundings: &Surroundings, limits: &PreflightPod) -> PodSpec {
    let own = &surroundings.own;
    let secret = surroundings.has_pull_secret.then(|| secret_name(run));
    let mut volumes = vec![results_volume(results, &run.id)];
    volumes.extend(secret.clone().map(secret_volume));
    volumes.extend(own.authorities.clone().map(|(volume, _)| volume));
    let tolerations = limits.tolerations.clone().or_else(|| own.tolerations.clone());
    PodSpec {
        service_account_name: Some(ACCOUNT.to_owned()),
        affinity: Some(beside_the_operator(&run.node)),
        node_selector: Some(limits.node_selector.clone()).filter(|labels| !labels.is_empty()),
        tolerations: Some(tolerations.unwrap_or_else(any_control_plane)),
        priority_class_name: limits.priority_class.clone().or_else(|| own.priority_class.clone()),
        // It has to see the API server where the network of the cluster does not work.
        host_network: Some(true),
        dns_policy: Some(own.dns_policy.clone().unwrap_or_else(|| "Default".to_owned())),
        termination_grace_period_seconds: Some(GRACE),
        image_pull_secrets: secret.map(|name| vec![LocalObjectReference { name }]),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: Some(RUNNER.into()),
            run_as_group: Some(RUNNER.into()),
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                localhost_profile: None,
            }),
            ..PodSecurityContext::default()
        }),
        containers: vec![container(run, surroundings, limits)],
        volumes: Some(volumes),
        ..PodSpec::default()
    }
}

fn container(run: &Run, surroundings: &Surroundings, limits: &PreflightPod) -> Container {
    let own = &surroundings.own;
    let mut mounts = vec![mount("results", RESULTS, false)];
    let mut args = vec![
        "preflight".to_owned(),
        format!("--format={FORMAT}"),
        format!("--release-image={}", run.image),
        format!("{SOURCE}{}", run.source),
        format!("--results={RESULTS}"),
        format!("--run={}", run.id),
        "--log-format=json".to_owned(),
    ];
    if surroundings.has_pull_secret {
        args.push(format!("--pull-secret={PULL_SECRET}/{PULL_SECRET_KEY}"));
        mounts.push(mount("pull-secret", PULL_SECRET, true));
    }
    mounts.extend(own.authorities.clone().map(|(_, mount)| mount));
    Container {
        name: NAME.to_owned(),
        image: Some(run.image.clone()),
        image_pull_policy: Some("IfNotPresent".to_owned()),
        args: Some(args),
        // What the operator is told about its surroundings holds for its neighbour, too.
        env: Some(own.environment.clone()).filter(|variables| !variables.is_empty()),
        resources: Some(resources(limits)),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            read_only_root_filesystem: Some(true),
            capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
            ..SecurityContext::default()
        }),
        // Whatever it says last is in the status of its Pod.
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        volume_mounts: Some(mounts),
        ..Container::default()
    }
}

/// How the version that runs is told to the target release.
const SOURCE: &str = "--source-version=";

fn mount(name: &str, path: &str, read_only: bool) -> VolumeMount {
    VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only: read_only.then_some(true),
        ..VolumeMount::default()
    }
}

/// The directory of this run, and of no other.
fn results_volume(results: &Path, run: &RunId) -> Volume {
    Volume {
        name: "results".to_owned(),
        host_path: Some(HostPathVolumeSource {
            path: results.join(run.as_str()).display().to_string(),
            // The operator has made it: on another node there is none, and nothing is to be made.
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
        // It has time: what is on the node already comes first.
        requests: Some(quantities("10m", "50Mi")),
        limits: Some(quantities(cpu_limit, memory_limit)),
        ..ResourceRequirements::default()
    }
}

/// Results come back through the disk of the operator's node. A Pod that is bound to a node by its
/// name would not be refused there, but made again and again.
fn beside_the_operator(node: &str) -> Affinity {
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

/// What an operator bears that was deployed by nobody.
fn any_control_plane() -> Vec<Toleration> {
    ["node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane"]
        .map(|key| Toleration {
            key: Some(key.to_owned()),
            operator: Some("Exists".to_owned()),
            effect: Some("NoSchedule".to_owned()),
            ..Toleration::default()
        })
        .into()
}

/// The run that a Deployment in the cluster is of; nothing where it is not one of ours.
pub(super) fn read(deployment: &Deployment) -> Option<Run> {
    let ObjectMeta { labels: labelled, annotations, .. } = &deployment.metadata;
    let id = RunId::parse(labelled.as_ref()?.get(labels::RUN)?)?;
    let annotation = |name: &str| annotations.as_ref()?.get(name).cloned();
    let pod = deployment.spec.as_ref()?.template.spec.as_ref()?;
    let mut args = pod.containers.first()?.args.iter().flatten();
    let affinity = pod.affinity.as_ref()?.node_affinity.as_ref()?;
    let terms = affinity.required_during_scheduling_ignored_during_execution.as_ref()?;
    let fields = terms.node_selector_terms.first()?.match_fields.as_ref()?;
    Some(Run {
        id,
        image: annotation(record::TARGET_IMAGE)?,
        version: annotation(VERSION)?,
        source: args.find_map(|argument| argument.strip_prefix(SOURCE))?.to_owned(),
        node: fields.first()?.values.as_ref()?.first()?.clone(),
        forced: annotation(FORCED).is_some(),
    })
}

#[cfg(test)]
mod tests;
