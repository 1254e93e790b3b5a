//! Metrics of example clusters.

use fairway_api::Condition;
use fairway_api::cluster_version::{
    CapabilitiesStatus, ConditionalUpdate, ConditionalUpdateRisk, Update,
};
use fairway_testkit::objects;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn time(second: i64) -> Time {
    Time(at(second))
}

fn running() -> Running {
    let release = objects::release("5.1.0");
    Running { version: release.version, image: "registry.example/a".into(), created: Some(at(9)) }
}

fn view(cluster_version: ClusterVersion) -> View {
    View {
        cluster_version: Some(Arc::new(cluster_version)),
        cluster_operators: Operators::default(),
        install: None,
        running: running(),
    }
}

fn entry(state: UpdateState, version: &str, started: i64, completed: Option<i64>) -> UpdateHistory {
    UpdateHistory {
        state,
        started_time: Some(time(started)),
        completion_time: completed.map(time),
        version: Some(version.to_owned()),
        image: format!("registry.example/{version}"),
        ..UpdateHistory::default()
    }
}

fn text(view: &View, now: i64) -> String {
    families(view, at(now)).iter().map(ToString::to_string).collect()
}

#[test]
fn families_without_cluster_version() {
    let view = View { cluster_version: None, ..view(ClusterVersion::default()) };
    insta::assert_snapshot!(text(&view, 100), @r#"
    cluster_version{type="current",version="5.1.0",image="registry.example/a",from_version=""} 9
    cluster_operator_up{name="version",version="5.1.0",reason="ClusterVersionNotFound"} 0
    cluster_installer{type="",version="",invoker=""} 1
    "#);
}

#[test]
fn families_of_failing_update() {
    let mut object = objects::cluster_version();
    object.metadata.creation_timestamp = Some(time(1000));
    object.spec.desired_update = Some(Update {
        image: Some("registry.example/5.1.1".into()),
        ..objects::update_to("5.1.1")
    });
    let mut status = ClusterVersionStatus {
        history: vec![
            entry(UpdateState::Partial, "5.1.1", 5000, None),
            entry(UpdateState::Completed, "5.1.0", 3000, Some(4000)),
            entry(UpdateState::Completed, "5.0.0", 1000, Some(2000)),
        ],
        capabilities: Some(CapabilitiesStatus {
            enabled_capabilities: vec!["Console".into()],
            known_capabilities: vec!["Console".into(), "Insights".into()],
            ..CapabilitiesStatus::default()
        }),
        ..ClusterVersionStatus::default()
    };
    for (type_, holds) in [("Available", true), ("Failing", true), ("Progressing", true)] {
        status.conditions.set(OperatorCondition::new(type_, holds).reason("Because"), at(6000));
    }
    object.status = Some(status);
    insta::assert_snapshot!(text(&view(object), 7000), @r#"
    cluster_version{type="cluster",version="5.1.0",image="registry.example/a",from_version="5.0.0"} 1000
    cluster_version{type="completed",version="5.1.0",image="registry.example/5.1.0",from_version="5.0.0"} 4000
    cluster_version{type="current",version="5.1.0",image="registry.example/a",from_version="5.1.0"} 9
    cluster_version{type="desired",version="5.1.1",image="registry.example/5.1.1",from_version="5.1.0"} 6000
    cluster_version{type="failure",version="5.1.1",image="registry.example/5.1.1",from_version="5.1.0"} 6000
    cluster_version{type="initial",version="5.0.0",image="registry.example/5.0.0",from_version=""} 1000
    cluster_version{type="updating",version="5.1.1",image="registry.example/5.1.1",from_version="5.1.0"} 5000
    cluster_version_capability{name="Console"} 1
    cluster_version_capability{name="Insights"} 0
    cluster_operator_up{name="version",version="5.1.0",reason="Because"} 1
    cluster_operator_conditions{name="version",condition="Available",reason="Because"} 1
    cluster_operator_conditions{name="version",condition="Failing",reason="Because"} 1
    cluster_operator_conditions{name="version",condition="Progressing",reason="Because"} 1
    cluster_installer{type="",version="",invoker=""} 1
    "#);
}

#[test]
fn families_of_risks_and_conditional_updates() {
    let condition = |type_: &str, status, reason: &str, since| Condition {
        last_transition_time: Some(time(since)),
        ..Condition::new(type_, status, reason, "why")
    };
    let risk = |name: &str, condition| ConditionalUpdateRisk {
        name: name.to_owned(),
        conditions: vec![condition],
        ..ConditionalUpdateRisk::default()
    };
    let update = |version: &str, condition| ConditionalUpdate {
        release: objects::release(version),
        conditions: vec![condition],
        ..ConditionalUpdate::default()
    };
    let unknown = ConditionStatus::Unknown;
    let mut object = objects::cluster_version();
    object.spec.upstream = Some("https://updates.example/graph".into());
    object.status = Some(ClusterVersionStatus {
        available_updates: Some(vec![objects::release("5.1.2"), objects::release("5.1.3")]),
        conditional_update_risks: vec![
            risk("A", condition("Applies", true.into(), "Match", 10)),
            risk("B", condition("Applies", false.into(), "NotMatch", 20)),
            risk("C", condition("Applies", unknown.clone(), "EvaluationFailed", 30)),
        ],
        conditional_updates: vec![
            update("5.1.4", condition("Recommended", false.into(), "A", 40)),
            update("5.1.5", condition("Recommended", unknown, "EvaluationFailed", 50)),
        ],
        ..ClusterVersionStatus::default()
    });
    insta::assert_snapshot!(text(&view(object), 130), @r#"
    cluster_version{type="cluster",version="5.1.0",image="registry.example/a",from_version=""} 0
    cluster_version{type="current",version="5.1.0",image="registry.example/a",from_version=""} 9
    cluster_version{type="initial",version="",image="",from_version=""} 0
    cluster_version_available_updates{upstream="https://updates.example/graph",channel="stable-5.1"} 2
    cluster_version_risk_conditions{condition="Applies",risk="A",reason="Match"} 1
    cluster_version_risk_conditions{condition="Applies",risk="B",reason="NotMatch"} 0
    cluster_version_risk_conditions{condition="Applies",risk="C",reason="EvaluationFailed"} -1
    fairway_operator_risk_unknown_seconds{risk="C"} 100
    cluster_version_conditional_update_condition_seconds{version="5.1.4",condition="Recommended",status="False",reason="A"} 40
    cluster_version_conditional_update_condition_seconds{version="5.1.5",condition="Recommended",status="Unknown",reason="EvaluationFailed"} 50
    cluster_installer{type="",version="",invoker=""} 1
    "#);
}

#[test]
fn families_of_cluster_operators() {
    let mut odd = objects::working_at("5.1.0");
    odd.conditions.push(OperatorCondition::new("Upgradeable", ConditionStatus::Unknown));
    // Old API servers accept a type twice.
    odd.conditions.push(OperatorCondition::new("Degraded", true));
    let of = |name: &str, status| {
        let operator = ClusterOperator { status, ..objects::cluster_operator(name) };
        (name.to_owned(), Arc::new(operator))
    };
    let operators = [of("dns", Some(odd)), of("new", None)];
    let install = ConfigMap {
        data: Some(
            [("version", "v5.1"), ("invoker", "user")].map(|(k, v)| (k.into(), v.into())).into(),
        ),
        ..ConfigMap::default()
    };
    let view = View {
        cluster_operators: Arc::new(operators.into()),
        install: Some(Arc::new(install)),
        ..view(objects::cluster_version())
    };
    insta::assert_snapshot!(text(&view, 0), @r#"
    cluster_version{type="cluster",version="5.1.0",image="registry.example/a",from_version=""} 0
    cluster_version{type="current",version="5.1.0",image="registry.example/a",from_version=""} 9
    cluster_version{type="initial",version="",image="",from_version=""} 0
    cluster_operator_up{name="dns",version="5.1.0",reason=""} 1
    cluster_operator_up{name="new",version="",reason="NoAvailableCondition"} 0
    cluster_operator_conditions{name="dns",condition="Available",reason=""} 1
    cluster_operator_conditions{name="dns",condition="Degraded",reason=""} 0
    cluster_operator_conditions{name="dns",condition="Progressing",reason=""} 0
    cluster_installer{type="openshift-install",version="v5.1",invoker="user"} 1
    "#);
}
