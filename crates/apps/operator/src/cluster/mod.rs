//! What the operator sees of the cluster, by watching.
//!
//! A stage that needs an object has its latest state at hand and never asks for it: an idle
//! operator sends no request but its lease.

mod features;
mod follow;
mod optional;
mod preflight;
mod proxy;
mod reader_roles;
mod surroundings;
mod tls_profile;

pub use fairway_release::inclusion::Features;
pub use follow::Objects;
pub(crate) use preflight::PreflightSight;
pub use reader_roles::ReaderRoles;
pub use surroundings::Surroundings;
pub use tls_profile::TlsProfile;

use std::sync::Arc;

use fairway_api::{CLUSTER_VERSION_NAME, ClusterOperator, ClusterVersion};
use fairway_cincinnati::route::ProxySettings;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use follow::Following;

/// Every `ConfigMap` that the operator reads: its namespace and name.
mod config_map {
    /// The authorities to trust when the update service is asked.
    pub(super) const TRUSTED_CA: (&str, &str) = ("openshift-config-managed", "trusted-ca-bundle");
    /// What a release wants administrators to confirm.
    pub(super) const ADMIN_GATES: (&str, &str) = ("openshift-config-managed", "admin-gates");
    /// What administrators confirmed.
    pub(super) const ADMIN_ACKS: (&str, &str) = ("openshift-config", "admin-acks");
    /// What installed the cluster.
    pub(super) const INSTALL: (&str, &str) = ("openshift-config", "openshift-install");
}

/// The latest state of everything that is watched. `None` is what was not seen yet.
#[derive(Clone)]
pub struct Sight {
    /// The ClusterVersion.
    pub cluster_version: watch::Receiver<Option<Objects<ClusterVersion>>>,
    /// All ClusterOperators.
    pub cluster_operators: watch::Receiver<Option<Objects<ClusterOperator>>>,
    /// The way to the outside, on platforms that have a Proxy.
    pub proxy: watch::Receiver<Option<ProxySettings>>,
    /// What manifests of a release can ask for.
    pub surroundings: watch::Receiver<Option<Surroundings>>,
    /// The features, on platforms that have a `FeatureGate`.
    pub features: watch::Receiver<Option<Features>>,
    /// The authorities to trust.
    pub trusted_ca: watch::Receiver<Option<Objects<ConfigMap>>>,
    /// What a release wants administrators to confirm.
    pub admin_gates: watch::Receiver<Option<Objects<ConfigMap>>>,
    /// What administrators confirmed.
    pub admin_acks: watch::Receiver<Option<Objects<ConfigMap>>>,
    /// What installed the cluster.
    pub install: watch::Receiver<Option<Objects<ConfigMap>>>,
    /// What releases may read that are asked about the cluster, beside what Fairway lets them read.
    pub reader_roles: ReaderRoles,
}

impl Sight {
    /// Starts watching. It goes on until the tasks are aborted.
    pub fn open(client: &Client, tasks: &TaskTracker) -> Self {
        let follow = Following::new(tasks.clone());
        let named =
            |name: &str| watcher::Config::default().fields(&format!("metadata.name={name}"));
        let config_map = |(namespace, name): (&str, &str)| {
            follow.objects(Api::<ConfigMap>::namespaced(client.clone(), namespace), named(name))
        };
        let proxy = proxy::follow(client, &follow);
        Self {
            cluster_version: follow.objects(Api::all(client.clone()), named(CLUSTER_VERSION_NAME)),
            cluster_operators: follow.objects(Api::all(client.clone()), watcher::Config::default()),
            surroundings: surroundings::follow(client, &follow, proxy.clone()),
            proxy,
            features: features::follow(client, &follow),
            trusted_ca: config_map(config_map::TRUSTED_CA),
            admin_gates: config_map(config_map::ADMIN_GATES),
            admin_acks: config_map(config_map::ADMIN_ACKS),
            install: config_map(config_map::INSTALL),
            reader_roles: reader_roles::follow(client, &follow),
        }
    }
}

/// The one object that a watch for a name sees.
pub fn only<K>(seen: Option<&Objects<K>>) -> Option<&Arc<K>> {
    seen.and_then(|objects| objects.values().next())
}
