//! Kinds of objects, and selections of objects.

use std::fmt::Write as _;

/// Kind of objects in the API.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// API group, empty for the core group.
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    /// Kind name.
    pub(crate) name: &'static str,
    /// Resource name in URLs.
    pub(crate) plural: &'static str,
}

impl Kind {
    const fn new(
        group: &'static str,
        version: &'static str,
        name: &'static str,
        plural: &'static str,
    ) -> Self {
        Self { group, version, name, plural }
    }

    /// All objects of the kind, in all namespaces.
    pub(crate) const fn all(&self) -> Selection<'_> {
        Selection { kind: self, namespace: None, label: None, metadata_only: false }
    }
}

pub(crate) const CLUSTER_OPERATORS: Kind =
    Kind::new("config.openshift.io", "v1", "ClusterOperator", "clusteroperators");
pub(crate) const CLUSTER_SERVICE_VERSIONS: Kind = Kind::new(
    "operators.coreos.com",
    "v1alpha1",
    "ClusterServiceVersion",
    "clusterserviceversions",
);
pub(crate) const CLUSTER_VERSIONS: Kind =
    Kind::new("config.openshift.io", "v1", "ClusterVersion", "clusterversions");
pub(crate) const CONFIG_MAPS: Kind = Kind::new("", "v1", "ConfigMap", "configmaps");
pub(crate) const DEPLOYMENTS: Kind = Kind::new("apps", "v1", "Deployment", "deployments");
pub(crate) const MACHINE_CONFIGS: Kind =
    Kind::new("machineconfiguration.openshift.io", "v1", "MachineConfig", "machineconfigs");
pub(crate) const MACHINE_CONFIG_POOLS: Kind =
    Kind::new("machineconfiguration.openshift.io", "v1", "MachineConfigPool", "machineconfigpools");
pub(crate) const NODES: Kind = Kind::new("", "v1", "Node", "nodes");
pub(crate) const PACKAGE_MANIFESTS: Kind =
    Kind::new("packages.operators.coreos.com", "v1", "PackageManifest", "packagemanifests");
pub(crate) const SUBSCRIPTIONS: Kind =
    Kind::new("operators.coreos.com", "v1alpha1", "Subscription", "subscriptions");

/// Selection of objects of a kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Selection<'a> {
    pub(crate) kind: &'a Kind,
    pub(crate) namespace: Option<&'a str>,
    /// Label and its value.
    pub(crate) label: Option<(&'a str, &'a str)>,
    /// Whether only metadata is read.
    pub(crate) metadata_only: bool,
}

impl<'a> Selection<'a> {
    /// Objects in a namespace.
    pub(crate) const fn within(self, namespace: &'a str) -> Self {
        Self { namespace: Some(namespace), ..self }
    }

    /// Objects with a label.
    pub(crate) const fn labelled(self, key: &'a str, value: &'a str) -> Self {
        Self { label: Some((key, value)), ..self }
    }

    /// Only the metadata of objects.
    pub(crate) const fn metadata(self) -> Self {
        Self { metadata_only: true, ..self }
    }

    /// URL path of the list.
    pub(crate) fn path(&self) -> String {
        let Kind { group, version, plural, .. } = self.kind;
        let mut path = match *group {
            "" => format!("/api/{version}"),
            group => format!("/apis/{group}/{version}"),
        };
        if let Some(namespace) = self.namespace {
            let _ = write!(path, "/namespaces/{namespace}");
        }
        let _ = write!(path, "/{plural}");
        path
    }
}
