//! Names of the risks that the state of the cluster causes. They identify the source of a risk in a
//! status.

use crate::risk::RiskSource;

/// An update in progress.
pub const UPDATING: &str = "ClusterVersionUpdating";

/// Objects that `spec.overrides` excludes from management.
pub(super) const OVERRIDES: &str = "ClusterVersionOverrides";

/// Objects that the release deletes and that still exist.
pub(super) const DELETIONS: &str = "ResourceDeletionInProgress";

/// Alerts that are not named individually.
pub(super) const MORE_ALERTS: &str = "MoreAlerts";

/// ClusterOperators that cannot be listed.
pub(super) const OPERATORS_UNKNOWN: &str = "ClusterOperatorUpgradeableUnknown";

/// Admin gates that cannot be read.
pub(super) const GATES_UNKNOWN: &str = "AdminAckUnknown";

/// Prefix for the name of a ClusterOperator that is not upgradeable.
pub(super) const UPGRADEABLE: &str = "ClusterOperatorUpgradeable-";

/// Prefix for the name of a ClusterOperator with an invalid risk report.
pub(super) const RISK_REPORT: &str = "RiskReport-";

/// Prefix for the name of an admin gate.
pub(super) const GATE: &str = "AdminAck-";

/// The source of risks with a name, if the name is one of these.
pub fn source_of(name: &str) -> Option<RiskSource> {
    match name {
        UPDATING => Some(RiskSource::Updating),
        OVERRIDES => Some(RiskSource::Overrides),
        DELETIONS => Some(RiskSource::Deletions),
        MORE_ALERTS => Some(RiskSource::Alert),
        OPERATORS_UNKNOWN => Some(RiskSource::ClusterOperators),
        GATES_UNKNOWN => Some(RiskSource::AdminGate),
        _ if name.starts_with(GATE) => Some(RiskSource::AdminGate),
        _ => {
            let operator = name.strip_prefix(UPGRADEABLE).map(str::to_owned);
            let report = name.strip_prefix(RISK_REPORT).map(str::to_owned);
            operator.map(RiskSource::Upgradeable).or_else(|| report.map(RiskSource::RiskReport))
        }
    }
}

#[cfg(test)]
mod tests {
    use fairway_api::ClusterOperator;
    use fairway_api::cluster_version::Release;
    use fairway_api::risk_name::is_reserved;
    use serde_json::json;

    use super::*;
    use crate::sources::{
        admin_gates, cluster_operators, deletions, not_offered, overrides,
        unlisted_cluster_operators, updating,
    };

    #[test]
    fn source_of_matches_reported_source() {
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
        let reported_risks =
            cluster_operators(&[operator("storage", json!(null)), operator("network", report)])
                .into_iter()
                .chain([unlisted_cluster_operators("forbidden")])
                .chain(admin_gates("5.1.0", Ok(&gates), Ok(&acks)))
                .chain(admin_gates("5.1.0", Err("forbidden"), Ok(&acks)))
                .chain(overrides(&[serde_json::from_value(left_alone).unwrap()]))
                .chain(updating(&[serde_json::from_value(under_way).unwrap()]))
                .chain(deletions(&["Job old".to_owned()]));
        let mut count = 0;
        for reported_risk in reported_risks {
            assert_eq!(
                source_of(&reported_risk.risk.name),
                Some(reported_risk.source),
                "{}",
                reported_risk.risk.name
            );
            assert!(is_reserved(&reported_risk.risk.name), "{}", reported_risk.risk.name);
            count += 1;
        }
        let not_offered = not_offered(Release::default());
        assert!(not_offered.risks.iter().all(|risk| is_reserved(&risk.name)));
        assert_eq!(count, 9);
        assert_eq!(source_of("SlowDisks"), None);
    }
}
