//! What exists for a check: whoever creates it also removes it.

use serde_json::Value;

const RBAC: &str = "rbac.authorization.k8s.io";

/// A kind of object that exists for checks, all in version `v1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The API group.
    pub group: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// What it is called in paths.
    pub plural: &'static str,
    /// Whether all of them are in the namespace of checks.
    pub of_checks_alone: bool,
}

impl Kind {
    const fn new(
        group: &'static str,
        kind: &'static str,
        plural: &'static str,
        of_checks_alone: bool,
    ) -> Self {
        Self { group, kind, plural, of_checks_alone }
    }

    /// The kind of an object; nothing if no such object exists for a check.
    pub fn of(object: &Value) -> Option<&'static Self> {
        KINDS.iter().find(|kind| object["kind"] == kind.kind)
    }
}

/// All of them, in the order in which they are removed: Jobs go first, and what they may read when
/// nobody reads any more.
pub const KINDS: [Kind; 7] = [
    Kind::new("batch", "Job", "jobs", true),
    Kind::new(RBAC, "ClusterRoleBinding", "clusterrolebindings", false),
    Kind::new(RBAC, "RoleBinding", "rolebindings", false),
    Kind::new(RBAC, "ClusterRole", "clusterroles", false),
    Kind::new(RBAC, "Role", "roles", false),
    Kind::new("", "ServiceAccount", "serviceaccounts", true),
    Kind::new("", "Secret", "secrets", true),
];

/// What Jobs make, and what goes with them.
pub const PODS: Kind = Kind::new("", "Pod", "pods", true);
