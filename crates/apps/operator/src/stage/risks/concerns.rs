//! What in the cluster speaks against updates.

use fairway_api::cluster_version::{ClusterVersionStatus, ConditionalUpdateRisk};
use fairway_api::reason::applies;
use fairway_api::{ClusterOperator, ClusterVersion, Conditions as _};
use fairway_risk::sources::{self, ConfigData};
use fairway_risk::{Claim, Concern, Risk, Source, Targets};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::cluster::{Objects, only};

/// Why ClusterOperators are unknown if they could not be listed within the grace period.
const UNLISTED: &str = "see the operator log";

/// Why a ConfigMap is unknown if it could not be read within the grace period.
const UNREAD: &str = "see the operator log";

/// What was found.
#[derive(Clone, Copy)]
pub(super) struct Findings<'a> {
    pub(super) cluster_version: &'a ClusterVersion,
    /// `None` where they cannot be listed.
    pub(super) operators: Option<&'a Objects<ClusterOperator>>,
    /// `None` where it cannot be read; empty where there is none.
    pub(super) admin_gates: Option<&'a Objects<ConfigMap>>,
    pub(super) admin_acks: Option<&'a Objects<ConfigMap>>,
    pub(super) alerts: &'a [Concern],
    /// Objects that the release removes, and that are still there.
    pub(super) deleting: &'a [String],
}

/// What alerts said against updates when the status was written: it counts until they are known.
pub(super) fn remembered_alerts(status: Option<&ClusterVersionStatus>) -> Vec<Concern> {
    let risks = status.map_or(&[][..], |status| &status.conditional_update_risks);
    let of_alert = |risk: &ConditionalUpdateRisk| {
        let applies = risk.conditions.find(applies::TYPE)?;
        let claim = (applies.reason == applies::ALERT_FIRING.code).then(|| Claim {
            since: applies.last_transition_time.as_ref().map(|time| time.0),
            ..Claim::new(applies.status.clone(), &applies.reason, &applies.message)
        })?;
        let risk = Risk::always(&risk.name, &risk.message, &risk.url).claiming(claim);
        Some(Concern { risk, source: Source::Alert, targets: Targets::All })
    };
    risks.iter().filter_map(of_alert).collect()
}

/// Everything that speaks against updates of a cluster at that version.
pub(super) fn collect<'a>(current: &str, findings: Findings<'a>) -> Vec<Concern> {
    let Findings { cluster_version, operators, admin_gates, admin_acks, alerts, deleting } =
        findings;
    let conditions = cluster_version.status.as_ref().map_or(&[][..], |status| &status.conditions);
    let nothing = ConfigData::new();
    let data = |map: &'a ConfigMap| map.data.as_ref();
    // A platform without the ConfigMap has no gates; one whose ConfigMap cannot be read may have.
    let gates =
        admin_gates.map(|seen| only(Some(seen)).and_then(|it| data(it)).unwrap_or(&nothing));
    let acks = match (admin_acks, only(admin_acks)) {
        (None, _) => Err(UNREAD),
        (Some(_), None) => Err("the ConfigMap does not exist"),
        (Some(_), Some(acks)) => Ok(data(acks).unwrap_or(&nothing)),
    };
    let gates = sources::admin_gates(current, gates.ok_or(UNREAD), acks);
    let operators = match operators {
        Some(operators) => sources::cluster_operators(operators.values().map(AsRef::as_ref)),
        None => vec![sources::unlisted_cluster_operators(UNLISTED)],
    };
    operators
        .into_iter()
        .chain(gates)
        .chain(sources::overrides(&cluster_version.spec.overrides))
        .chain(sources::updating(conditions))
        .chain(sources::deletions(deleting))
        .chain(alerts.iter().cloned())
        .collect()
}

#[cfg(test)]
mod tests {
    use fairway_api::Condition;

    use super::*;

    fn risk(name: &str, reason: &str) -> ConditionalUpdateRisk {
        ConditionalUpdateRisk {
            name: name.to_owned(),
            message: "Something is wrong.".to_owned(),
            url: "https://example.com".to_owned(),
            conditions: vec![Condition::new(applies::TYPE, true, reason, "It fires.")],
            ..ConditionalUpdateRisk::default()
        }
    }

    #[test]
    fn of_the_risks_in_a_status_those_of_alerts_are_remembered() {
        let status = ClusterVersionStatus {
            conditional_update_risks: vec![risk("DiskFull", "Alert:firing"), risk("Bug", "Match")],
            ..ClusterVersionStatus::default()
        };
        let remembered = remembered_alerts(Some(&status));
        let [Concern { risk, source: Source::Alert, targets: Targets::All }] = &remembered[..]
        else {
            panic!("{remembered:?}");
        };
        assert_eq!(risk.name, "DiskFull");
        assert_eq!(risk.claim, Some(Claim::new(true, "Alert:firing", "It fires.")));
        assert_eq!(remembered_alerts(None), []);
    }

    #[test]
    fn collect_without_admin_gates_has_no_gate() {
        let findings = Findings {
            cluster_version: &ClusterVersion::default(),
            operators: Some(&Objects::default()),
            admin_gates: Some(&Objects::default()),
            admin_acks: Some(&Objects::default()),
            alerts: &[],
            deleting: &[],
        };
        assert_eq!(collect("5.1.0", findings), []);
    }

    #[test]
    fn what_cannot_be_listed_is_a_risk() {
        let findings = Findings {
            cluster_version: &ClusterVersion::default(),
            operators: None,
            admin_gates: None,
            admin_acks: None,
            alerts: &[],
            deleting: &["secret \"a/b\"".to_owned()],
        };
        let found = collect("5.1.0", findings);
        let names: Vec<&str> = found.iter().map(|concern| concern.risk.name.as_str()).collect();
        let expected =
            ["ClusterOperatorUpgradeableUnknown", "AdminAckUnknown", "ResourceDeletionInProgress"];
        assert_eq!(names, expected);
    }
}
