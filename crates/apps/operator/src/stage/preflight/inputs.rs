//! What the stage looks at.

use std::path::PathBuf;
use std::sync::Arc;

use fairway_api::ClusterVersion;
use fairway_cincinnati::route::ProxySettings;
use fairway_findings::record::KEEP_RESULTS;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::ClusterRole;
use tokio::sync::watch;

use crate::cluster::{self, Features, Objects, ReaderRoles, Sight};
use crate::own_release::OwnRelease;
use crate::retrieval::{Asked, Ways};
use crate::settings::SelectionSettings;
use crate::stage::updates::{Updates, same_content};

/// What is looked at, each as its latest.
pub struct Inputs {
    /// The release of the operator.
    pub own: Arc<OwnRelease>,
    /// All that it brings: it says whose signatures count.
    pub own_content: Arc<fairway_release::Release>,
    /// What the administrator asks for.
    pub cluster_version: watch::Receiver<Option<Objects<ClusterVersion>>>,
    /// The way to the outside.
    pub proxy: watch::Receiver<Option<ProxySettings>>,
    /// The authorities to trust.
    pub trusted_ca: watch::Receiver<Option<Objects<ConfigMap>>>,
    /// Which features the cluster has.
    pub features: watch::Receiver<Option<Features>>,
    /// What manifests can ask for.
    pub surroundings: watch::Receiver<Option<cluster::Surroundings>>,
    /// What a platform lets preflights read.
    pub reader_roles: ReaderRoles,
    /// Which releases there are.
    pub updates: watch::Receiver<Option<Arc<Updates>>>,
}

/// Where a preflight has to be, and how its release is read.
#[derive(Clone, Debug)]
pub struct Place {
    /// The namespace of the operator.
    pub namespace: String,
    /// The node of the operator.
    pub node: String,
    /// OCI layout directories in which images are looked for before registries are asked.
    pub layouts: Vec<PathBuf>,
    /// Which manifests this cluster gets.
    pub selection: SelectionSettings,
}

/// What decides about manifests.
#[derive(Clone)]
pub(super) struct Surroundings {
    pub(super) features: Features,
    pub(super) cluster: cluster::Surroundings,
}

/// One look at everything.
pub(super) struct View {
    pub(super) generation: i64,
    pub(super) cluster_version: Arc<ClusterVersion>,
    pub(super) ways: Ways,
    /// What decides about manifests, once all of it was seen.
    pub(super) surroundings: Option<Surroundings>,
    /// What a platform lets preflights read, once it was seen.
    pub(super) reader_roles: Option<[Objects<ClusterRole>; 2]>,
    /// Which releases there are, if that is about this very spec.
    pub(super) updates: Option<Arc<Updates>>,
}

impl View {
    /// Whether somebody wants to keep what was found.
    pub(super) fn keeps_results(&self) -> bool {
        let annotations = self.cluster_version.metadata.annotations.as_ref();
        let value = annotations.and_then(|annotations| annotations.get(KEEP_RESULTS));
        value.is_some_and(|value| value == "true")
    }

    /// Whether the update service offers that release to this cluster.
    pub(super) fn offers(&self, image: &str) -> bool {
        let offered = self.updates.iter().flat_map(|updates| updates.candidates.iter());
        offered.into_iter().any(|candidate| same_content(&candidate.release.image, image))
    }
}

impl Inputs {
    /// Looks at what is watched, for an operator of that release.
    pub fn new(
        sight: &Sight,
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

    /// Everything that there is to see; nothing before the ways to releases are known.
    pub(super) fn look(&mut self) -> Option<View> {
        let asked = Asked::look(&mut self.cluster_version, &mut self.proxy, &mut self.trusted_ca);
        let features = self.features.borrow_and_update().clone();
        let surroundings = self.surroundings.borrow_and_update().clone();
        let reader_roles = self.reader_roles.look();
        let updates = self.updates.borrow_and_update().clone();
        let Asked { generation, cluster_version, ways } = asked?;
        Some(View {
            generation,
            ways,
            cluster_version,
            surroundings: features
                .zip(surroundings)
                .map(|(features, cluster)| Surroundings { features, cluster }),
            reader_roles,
            updates: updates.filter(|updates| updates.generation == generation),
        })
    }

    /// Waits for something new; `false` when there is nobody left to say something.
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
