//! Inputs of the preflight stage.

use std::path::PathBuf;
use std::sync::Arc;

use fairway_api::ClusterVersion;
use fairway_cincinnati::connection::ProxySettings;
use fairway_findings::consent;
use fairway_findings::record::KEEP_RESULTS;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::ClusterRole;
use tokio::sync::watch;

use crate::cluster::{self, ClusterWatches, Features, Objects, ReaderRoles};
use crate::own_release::OwnRelease;
use crate::retrieval::{FetchConfig, FetchInputs};
use crate::settings::SelectionSettings;
use crate::stage::updates::{Updates, same_content};

/// Watched values of the preflight stage.
pub struct Inputs {
    /// Release of the operator.
    pub own: Arc<OwnRelease>,
    /// Payload of the operator's release. It contains the keys that verify signatures.
    pub own_content: Arc<fairway_release::Release>,
    /// ClusterVersion, with the request.
    pub cluster_version: watch::Receiver<Option<Objects<ClusterVersion>>>,
    /// Proxy settings for registries.
    pub proxy: watch::Receiver<Option<ProxySettings>>,
    /// CA bundle for registries.
    pub trusted_ca: watch::Receiver<Option<Objects<ConfigMap>>>,
    /// Feature gates of the cluster.
    pub features: watch::Receiver<Option<Features>>,
    /// Cluster settings that manifests depend on.
    pub surroundings: watch::Receiver<Option<cluster::InjectedConfig>>,
    /// `ClusterRoles` that are aggregated into the read permissions of preflights.
    pub reader_roles: ReaderRoles,
    /// Releases of the update service.
    pub updates: watch::Receiver<Option<Arc<Updates>>>,
}

/// Where preflight runs are created and how their releases are retrieved.
#[derive(Clone, Debug)]
pub struct PreflightPlacement {
    /// Namespace of the operator.
    pub namespace: String,
    /// Node of the operator.
    pub node: String,
    /// OCI layout directories that are searched before registries.
    pub layouts: Vec<PathBuf>,
    /// Selection of the manifests that this cluster gets.
    pub selection: SelectionSettings,
}

/// Cluster state that manifests depend on.
#[derive(Clone)]
pub(super) struct ManifestContext {
    pub(super) features: Features,
    pub(super) cluster: cluster::InjectedConfig,
}

/// Consistent snapshot of the inputs.
pub(super) struct View {
    pub(super) generation: i64,
    pub(super) cluster_version: Arc<ClusterVersion>,
    pub(super) ways: FetchConfig,
    /// Cluster state that manifests depend on, once all of it is known.
    pub(super) surroundings: Option<ManifestContext>,
    /// `ClusterRoles` that are aggregated into the read permissions of preflights, once they are
    /// known.
    pub(super) reader_roles: Option<[Objects<ClusterRole>; 2]>,
    /// Releases of the update service, if they were retrieved for this generation of the spec.
    pub(super) updates: Option<Arc<Updates>>,
}

impl View {
    /// Whether an annotation requests that results are stored after the request is withdrawn.
    pub(super) fn keeps_results(&self) -> bool {
        let annotations = self.cluster_version.metadata.annotations.as_ref();
        let value = annotations.and_then(|annotations| annotations.get(KEEP_RESULTS));
        value.is_some_and(|value| value == "true")
    }

    /// Annotation with the consent that checks read Secrets.
    pub(super) fn consent(&self) -> Option<&str> {
        let annotations = self.cluster_version.metadata.annotations.as_ref();
        annotations?.get(consent::ANNOTATION).map(String::as_str)
    }

    /// Whether the update service offers a release to this cluster.
    pub(super) fn offers(&self, image: &str) -> bool {
        let offered = self.updates.iter().flat_map(|updates| updates.candidates.iter());
        offered.into_iter().any(|candidate| same_content(&candidate.release.image, image))
    }
}

impl Inputs {
    /// Subscribes to the watches.
    pub fn new(
        sight: &ClusterWatches,
        own: &Arc<OwnRelease>,
        own_content: &Arc<fairway_release::Release>,
        updates: watch::Receiver<Option<Arc<Updates>>>,
    ) -> Self {
        Self {
            own: Arc::clone(own),
            own_content: Arc::clone(own_content),
            cluster_version: sight.cluster_version.clone(),
            proxy: sight.proxy.clone(),
            trusted_ca: sight.trusted_ca.clone(),
            features: sight.features.clone(),
            surroundings: sight.surroundings.clone(),
            reader_roles: sight.reader_roles.clone(),
            updates,
        }
    }

    /// Takes a snapshot; `None` before the inputs of release retrieval are known.
    pub(super) fn snapshot(&mut self) -> Option<View> {
        let asked =
            FetchInputs::read(&mut self.cluster_version, &mut self.proxy, &mut self.trusted_ca);
        let features = self.features.borrow_and_update().clone();
        let surroundings = self.surroundings.borrow_and_update().clone();
        let reader_roles = self.reader_roles.look();
        let updates = self.updates.borrow_and_update().clone();
        let FetchInputs { generation, cluster_version, ways } = asked?;
        Some(View {
            generation,
            ways,
            cluster_version,
            surroundings: features
                .zip(surroundings)
                .map(|(features, cluster)| ManifestContext { features, cluster }),
            reader_roles,
            updates: updates.filter(|updates| updates.generation == generation),
        })
    }

    /// Waits for a change; `false` after a sender is gone, which happens at shutdown.
    pub(super) async fn changed(&mut self) -> bool {
        tokio::select! {
            changed = self.cluster_version.changed() => changed.is_ok(),
            changed = self.proxy.changed() => changed.is_ok(),
            changed = self.trusted_ca.changed() => changed.is_ok(),
            changed = self.features.changed() => changed.is_ok(),
            changed = self.surroundings.changed() => changed.is_ok(),
            open = self.reader_roles.changed() => open,
            changed = self.updates.changed() => changed.is_ok(),
        }
    }
}
