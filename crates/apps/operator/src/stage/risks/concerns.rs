//! Concerns of the risk ledger, from the state of the cluster and from preflights.

use fairway_api::cluster_version::{ClusterVersionStatus, ConditionalUpdateRisk, Release};
use fairway_api::reason::applies;
use fairway_api::{ClusterOperator, ClusterVersion, Conditions as _};
use fairway_risk::sources::{self, ConfigMapData};
use fairway_risk::{
    AffectedUpdates, CandidateUpdate, ReportedRisk, Risk, RiskAssessment, RiskSource,
};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::cluster::{Objects, only};
use crate::stage::preflight::Preflight;
use crate::stage::updates::same_content;

/// State of the cluster that concerns are read from. An error says why objects are unknown.
#[derive(Clone, Copy)]
pub(super) struct ClusterState<'a> {
    pub(super) cluster_version: &'a ClusterVersion,
    pub(super) operators: Result<&'a Objects<ClusterOperator>, &'a str>,
    /// Empty if it does not exist.
    pub(super) admin_gates: Result<&'a Objects<ConfigMap>, &'a str>,
    pub(super) admin_acks: Result<&'a Objects<ConfigMap>, &'a str>,
    pub(super) alerts: &'a [ReportedRisk],
    /// Objects of `delete` manifests that still exist.
    pub(super) deleting: &'a [String],
}

/// Concerns of alerts in the last status. They apply until the alerts are read.
pub(super) fn remembered_alerts(status: Option<&ClusterVersionStatus>) -> Vec<ReportedRisk> {
    let risks = status.map_or(&[][..], |status| &status.conditional_update_risks);
    let of_alert = |risk: &ConditionalUpdateRisk| {
        let applies = risk.conditions.find(applies::TYPE)?;
        let claim = (applies.reason == applies::ALERT_FIRING.code).then(|| RiskAssessment {
            since: applies.last_transition_time.as_ref().map(|time| time.0),
            ..RiskAssessment::new(applies.status.clone(), &applies.reason, &applies.message)
        })?;
        let risk = Risk::always(&risk.name, &risk.message, &risk.url).with_assessment(claim);
        Some(ReportedRisk { risk, source: RiskSource::Alert, targets: AffectedUpdates::All })
    };
    risks.iter().filter_map(of_alert).collect()
}

/// All concerns about updates of a cluster at that version.
pub(super) fn collect<'a>(current: &str, state: ClusterState<'a>) -> Vec<ReportedRisk> {
    let ClusterState { cluster_version, operators, admin_gates, admin_acks, alerts, deleting } =
        state;
    let conditions = cluster_version.status.as_ref().map_or(&[][..], |status| &status.conditions);
    let nothing = ConfigMapData::new();
    let data = |map: &'a ConfigMap| map.data.as_ref();
    // A platform without the ConfigMap has no gates; one whose ConfigMap cannot be read may have.
    let gates =
        admin_gates.map(|seen| only(Some(seen)).and_then(|it| data(it)).unwrap_or(&nothing));
    let acks = admin_acks.and_then(|seen| match only(Some(seen)) {
        None => Err("the ConfigMap does not exist"),
        Some(acks) => Ok(data(acks).unwrap_or(&nothing)),
    });
    let gates = sources::admin_gates(current, gates, acks);
    let operators = match operators {
        Ok(operators) => sources::cluster_operators(operators.values().map(AsRef::as_ref)),
        Err(why) => vec![sources::unlisted_cluster_operators(why)],
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

/// Offered releases, and releases with a preflight that are not offered. `here` is the image of the
/// accepted release.
pub(super) fn candidates(
    offered: &[CandidateUpdate],
    preflight: Option<&Preflight>,
    here: Option<&str>,
) -> Vec<CandidateUpdate> {
    let preflight_results = preflight.into_iter().flat_map(|preflight| &preflight.not_offered);
    let is_here = |release: &Release| here.is_some_and(|here| same_content(here, &release.image));
    let is_offered = |release: &Release| {
        offered.iter().any(|candidate| same_content(&candidate.release.image, &release.image))
    };
    let not_offered = preflight_results.filter(|release| !is_here(release) && !is_offered(release));
    let not_offered = not_offered.cloned().map(sources::not_offered);
    offered.iter().cloned().chain(not_offered).collect()
}

/// Preflight findings, with the image references of the update service.
pub(super) fn of_preflight(
    preflight: Option<&Preflight>,
    offered: &[CandidateUpdate],
) -> Vec<ReportedRisk> {
    let found = preflight.into_iter().flat_map(|preflight| &preflight.concerns);
    found.map(|concern| with_offered_image(concern.clone(), offered)).collect()
}

fn with_offered_image(mut concern: ReportedRisk, offered: &[CandidateUpdate]) -> ReportedRisk {
    if let AffectedUpdates::Images(images) = &mut concern.targets {
        let name = |image: String| {
            let mut same = offered
                .iter()
                .map(|candidate| &candidate.release.image)
                .filter(|offered| same_content(offered, &image));
            same.next().cloned().unwrap_or(image)
        };
        *images = std::mem::take(images).into_iter().map(name).collect();
    }
    concern
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
    fn remembered_alerts_returns_risks_of_alerts() {
        let status = ClusterVersionStatus {
            conditional_update_risks: vec![risk("DiskFull", "Alert:firing"), risk("Bug", "Match")],
            ..ClusterVersionStatus::default()
        };
        let remembered = remembered_alerts(Some(&status));
        let [ReportedRisk { risk, source: RiskSource::Alert, targets: AffectedUpdates::All }] =
            &remembered[..]
        else {
            panic!("{remembered:?}");
        };
        assert_eq!(risk.name, "DiskFull");
        assert_eq!(risk.claim, Some(RiskAssessment::new(true, "Alert:firing", "It fires.")));
        assert_eq!(remembered_alerts(None), []);
    }

    #[test]
    fn collect_without_admin_gates_has_no_gate() {
        let state = ClusterState {
            cluster_version: &ClusterVersion::default(),
            operators: Ok(&Objects::default()),
            admin_gates: Ok(&Objects::default()),
            admin_acks: Ok(&Objects::default()),
            alerts: &[],
            deleting: &[],
        };
        assert_eq!(collect("5.1.0", state), []);
    }

    #[test]
    fn collect_without_lists_returns_unknown_risks() {
        let state = ClusterState {
            cluster_version: &ClusterVersion::default(),
            operators: Err("forbidden"),
            admin_gates: Err("forbidden"),
            admin_acks: Err("forbidden"),
            alerts: &[],
            deleting: &["secret \"a/b\"".to_owned()],
        };
        let found = collect("5.1.0", state);
        let names: Vec<&str> = found.iter().map(|concern| concern.risk.name.as_str()).collect();
        let expected =
            ["ClusterOperatorUpgradeableUnknown", "AdminAckUnknown", "ResourceDeletionInProgress"];
        assert_eq!(names, expected);
    }
}

#[cfg(test)]
mod candidates_tests {
    use std::collections::BTreeMap;

    use fairway_risk::{Risk, RiskSource};
    use fairway_testkit::objects::release;

    use super::*;

    fn mirrored(version: &str) -> Release {
        let release = release(version);
        let (_, digest) = release.image.split_once('@').unwrap();
        Release { image: format!("mirror.example/release@{digest}"), ..release }
    }

    fn preflight() -> Preflight {
        let images = [mirrored("5.1.0").image, release("5.2.0").image].into_iter().collect();
        let risk = Risk::always("Found", "It breaks.", "https://example.com");
        let targets = AffectedUpdates::Images(images);
        Preflight {
            generation: 1,
            conditions: ["A", "B", "C"].map(|it| fairway_api::OperatorCondition::new(it, false)),
            concerns: vec![ReportedRisk { risk, source: RiskSource::Preflight, targets }],
            not_offered: vec![mirrored("5.1.0"), release("5.2.0"), release("5.0.0")],
            outcomes: BTreeMap::new(),
            is_clear: true,
        }
    }

    #[test]
    fn candidates_with_same_content_are_merged() {
        let offered = [CandidateUpdate { release: release("5.1.0"), risks: Vec::new() }];
        let here = mirrored("5.0.0").image;
        let all = candidates(&offered, Some(&preflight()), Some(&here));
        let all: Vec<(&str, usize)> = all
            .iter()
            .map(|candidate| (candidate.release.version.as_str(), candidate.risks.len()))
            .collect();
        assert_eq!(all, [("5.1.0", 0), ("5.2.0", 1)]);
        let [concern] = &of_preflight(Some(&preflight()), &offered)[..] else { panic!() };
        let images = [release("5.1.0").image, release("5.2.0").image].into_iter().collect();
        assert_eq!(concern.targets, AffectedUpdates::Images(images));
    }

    #[test]
    fn candidates_without_preflight_are_offered() {
        let offered = [CandidateUpdate { release: release("5.1.0"), risks: Vec::new() }];
        assert_eq!(candidates(&offered, None, None), offered);
        assert_eq!(of_preflight(None, &offered), []);
    }
}
