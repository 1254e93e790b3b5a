//! Capabilities of the platform and the capability sets of `spec.capabilities` (openshift/api,
//! `config/v1/types_cluster_version.go`).

use std::collections::BTreeSet;

/// Default capability set: all capabilities.
pub const CURRENT: &str = "vCurrent";

/// A capability: an optional part of the platform.
struct Capability {
    name: &'static str,
    /// The first numbered set that contains it; `None` if only `vCurrent` does.
    since: Option<(u64, u64)>,
    /// Feature gates of which one must be enabled; none is required if empty.
    gates: &'static [&'static str],
}

const fn since(minor: u64, name: &'static str) -> Capability {
    Capability { name, since: Some((4, minor)), gates: &[] }
}

const fn gated(name: &'static str, gates: &'static [&'static str]) -> Capability {
    Capability { name, since: None, gates }
}

const CAPABILITIES: [Capability; 19] = [
    since(11, "MachineAPI"),
    since(11, "baremetal"),
    since(11, "marketplace"),
    since(11, "openshift-samples"),
    since(12, "CSISnapshot"),
    since(12, "Console"),
    since(12, "Insights"),
    since(12, "Storage"),
    since(13, "NodeTuning"),
    since(14, "Build"),
    since(14, "DeploymentConfig"),
    since(14, "ImageRegistry"),
    since(15, "CloudCredential"),
    since(15, "OperatorLifecycleManager"),
    since(16, "CloudControllerManager"),
    since(16, "Ingress"),
    since(18, "OperatorLifecycleManagerV1"),
    gated("ClusterAPI", &["ClusterAPIMachineManagement"]),
    gated(
        "CompatibilityRequirements",
        &["CRDCompatibilityRequirementOperator", "ClusterAPIMachineManagement"],
    ),
];

/// All known capabilities of a cluster with these feature gates.
pub fn known(gates: &BTreeSet<String>) -> BTreeSet<String> {
    let is_there = |capability: &&Capability| {
        let needed = capability.gates;
        needed.is_empty() || needed.iter().any(|gate| gates.contains(*gate))
    };
    CAPABILITIES.iter().filter(is_there).map(|capability| capability.name.to_owned()).collect()
}

/// The capabilities of a set: `None`, `v4.18` and the like, or `vCurrent`. A set that is newer than
/// this table has all numbered ones; an unknown name has none.
pub fn members(set: &str) -> BTreeSet<String> {
    let number = number(set);
    let is_member = |capability: &&Capability| {
        set == CURRENT || capability.since.is_some_and(|since| number.is_some_and(|n| since <= n))
    };
    CAPABILITIES.iter().filter(is_member).map(|capability| capability.name.to_owned()).collect()
}

fn number(set: &str) -> Option<(u64, u64)> {
    let (major, minor) = set.strip_prefix('v')?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_later_sets_include_more() {
        let sizes = [
            ("None", 0),
            ("v4.10", 0),
            ("v4.11", 4),
            ("v4.12", 8),
            ("v4.13", 9),
            ("v4.14", 12),
            ("v4.15", 14),
            ("v4.16", 16),
            ("v4.17", 16),
            ("v4.18", 17),
            ("v5.2", 17),
            ("vCurrent", 19),
            ("v", 0),
            ("4.18", 0),
            ("", 0),
        ];
        for (set, size) in sizes {
            assert_eq!(members(set).len(), size, "{set:?}");
        }
        assert!(members("v4.12").contains("Console") && !members("v4.11").contains("Console"));
    }

    #[test]
    fn known_without_gate_omits_capability() {
        let with = |gate: &str| known(&BTreeSet::from([gate.to_owned()]));
        assert_eq!(known(&BTreeSet::new()).len(), 17);
        assert_eq!(with("Other").len(), 17);
        assert_eq!(with("CRDCompatibilityRequirementOperator").len(), 18);
        assert_eq!(with("ClusterAPIMachineManagement").len(), 19);
    }
}
