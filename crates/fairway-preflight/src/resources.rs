//! The kinds of objects that several checks look at.

use crate::cluster::Resource;

/// How many pods may go at once.
pub(crate) const BUDGETS: Resource = Resource {
    group: "policy",
    version: "v1",
    kind: "PodDisruptionBudget",
    plural: "poddisruptionbudgets",
    object: None,
};

/// Machines.
pub(crate) const NODES: Resource =
    Resource { group: "", version: "v1", kind: "Node", plural: "nodes", object: None };

/// What runs on them.
pub(crate) const PODS: Resource =
    Resource { group: "", version: "v1", kind: "Pod", plural: "pods", object: None };

/// What components of the platform say about themselves.
pub(crate) const CLUSTER_OPERATORS: Resource = Resource {
    group: "config.openshift.io",
    version: "v1",
    kind: "ClusterOperator",
    plural: "clusteroperators",
    object: None,
};

/// Nodes that are configured alike.
pub(crate) const MACHINE_CONFIG_POOLS: Resource = Resource {
    group: "machineconfiguration.openshift.io",
    version: "v1",
    kind: "MachineConfigPool",
    plural: "machineconfigpools",
    object: None,
};
