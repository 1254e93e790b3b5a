//! What a run has from where it runs: what the operator's own Deployment says, and who the cluster
//! is for registries.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{EnvVar, Toleration, Volume, VolumeMount};

/// The volume with the authorities that the node trusts.
const AUTHORITIES: &str = "ssl-certs";

/// What a run has from where it runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Surroundings {
    /// As the operator itself has it.
    pub(super) own: OwnPod,
    /// Whether there is a Secret for registries beside it.
    pub(super) has_pull_secret: bool,
}

/// What the operator's own Deployment says; nothing where the operator is a mere process.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OwnPod {
    pub(super) tolerations: Option<Vec<Toleration>>,
    pub(super) priority_class: Option<String>,
    pub(super) dns_policy: Option<String>,
    pub(super) environment: Vec<EnvVar>,
    pub(super) authorities: Option<(Volume, VolumeMount)>,
}

impl OwnPod {
    pub(super) fn of(deployment: &Deployment) -> Self {
        let pod = deployment.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
        let Some(pod) = pod else { return Self::default() };
        let container = pod.containers.first();
        let environment = container.and_then(|container| container.env.clone()).unwrap_or_default();
        let volume = pod.volumes.iter().flatten().find(|volume| volume.name == AUTHORITIES);
        let mounts = container.and_then(|container| container.volume_mounts.as_ref());
        let mount = mounts.into_iter().flatten().find(|mount| mount.name == AUTHORITIES);
        Self {
            tolerations: pod.tolerations.clone(),
            priority_class: pod.priority_class_name.clone(),
            dns_policy: pod.dns_policy.clone(),
            environment: environment.into_iter().filter(is_no_secret).collect(),
            authorities: volume.cloned().zip(mount.cloned()),
        }
    }
}

/// What the operator knows from Secrets and `ConfigMap`s is for the operator alone.
fn is_no_secret(variable: &EnvVar) -> bool {
    variable
        .value_from
        .as_ref()
        .is_none_or(|source| source.secret_key_ref.is_none() && source.config_map_key_ref.is_none())
}
