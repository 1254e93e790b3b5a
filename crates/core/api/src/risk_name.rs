//! Names of risks. A name identifies a risk in all of its sources, so an acceptance by name covers
//! every source that uses the name.

use std::borrow::Cow;

/// Prefixes of risks that only a cluster reports: admin gates, ClusterOperators, risk reports,
/// preflights, the OLM guard, and replacements of invalid risks.
const RESERVED_PREFIXES: [&str; 7] = [
    "AdminAck",
    "ClusterOperatorUpgradeable",
    "InvalidRisk-",
    "OperatorApisMissing-",
    "OperatorWillNotRun-",
    "Preflight",
    "RiskReport-",
];

/// Other names of risks that only a cluster reports.
const RESERVED_NAMES: [&str; 7] = [
    "ClusterVersionOverrides",
    "ClusterVersionUpdating",
    "MoreAlerts",
    "NotOfferedByUpdateService",
    "ResourceDeletionInProgress",
    "RisksNotLookedAt",
    "UpgradeableFalse",
];

/// Prefix for reserved names in an update graph.
const GRAPH_PREFIX: &str = "GraphRisk-";

/// Whether an update graph must not use a name, because a cluster reports risks with it.
pub fn is_reserved(name: &str) -> bool {
    RESERVED_NAMES.contains(&name) || RESERVED_PREFIXES.iter().any(|it| name.starts_with(it))
}

/// The name of a graph's risk in a cluster. A reserved name gets a prefix: otherwise an acceptance of
/// the graph's risk would accept an admin gate or a ClusterOperator, too.
pub fn of_graph(name: &str) -> Cow<'_, str> {
    if is_reserved(name) { format!("{GRAPH_PREFIX}{name}").into() } else { name.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_graph_renames_reserved_names() {
        for name in [
            "AdminAck-ack-5.1-apis",
            "AdminAckUnknown",
            "ClusterOperatorUpgradeable-dns",
            "ClusterOperatorUpgradeableUnknown",
            "ClusterVersionUpdating",
            "NotOfferedByUpdateService",
            "OperatorWillNotRun-ns:name",
            "PreflightIncomplete",
            "RiskReport-dns",
        ] {
            assert_eq!(of_graph(name), format!("GraphRisk-{name}"));
            assert!(!is_reserved(&of_graph(name)), "{name}");
        }
        // Names in published graph-data.
        for name in ["ClusterVersionPreconditionCheck", "AWSOldBootImages", "SlowDisk", ""] {
            assert_eq!(of_graph(name), name);
        }
    }
}
