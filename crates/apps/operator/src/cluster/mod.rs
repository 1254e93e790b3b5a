//! Watches of the objects that the operator reads.
//!
//! [`ClusterWatches`] has a receiver for each of them. Stages read the latest state from memory and
//! send no GET or LIST: the only request of an idle operator is the renewal of its Lease.
//!
//! | module | content |
//! | --- | --- |
//! | `reflector` | list and watch of a kind, and publication of its objects |
//! | `platform_config` | Proxy, `FeatureGate`, `APIServer` and Infrastructure of the platform |
//! | `preflight` | watches of a preflight run |

mod platform_config;
mod preflight;
mod reflector;

pub use fairway_http::TlsProfile;
pub use fairway_release::inclusion::Features;
pub use platform_config::InjectedConfig;
pub(crate) use preflight::PreflightWatches;
pub use reflector::Objects;

use std::sync::Arc;

use fairway_api::{CLUSTER_VERSION_NAME, ClusterOperator, ClusterVersion};
use fairway_cincinnati::connection::ProxySettings;
use fairway_findings::labels::AGGREGATE;
use fairway_watch::{StaleWatches, WatchMonitors};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::runtime::watcher;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::sync::any_changed;
use reflector::Reflectors;

/// Namespace and name of every `ConfigMap` that the operator reads.
mod config_map {
    /// CA bundle for the update service and registries.
    pub(super) const TRUSTED_CA: (&str, &str) = ("openshift-config-managed", "trusted-ca-bundle");
    /// Admin gates of the running release.
    pub(super) const ADMIN_GATES: (&str, &str) = ("openshift-config-managed", "admin-gates");
    /// Admin acks.
    pub(super) const ADMIN_ACKS: (&str, &str) = ("openshift-config", "admin-acks");
    /// Installer and its version.
    pub(super) const INSTALL: (&str, &str) = ("openshift-config", "openshift-install");
}

/// Names of the watches that gates depend on, in messages and metrics.
pub(crate) mod watch_name {
    pub(crate) const CLUSTER_VERSION: &str = "clusterversions/version";
    pub(crate) const CLUSTER_OPERATORS: &str = "clusteroperators";
    pub(crate) const ADMIN_GATES: &str = "configmaps/openshift-config-managed/admin-gates";
    pub(crate) const ADMIN_ACKS: &str = "configmaps/openshift-config/admin-acks";
}

/// Receivers with the latest state of all watched objects; `None` until the first list is complete.
/// Clones share the watches.
#[derive(Clone)]
pub struct ClusterWatches {
    /// The ClusterVersion.
    pub cluster_version: watch::Receiver<Option<Objects<ClusterVersion>>>,
    /// All ClusterOperators.
    pub cluster_operators: watch::Receiver<Option<Objects<ClusterOperator>>>,
    /// Proxy settings of `Proxy/cluster`; default if the platform has no such kind.
    pub proxy: watch::Receiver<Option<ProxySettings>>,
    /// Configuration that the operator injects into manifests.
    pub surroundings: watch::Receiver<Option<InjectedConfig>>,
    /// Features of `FeatureGate/cluster`; default if the platform has no such kind.
    pub features: watch::Receiver<Option<Features>>,
    /// CA bundle of the platform.
    pub trusted_ca: watch::Receiver<Option<Objects<ConfigMap>>>,
    /// Admin gates.
    pub admin_gates: watch::Receiver<Option<Objects<ConfigMap>>>,
    /// Admin acks.
    pub admin_acks: watch::Receiver<Option<Objects<ConfigMap>>>,
    /// Installer and its version.
    pub install: watch::Receiver<Option<Objects<ConfigMap>>>,
    /// Cluster roles that a platform adds to the permissions of preflight checks.
    pub reader_roles: ReaderRoles,
    /// Stale watches.
    pub stale: watch::Receiver<StaleWatches>,
    /// Monitors of all watches.
    pub monitors: WatchMonitors,
}

impl ClusterWatches {
    /// Starts all watches as tasks. Each ends when its last receiver is dropped. `monitors` publishes
    /// the stale ones while it runs.
    pub fn open(client: &Client, tasks: &TaskTracker, monitors: &WatchMonitors) -> Self {
        let reflectors = Reflectors::new(client.clone(), tasks.clone(), monitors.clone());
        let named =
            |name: &str| watcher::Config::default().fields(&format!("metadata.name={name}"));
        let config_map = |(namespace, name): (&str, &str)| {
            let api = |client| Api::<ConfigMap>::namespaced(client, namespace);
            reflectors.objects(&format!("configmaps/{namespace}/{name}"), api, named(name))
        };
        let proxy = platform_config::watch_proxy(&reflectors);
        Self {
            cluster_version: reflectors.objects(
                watch_name::CLUSTER_VERSION,
                Api::all,
                named(CLUSTER_VERSION_NAME),
            ),
            cluster_operators: reflectors.objects(
                watch_name::CLUSTER_OPERATORS,
                Api::all,
                watcher::Config::default(),
            ),
            surroundings: platform_config::watch_injected_config(&reflectors, proxy.clone()),
            proxy,
            features: platform_config::watch_features(&reflectors),
            trusted_ca: config_map(config_map::TRUSTED_CA),
            admin_gates: config_map(config_map::ADMIN_GATES),
            admin_acks: config_map(config_map::ADMIN_ACKS),
            install: config_map(config_map::INSTALL),
            reader_roles: ReaderRoles::watch(&reflectors),
            stale: monitors.stale(),
            monitors: monitors.clone(),
        }
    }
}

/// The only object of a watch that selects by name.
pub fn only<K>(seen: Option<&Objects<K>>) -> Option<&Arc<K>> {
    seen.and_then(|objects| objects.values().next())
}

/// The aggregated cluster role.
const AGGREGATED_ROLE: &str = "preflight-reader-of-the-platform";

/// Watches of the cluster roles that a platform adds, and of the role that aggregates them.
#[derive(Clone)]
pub struct ReaderRoles {
    added: watch::Receiver<Option<Objects<ClusterRole>>>,
    aggregated: watch::Receiver<Option<Objects<ClusterRole>>>,
}

impl ReaderRoles {
    fn watch(reflectors: &Reflectors) -> Self {
        let added = watcher::Config::default().labels(&format!("{AGGREGATE}=true"));
        let aggregated = format!("metadata.name={AGGREGATED_ROLE}");
        let aggregated = watcher::Config::default().fields(&aggregated);
        let roles = |name: &str, config| {
            reflectors.objects(&format!("clusterroles/{name}"), Api::<ClusterRole>::all, config)
        };
        Self { added: roles(AGGREGATE, added), aggregated: roles(AGGREGATED_ROLE, aggregated) }
    }

    /// The added roles and the aggregated role; `None` until both watches have synced.
    pub(crate) fn look(&mut self) -> Option<[Objects<ClusterRole>; 2]> {
        let added = self.added.borrow_and_update().clone();
        let aggregated = self.aggregated.borrow_and_update().clone();
        added.zip(aggregated).map(Into::into)
    }

    /// Waits for a change; `false` if the watches have ended.
    pub(crate) async fn changed(&mut self) -> bool {
        any_changed!(self.added, self.aggregated)
    }
}
