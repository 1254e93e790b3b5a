//! The optional parts of the platform that have a name, and the sets that a spec begins with.

use std::collections::BTreeSet;

/// The set of clusters that name none: everything that there is.
pub const CURRENT: &str = "vCurrent";

/// An optional part of the platform.
struct Capability {
    name: &'static str,
    /// The first numbered set that has it; `None` where only the current one does.
    since: Option<(u64, u64)>,
    /// Feature gates of which one has to be enabled; where there are none, nothing has to.
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

/// All capabilities of a cluster with these feature gates.
pub fn known(gates: &BTreeSet<String>) -> BTreeSet<String> {
    let is_there = |capability: &&Capability| {
        let needed = capability.gates;
        needed.is_empty() || needed.iter().any(|gate| gates.contains(*gate))
    };
    CAPABILITIES.iter().filter(is_there).map(|capability| capability.name.to_owned()).collect()
}

/// The capabilities of a set: `None`, `v4.18` and the like, or `vCurrent`. A set that is newer than
/// this table has all of its numbered ones; a name that is none of a set has nothing.
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
    fn later_sets_have_more() {
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
    fn what_a_gate_hides_is_not_known() {
        let with = |gate: &str| known(&BTreeSet::from([gate.to_owned()]));
        assert_eq!(known(&BTreeSet::new()).len(), 17);
        assert_eq!(with("Other").len(), 17);
        assert_eq!(with("CRDCompatibilityRequirementOperator").len(), 18);
        assert_eq!(with("ClusterAPIMachineManagement").len(), 19);
    }
}
