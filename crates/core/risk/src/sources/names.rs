//! The names of risks that the cluster itself gives rise to: whoever reads them in its status
//! tells by them where they come from.

use crate::risk::Source;

/// An update that is under way.
pub const UPDATING: &str = "ClusterVersionUpdating";

/// Objects that the administrator excluded from management.
pub(super) const OVERRIDES: &str = "ClusterVersionOverrides";

/// Objects that the release removes, and that are still there.
pub(super) const DELETIONS: &str = "ResourceDeletionInProgress";

/// Alerts that are not named each.
pub(super) const MORE_ALERTS: &str = "MoreAlerts";

/// Cluster operators that cannot be listed.
pub(super) const OPERATORS_UNKNOWN: &str = "ClusterOperatorUpgradeableUnknown";

/// Gates that cannot be read.
pub(super) const GATES_UNKNOWN: &str = "AdminAckUnknown";

/// What stands before the name of a cluster operator that is not upgradeable.
pub(super) const UPGRADEABLE: &str = "ClusterOperatorUpgradeable-";

/// What stands before the name of a cluster operator whose report cannot be read.
pub(super) const RISK_REPORT: &str = "RiskReport-";

/// What stands before the name of a gate.
pub(super) const GATE: &str = "AdminAck-";

/// Who gives that name to risks, if it is one of these.
pub fn source_of(name: &str) -> Option<Source> {
    match name {
        UPDATING => Some(Source::Updating),
        OVERRIDES => Some(Source::Overrides),
        DELETIONS => Some(Source::Deletions),
        MORE_ALERTS => Some(Source::Alert),
        OPERATORS_UNKNOWN => Some(Source::ClusterOperators),
        GATES_UNKNOWN => Some(Source::AdminGate),
        _ if name.starts_with(GATE) => Some(Source::AdminGate),
        _ => {
            let operator = name.strip_prefix(UPGRADEABLE).map(str::to_owned);
            let report = name.strip_prefix(RISK_REPORT).map(str::to_owned);
            operator.map(Source::Upgradeable).or_else(|| report.map(Source::RiskReport))
        }
    }
}

#[cfg(test)]
mod tests {
    use fairway_api::ClusterOperator;
    use serde_json::json;

    use super::*;
    use crate::sources::{
        admin_gates, cluster_operators, deletions, overrides, unlisted_cluster_operators, updating,
    };

    #[test]
    fn the_name_of_a_concern_tells_its_source() {
        let operator = |name: &str, extension: serde_json::Value| -> ClusterOperator {
            let no = json!({"type": "Upgradeable", "status": "False", "message": "No."});
            serde_json::from_value(json!({
                "metadata": {"name": name}, "spec": {},
                "status": {"conditions": [no], "extension": extension},
            }))
            .unwrap()
        };
        let report = json!({"kind": "RiskReport", "version": "v1", "risks": 7});
        let gates = [("ack-5.1-apis".to_owned(), "APIs go away.".to_owned())].into();
        let acks = [].into();
        let left_alone =
            json!({"kind": "A", "name": "b", "group": "", "namespace": "", "unmanaged": true});
        let under_way = json!({"type": "Progressing", "status": "True"});
        let concerns =
            cluster_operators(&[operator("storage", json!(null)), operator("network", report)])
                .into_iter()
                .chain([unlisted_cluster_operators("forbidden")])
                .chain(admin_gates("5.1.0", Ok(&gates), Ok(&acks)))
                .chain(admin_gates("5.1.0", Err("forbidden"), Ok(&acks)))
                .chain(overrides(&[serde_json::from_value(left_alone).unwrap()]))
                .chain(updating(&[serde_json::from_value(under_way).unwrap()]))
                .chain(deletions(&["Job old".to_owned()]));
        let mut count = 0;
        for concern in concerns {
            assert_eq!(
                source_of(&concern.risk.name),
                Some(concern.source),
                "{}",
                concern.risk.name
            );
            count += 1;
        }
        assert_eq!(count, 9);
        assert_eq!(source_of("SlowDisks"), None);
    }
}
