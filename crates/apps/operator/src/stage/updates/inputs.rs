//! What the stage looks at.

use std::sync::Arc;

use fairway_api::ClusterVersion;
use fairway_cincinnati::question::{self, Current, Question, Refusal, Services};
use fairway_cincinnati::route::{ProxySettings, Route};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::sync::watch;

use crate::cluster::{Objects, Sight, only};

/// The key of the authorities in their ConfigMap.
const BUNDLE: &str = "ca-bundle.crt";

/// What the stage looks at.
pub struct Inputs {
    /// The release that the operator runs.
    pub current: Arc<Current>,
    /// What the administrator asks for.
    pub cluster_version: watch::Receiver<Option<Objects<ClusterVersion>>>,
    /// The way to the outside.
    pub proxy: watch::Receiver<Option<ProxySettings>>,
    /// The authorities to trust.
    pub trusted_ca: watch::Receiver<Option<Objects<ConfigMap>>>,
}

/// What there is to do, as of one look at the ClusterVersion.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) cluster_version: Arc<ClusterVersion>,
    pub(super) question: Result<Question, Refusal>,
    pub(super) route: Route,
}

impl Task {
    pub(super) fn generation(&self) -> i64 {
        self.cluster_version.metadata.generation.unwrap_or_default()
    }
}

impl Inputs {
    /// Looks at what is watched.
    pub fn new(sight: &Sight, current: Arc<Current>) -> Self {
        Self {
            current,
            cluster_version: sight.cluster_version.clone(),
            proxy: sight.proxy.clone(),
            trusted_ca: sight.trusted_ca.clone(),
        }
    }

    /// What there is to do now; nothing before all of it was seen. Asking without the proxy or
    /// the authorities that a cluster has would only fail.
    pub(super) fn task(&mut self, services: &Services) -> Option<Task> {
        let seen = self.cluster_version.borrow_and_update().clone();
        let proxy = self.proxy.borrow_and_update().clone()?;
        let trusted = self.trusted_ca.borrow_and_update().clone()?;
        let cluster_version = only(seen.as_ref())?;
        Some(Task {
            cluster_version: Arc::clone(cluster_version),
            question: question::ask(&cluster_version.spec, &self.current, services),
            route: Route { proxy, authorities: bundle(&trusted) },
        })
    }

    /// Waits until something changes; `false` when nothing will any more.
    pub(super) async fn changed(&mut self) -> bool {
        tokio::select! {
            changed = self.cluster_version.changed() => changed.is_ok(),
            changed = self.proxy.changed() => changed.is_ok(),
            changed = self.trusted_ca.changed() => changed.is_ok(),
        }
    }
}

/// The authorities to trust, as PEM; nothing where the platform names none.
pub(crate) fn bundle(trusted: &Objects<ConfigMap>) -> String {
    let data = only(Some(trusted)).and_then(|map| map.data.as_ref());
    data.and_then(|data| data.get(BUNDLE)).cloned().unwrap_or_default()
}
