//! The kinds of objects that several checks look at.

use crate::cluster::Resource;

/// How many pods may go at once.
pub(crate) const BUDGETS: Resource =
    Resource::new("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets");

/// Machines.
pub(crate) const NODES: Resource = Resource::new("", "v1", "Node", "nodes");

/// What runs on them.
pub(crate) const PODS: Resource = Resource::new("", "v1", "Pod", "pods");

/// What components of the platform say about themselves.
pub(crate) const CLUSTER_OPERATORS: Resource =
    Resource::new("config.openshift.io", "v1", "ClusterOperator", "clusteroperators");

/// Nodes that are configured alike.
pub(crate) const MACHINE_CONFIG_POOLS: Resource = Resource::new(
    "machineconfiguration.openshift.io",
    "v1",
    "MachineConfigPool",
    "machineconfigpools",
);
