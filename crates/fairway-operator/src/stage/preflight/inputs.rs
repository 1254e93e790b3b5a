//! What the stage looks at.

use std::path::PathBuf;
use std::sync::Arc;

use fairway_api::ClusterVersion;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::sync::watch;

use crate::cluster::{Objects, ProxySettings, only};
use crate::own_release::OwnRelease;
use crate::retrieval::Ways;
use crate::stage::updates::{Updates, bundle};

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
    /// The profile of the cluster.
    pub profile: String,
}

/// One look at everything.
pub(super) struct View {
    pub(super) generation: i64,
    pub(super) cluster_version: Arc<ClusterVersion>,
    pub(super) ways: Ways,
    /// Which releases there are, if that is about this very spec.
    pub(super) updates: Option<Arc<Updates>>,
}

impl Inputs {
    /// Everything that there is to see; nothing before the ways to releases are known.
    pub(super) fn look(&mut self) -> Option<View> {
        let seen = self.cluster_version.borrow_and_update().clone();
        let proxy = self.proxy.borrow_and_update().clone();
        let trusted = self.trusted_ca.borrow_and_update().clone();
        let updates = self.updates.borrow_and_update().clone();
        let cluster_version = Arc::clone(only(seen.as_ref())?);
        let generation = cluster_version.metadata.generation.unwrap_or_default();
        Some(View {
            generation,
            ways: Ways {
                proxy: proxy?,
                authorities: bundle(&trusted?),
                stores: cluster_version.spec.signature_stores.clone(),
            },
            cluster_version,
            updates: updates.filter(|updates| updates.generation == generation),
        })
    }

    /// Waits for something new; `false` when there is nobody left to say something.
    pub(super) async fn changed(&mut self) -> bool {
        tokio::select! {
            changed = self.cluster_version.changed() => changed.is_ok(),
            changed = self.proxy.changed() => changed.is_ok(),
            changed = self.trusted_ca.changed() => changed.is_ok(),
            changed = self.updates.changed() => changed.is_ok(),
        }
    }
}
