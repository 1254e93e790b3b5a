//! `Upgradeable` is a view of the ledger.

use std::collections::BTreeMap;

use fairway_api::{ConditionStatus, OperatorCondition};
use fairway_risk::{Claim, Concern, Ledger, Risk, Source, Targets, sources};

use crate::support::*;

fn upgradeable(concerns: Vec<Concern>) -> Option<OperatorCondition> {
    Ledger::new(CURRENT, vec![], concerns).evaluate(World::default().round()).upgradeable
}

fn said(concerns: Vec<Concern>) -> String {
    let Some(condition) = upgradeable(concerns) else { return "nothing".to_owned() };
    let OperatorCondition { type_, status, reason, message, .. } = condition;
    format!("{type_}={status} {}: {}", reason.unwrap(), message.unwrap())
}

fn operator(name: &str) -> Concern {
    Concern {
        risk: Risk::always(
            format!("ClusterOperatorUpgradeable-{name}"),
            format!("The {name} operator is busy."),
            "https://example.com",
        ),
        source: Source::Upgradeable(name.to_owned()),
        targets: Targets::MinorOrMajor,
    }
}

fn overrides() -> Concern {
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
fn what_stands_against_later_versions() {
    assert_eq!(said(vec![]), "nothing");
    insta::assert_snapshot!(said(vec![overrides()]), @"Upgradeable=False ClusterVersionOverrides: spec.overrides excludes objects from management, so an update to a later minor or major version would not change them: Deployment openshift-dns/dns. Remove the overrides before such an update.");
    insta::assert_snapshot!(said(vec![operator("dns")]), @"Upgradeable=False ClusterOperatorNotUpgradeable: ClusterOperatorUpgradeable-dns: The dns operator is busy.");
    let gates = BTreeMap::from([("ack-4.6-apis".to_owned(), "APIs go.".to_owned())]);
    let gate = sources::admin_gates(CURRENT, Ok(&gates), Ok(&BTreeMap::new()));
    insta::assert_snapshot!(said(gate), @r#"Upgradeable=False AdminAckRequired: AdminAck-ack-4.6-apis: APIs go. To acknowledge: kubectl -n openshift-config patch configmap admin-acks --type=merge -p '{"data":{"ack-4.6-apis":"true"}}'"#);
    insta::assert_snapshot!(said(vec![operator("dns"), overrides(), operator("network")]), @"
    Upgradeable=False MultipleReasons: Several risks block updates to a later minor or major version:
    * ClusterOperatorUpgradeable-dns: The dns operator is busy.
    * ClusterOperatorUpgradeable-network: The network operator is busy.
    * ClusterVersionOverrides: spec.overrides excludes objects from management, so an update to a later minor or major version would not change them: Deployment openshift-dns/dns. Remove the overrides before such an update.
    ");
    insta::assert_snapshot!(said(vec![sources::unlisted_cluster_operators("forbidden")]), @"Upgradeable=Unknown ClusterOperatorUpgradeableUnknown: Cannot determine whether the cluster operators allow an update to a later minor or major version. Cannot list ClusterOperators: forbidden.");
}

#[test]
fn alerts_and_the_graph_do_not() {
    let alert = Concern { source: Source::Alert, targets: Targets::All, ..operator("x") };
    assert_eq!(said(vec![alert]), "nothing");
    let candidates = vec![candidate("4.7.4", vec![risk("A", vec![always()])])];
    let evaluated = Ledger::new(CURRENT, candidates, vec![]).evaluate(World::default().round());
    assert_eq!(evaluated.upgradeable, None);
}

#[test]
fn a_report_counts_if_it_is_about_the_next_minor_version() {
    let report = |range: &str| Concern {
        source: Source::RiskReport("olm".into()),
        targets: Targets::Range(range.parse().unwrap()),
        ..operator("olm")
    };
    assert!(upgradeable(vec![report(">=4.7.0")]).is_some());
    assert!(upgradeable(vec![report("4.7.x")]).is_some());
    assert!(upgradeable(vec![report(">=4.8.0")]).is_none());
    assert!(upgradeable(vec![report("4.6.x")]).is_none());
}

#[test]
fn a_minor_version_with_two_names_is_one() {
    let counts = |current: &str, range: &str| {
        let report = Concern {
            source: Source::RiskReport("olm".into()),
            targets: Targets::Range(range.parse().unwrap()),
            ..operator("olm")
        };
        let ledger = Ledger::new(current, vec![], vec![report]);
        ledger.evaluate(World::default().round()).upgradeable.is_some()
    };
    for (current, range, expected) in [
        ("4.22.1", ">=4.23.0", true),
        ("4.22.1", ">=5.0.0", true),
        ("4.22.1", ">=5.1.0", false),
        ("4.23.1", ">=5.1.0", true),
        ("4.23.1", "5.0.x", false),
        ("5.0.1", ">=5.1.0", true),
    ] {
        assert_eq!(counts(current, range), expected, "{range} on {current}");
    }
}

#[test]
fn what_does_not_apply_does_not_stand_against_it() {
    let mut concern = operator("dns");
    concern.risk.claim = Some(Claim::new(false, "NotMatch", "Done."));
    assert_eq!(upgradeable(vec![concern]), None);
}

#[test]
fn its_transition_time_survives() {
    let ledger = |concerns| Ledger::new(CURRENT, vec![], concerns);
    let mut world = World::default();
    let first = ledger(vec![operator("dns")]).evaluate(world.round());
    world.previous = (&first).into();
    world.second = 60;
    let second = ledger(vec![operator("dns"), overrides()]).evaluate(world.round());
    let time = |condition: &Option<OperatorCondition>| {
        condition.as_ref().unwrap().last_transition_time.clone().unwrap().0
    };
    assert_eq!(second.upgradeable.as_ref().unwrap().status, ConditionStatus::False);
    assert_eq!((time(&first.upgradeable), time(&second.upgradeable)), (at(0), at(0)));
}
