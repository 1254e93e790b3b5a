//! The condition `Upgradeable`.

use std::collections::BTreeMap;

use fairway_api::{ConditionStatus, OperatorCondition};
use fairway_risk::{
    AffectedUpdates, Ledger, ReportedRisk, Risk, RiskAssessment, RiskSource, sources,
};

use crate::support::*;

fn upgradeable(reported_risks: Vec<ReportedRisk>) -> Option<OperatorCondition> {
    Ledger::new(CURRENT, vec![], reported_risks).evaluate(TestInput::default().input()).upgradeable
}

fn texts(reported_risks: Vec<ReportedRisk>) -> String {
    let Some(condition) = upgradeable(reported_risks) else { return "nothing".to_owned() };
    let OperatorCondition { type_, status, reason, message, .. } = condition;
    format!("{type_}={status} {}: {}", reason.unwrap(), message.unwrap())
}

fn operator(name: &str) -> ReportedRisk {
    ReportedRisk {
        risk: Risk::always(
            format!("ClusterOperatorUpgradeable-{name}"),
            format!("The {name} operator is busy."),
            "https://example.com",
        ),
        source: RiskSource::Upgradeable(name.to_owned()),
        targets: AffectedUpdates::MinorOrMajor,
    }
}

fn overrides() -> ReportedRisk {
    sources::overrides(&[fairway_api::cluster_version::ComponentOverride {
        kind: "Deployment".into(),
        namespace: "openshift-dns".into(),
        name: "dns".into(),
        unmanaged: true,
        ..Default::default()
    }])
    .unwrap()
}

#[test]
fn upgradeable_lists_risks_of_later_versions() {
    assert_eq!(texts(vec![]), "nothing");
    insta::assert_snapshot!(texts(vec![overrides()]), @"Upgradeable=False ClusterVersionOverrides: spec.overrides excludes objects from management, so an update to a later minor or major version would not change them: Deployment openshift-dns/dns. Remove the overrides before such an update.");
    insta::assert_snapshot!(texts(vec![operator("dns")]), @"Upgradeable=False ClusterOperatorNotUpgradeable: ClusterOperatorUpgradeable-dns: The dns operator is busy.");
    let gates = BTreeMap::from([("ack-4.6-apis".to_owned(), "APIs go.".to_owned())]);
    let gate = sources::admin_gates(CURRENT, Ok(&gates), Ok(&BTreeMap::new()));
    insta::assert_snapshot!(texts(gate), @r#"Upgradeable=False AdminAckRequired: AdminAck-ack-4.6-apis: APIs go. To acknowledge: kubectl -n openshift-config patch configmap admin-acks --type=merge -p '{"data":{"ack-4.6-apis":"true"}}'"#);
    insta::assert_snapshot!(texts(vec![operator("dns"), overrides(), operator("network")]), @"
    Upgradeable=False MultipleReasons: Several risks block updates to a later minor or major version:
    * ClusterOperatorUpgradeable-dns: The dns operator is busy.
    * ClusterOperatorUpgradeable-network: The network operator is busy.
    * ClusterVersionOverrides: spec.overrides excludes objects from management, so an update to a later minor or major version would not change them: Deployment openshift-dns/dns. Remove the overrides before such an update.
    ");
    insta::assert_snapshot!(texts(vec![sources::unlisted_cluster_operators("forbidden")]), @"Upgradeable=Unknown ClusterOperatorUpgradeableUnknown: Cannot determine whether the cluster operators allow an update to a later minor or major version. Cannot list ClusterOperators: forbidden.");
}

#[test]
fn upgradeable_ignores_alerts_and_graph() {
    let alert =
        ReportedRisk { source: RiskSource::Alert, targets: AffectedUpdates::All, ..operator("x") };
    assert_eq!(texts(vec![alert]), "nothing");
    let candidates = vec![candidate("4.7.4", vec![risk("A", vec![always()])])];
    let evaluated = Ledger::new(CURRENT, candidates, vec![]).evaluate(TestInput::default().input());
    assert_eq!(evaluated.upgradeable, None);
}

#[test]
fn upgradeable_includes_reports_for_next_minor_version() {
    let report = |range: &str| ReportedRisk {
        source: RiskSource::RiskReport("olm".into()),
        targets: AffectedUpdates::Range(range.parse().unwrap()),
        ..operator("olm")
    };
    assert!(upgradeable(vec![report(">=4.7.0")]).is_some());
    assert!(upgradeable(vec![report("4.7.x")]).is_some());
    assert!(upgradeable(vec![report(">=4.8.0")]).is_none());
    assert!(upgradeable(vec![report("4.6.x")]).is_none());
}

#[test]
fn upgradeable_treats_renamed_minor_version_as_one() {
    let is_reported = |current: &str, range: &str| {
        let report = ReportedRisk {
            source: RiskSource::RiskReport("olm".into()),
            targets: AffectedUpdates::Range(range.parse().unwrap()),
            ..operator("olm")
        };
        let ledger = Ledger::new(current, vec![], vec![report]);
        ledger.evaluate(TestInput::default().input()).upgradeable.is_some()
    };
    for (current, range, expected) in [
        ("4.22.1", ">=4.23.0", true),
        ("4.22.1", ">=5.0.0", true),
        ("4.22.1", ">=5.1.0", false),
        ("4.23.1", ">=5.1.0", true),
        ("4.23.1", "5.0.x", false),
        ("5.0.1", ">=5.1.0", true),
    ] {
        assert_eq!(is_reported(current, range), expected, "{range} on {current}");
    }
}

#[test]
fn upgradeable_ignores_risks_that_do_not_apply() {
    let mut reported_risk = operator("dns");
    reported_risk.risk.claim = Some(RiskAssessment::new(false, "NotMatch", "Done."));
    assert_eq!(upgradeable(vec![reported_risk]), None);
}

#[test]
fn upgradeable_keeps_transition_time() {
    let ledger = |reported_risks| Ledger::new(CURRENT, vec![], reported_risks);
    let mut input = TestInput::default();
    let first = ledger(vec![operator("dns")]).evaluate(input.input());
    input.previous = (&first).into();
    input.second = 60;
    let second = ledger(vec![operator("dns"), overrides()]).evaluate(input.input());
    let time = |condition: &Option<OperatorCondition>| {
        condition.as_ref().unwrap().last_transition_time.clone().unwrap().0
    };
    assert_eq!(second.upgradeable.as_ref().unwrap().status, ConditionStatus::False);
    assert_eq!((time(&first.upgradeable), time(&second.upgradeable)), (at(0), at(0)));
}

#[test]
fn upgradeable_includes_operators_whose_report_covers_other_targets() {
    let operator = |targets: &str| {
        let risk =
            serde_json::json!({"name": "OldOperators", "message": "Too old.", "targets": targets});
        serde_json::from_value::<fairway_api::ClusterOperator>(serde_json::json!({
            "metadata": {"name": "olm"}, "spec": {},
            "status": {
                "conditions": [{"type": "Upgradeable", "status": "False", "message": "Wait."}],
                "extension": {"kind": "RiskReport", "version": "v1", "risks": [risk]},
            },
        }))
        .unwrap()
    };
    let lines = [">=4.7.0", ">=4.8.0"]
        .map(|targets| texts(sources::cluster_operators(&[operator(targets)])));
    insta::assert_snapshot!(lines.join("\n"), @"
    Upgradeable=False OldOperators: Too old.
    Upgradeable=False ClusterOperatorNotUpgradeable: ClusterOperatorUpgradeable-olm: Wait.
    ");
}
