//! Kinds of objects that are created for checks, and removed with them.

use serde_json::Value;

const RBAC: &str = "rbac.authorization.k8s.io";

/// A kind of object that is created for checks, in version `v1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckObjectKind {
    /// API group.
    pub group: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Resource name in paths.
    pub plural: &'static str,
    /// Whether all of its objects are in the namespace of checks.
    pub in_check_namespace: bool,
}

impl CheckObjectKind {
    const fn new(
        group: &'static str,
        kind: &'static str,
        plural: &'static str,
        in_check_namespace: bool,
    ) -> Self {
        Self { group, kind, plural, in_check_namespace }
    }

    /// Kind of an object; `None` if checks have no objects of that kind.
    pub fn of_object(object: &Value) -> Option<&'static Self> {
        KINDS.iter().find(|kind| object["kind"] == kind.kind)
    }
}

/// All kinds in the order of removal: Jobs first, then their permissions.
pub const KINDS: [CheckObjectKind; 8] = [
    CheckObjectKind::new("batch", "Job", "jobs", true),
    CheckObjectKind::new(RBAC, "ClusterRoleBinding", "clusterrolebindings", false),
    CheckObjectKind::new(RBAC, "RoleBinding", "rolebindings", false),
    CheckObjectKind::new(RBAC, "ClusterRole", "clusterroles", false),
    CheckObjectKind::new(RBAC, "Role", "roles", false),
    CheckObjectKind::new("", "ServiceAccount", "serviceaccounts", true),
    CheckObjectKind::new("", "Secret", "secrets", true),
    CheckObjectKind::new("networking.k8s.io", "NetworkPolicy", "networkpolicies", true),
];

/// Pods, which Jobs create and the garbage collector removes.
pub const PODS: CheckObjectKind = CheckObjectKind::new("", "Pod", "pods", true);
