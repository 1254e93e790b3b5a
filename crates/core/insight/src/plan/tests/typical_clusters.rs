//! Plans of typical clusters.

use fairway_api::Conditions as _;
use fairway_risk::QueryFailure;

use super::*;

const ALL: &str = "stable-5.0,stable-5.1,stable-5.2";

/// 5.2.0 is reachable from 5.1.0, with a risk, and from 5.0.1, as a skip-level update.
fn platform() -> Graph {
    graph(
        &[
            ("5.0.0", ALL),
            ("5.0.1", ALL),
            ("5.1.0", "stable-5.1,stable-5.2"),
            ("5.2.0", "stable-5.2"),
        ],
        &[
            ("5.0.0", "5.0.1", &[]),
            ("5.0.0", "5.1.0", &[]),
            ("5.0.1", "5.1.0", &[]),
            ("5.0.1", "5.2.0", &[]),
            ("5.1.0", "5.2.0", &["QStall"]),
        ],
    )
}

fn cluster() -> Scenario {
    Scenario::new(platform(), "5.0.0", "stable-5.0")
}

#[test]
fn least_risk_avoids_unevaluated_risks() {
    let plan = cluster().plan("5.2.0");
    insta::assert_snapshot!(sketch(&plan), @r#"
    5.0.0 -> 5.2.0: Yes
    least risk: 5.0.1, 5.2.0
    not offered: NotInChannel { channels: ["stable-5.2"] }
    "#);
    assert_eq!(plan.open_queries, BTreeSet::from(["QStall".to_owned()]), "it may tell of another");
    let through = Scenario::new(platform(), "5.1.0", "stable-5.2").plan("5.2");
    insta::assert_snapshot!(sketch(&through), @"
    5.1.0 -> 5.2: Unknown
    least risk: 5.2.0 with QStall
    ");
    assert_eq!(through.open_queries, BTreeSet::from(["QStall".to_owned()]));
}

#[test]
fn risk_that_does_not_apply_does_not_block() {
    let plan = cluster().answering("QStall", Ok(false)).plan("5.2");
    insta::assert_snapshot!(sketch(&plan), @r#"
    5.0.0 -> 5.2: Yes
    least risk: 5.1.0, 5.2.0
    not offered: NotInChannel { channels: ["stable-5.2"] }
    not known: LaterReleases
    "#);
    let hop = &plan.least_risk.unwrap().hops[1];
    assert_eq!((hop.risks[0].exposure, hop.risks[0].blocking), (Exposure::NotExposed, false));
}

#[test]
fn applying_risk_without_alternative_is_on_the_path() {
    let scenario = Scenario::new(platform(), "5.1.0", "stable-5.2").answering("QStall", Ok(true));
    insta::assert_snapshot!(sketch(&scenario.plan("5.2")), @"
    5.1.0 -> 5.2: No
    least risk: 5.2.0 with QStall
    ");
    let scenario = scenario.accepting(&["QStall"]);
    insta::assert_snapshot!(sketch(&scenario.plan("5.2")), @"
    5.1.0 -> 5.2: Yes
    least risk: 5.2.0
    ");
    let unclear = scenario.accepting(&[]).answering("QStall", Err(QueryFailure::NoSeries));
    let plan = unclear.plan("5.2");
    assert_eq!(plan.verdict(), Verdict::Unknown);
    assert_eq!(plan.least_risk.unwrap().hops[0].risks[0].exposure, Exposure::Unknown);
}

#[test]
fn hop_lists_prerequisites_and_commands() {
    let mut scenario =
        Scenario::new(platform(), "5.1.0", "stable-5.1").answering("QStall", Ok(true));
    scenario.gates = AdminGates {
        gates: Ok([("ack-5.1-apis".to_owned(), "APIs go away.".to_owned())].into()),
        ..AdminGates::default()
    };
    let report = json!({"kind": "RiskReport", "version": "v1", "risks": [
        {"name": "OperatorWillNotRun-team:etcd.v1", "message": "etcd runs up to 5.1.", "targets": ">=5.2.0"},
    ]});
    let component =
        json!({"metadata": {"name": "olm"}, "spec": {}, "status": {"extension": report}});
    scenario.components = vec![serde_json::from_value(component).unwrap()];
    let plan = scenario.plan("5.2");
    insta::assert_snapshot!(sketch(&plan), @r#"
    5.1.0 -> 5.2: No
    least risk: 5.2.0 with AdminAck-ack-5.1-apis,OperatorWillNotRun-team:etcd.v1,QStall
    not offered: NotInChannel { channels: ["stable-5.2"] }
    "#);
    let path = plan.fewest_hops.unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&path.hops[0].prerequisites).unwrap(), @r#"
    [
      {
        "type": "operator",
        "risk": "OperatorWillNotRun-team:etcd.v1",
        "operator": "team/etcd.v1"
      },
      {
        "type": "confirmation",
        "risk": "AdminAck-ack-5.1-apis",
        "message": "APIs go away.",
        "command": "kubectl -n openshift-config patch configmap admin-acks --type=merge -p '{\"data\":{\"ack-5.1-apis\":\"true\"}}'"
      },
      {
        "type": "channel",
        "channel": "stable-5.2"
      },
      {
        "type": "acceptance",
        "risk": "QStall"
      }
    ]
    "#);
    let commands: Vec<&str> =
        path.hops.iter().flat_map(|hop| &hop.commands).map(String::as_str).collect();
    insta::assert_snapshot!(commands.join("\n"), @r#"
    kubectl -n openshift-config patch configmap admin-acks --type=merge -p '{"data":{"ack-5.1-apis":"true"}}'
    fairway upgrade channel stable-5.2
    fairway upgrade accept QStall --for=5.2.0
    fairway upgrade --to=5.2.0 --wait
    "#);
}

#[test]
fn skip_level_hop_needs_preflight() {
    let plan = cluster().plan("5.2.0");
    let path = plan.least_risk.unwrap();
    insta::assert_snapshot!(path.hops[1].commands.join("\n"), @"
    fairway upgrade channel stable-5.2
    fairway upgrade --mode=preflight --to=5.2.0 --wait
    fairway upgrade --to=5.2.0 --yes --wait
    ");
}

#[test]
fn upgradeable_false_blocks_only_current_minor() {
    let mut scenario = cluster().answering("QStall", Ok(false));
    let component = json!({"metadata": {"name": "storage"}, "spec": {}, "status": {"conditions": [
        {"type": "Upgradeable", "status": "False", "reason": "OldDriver", "message": "The driver is old."},
    ]}});
    scenario.components = vec![serde_json::from_value(component).unwrap()];
    let plan = scenario.plan("5.2");
    insta::assert_snapshot!(sketch(&plan), @r#"
    5.0.0 -> 5.2: No
    least risk: 5.1.0 with ClusterOperatorUpgradeable-storage, 5.2.0
    not offered: NotInChannel { channels: ["stable-5.2"] }
    not known: LaterReleases
    "#);
}

#[test]
fn exposure_reported_by_operator_is_used() {
    let mut scenario = Scenario::new(platform(), "5.1.0", "stable-5.2");
    let mut known = risk("QStall");
    known["conditions"] =
        json!([{"type": "Applies", "status": "False", "reason": "NotMatch", "message": "no"}]);
    let mut alert = risk("DiskFull");
    alert["conditions"] = json!([{"type": "Applies", "status": "True", "reason": "Alert:firing", "message": "It fires."}]);
    let update =
        json!({"release": {"version": "5.2.0", "image": "x"}, "riskNames": ["DiskFull", "QStall"]});
    let status = scenario.cluster_version.status.as_mut().unwrap();
    status.conditional_update_risks = serde_json::from_value(json!([known, alert])).unwrap();
    status.conditional_updates = vec![serde_json::from_value(update).unwrap()];
    let plan = scenario.plan("5.2");
    insta::assert_snapshot!(sketch(&plan), @"
    5.1.0 -> 5.2: No
    least risk: 5.2.0 with DiskFull
    ");

    // A risk with another definition is another risk.
    let status = scenario.cluster_version.status.as_mut().unwrap();
    status.conditional_update_risks[0].message = "Something else.".to_owned();
    assert!(status.conditional_update_risks[0].conditions.is_false("Applies"));
    let plan = scenario.plan("5.2");
    assert_eq!(plan.open_queries, BTreeSet::from(["QStall".to_owned()]));
}

#[test]
fn first_hop_waits_for_update_in_progress() {
    let mut scenario = cluster().answering("QStall", Ok(false));
    let status = scenario.cluster_version.status.as_mut().unwrap();
    status.conditions = serde_json::from_value(json!([
        {"type": "Progressing", "status": "True", "message": "Working towards 5.0.0"},
    ]))
    .unwrap();
    let path = scenario.plan("5.1").least_risk.unwrap();
    insta::assert_snapshot!(path.hops[0].commands.join("\n"), @"
    fairway upgrade status --watch
    fairway upgrade channel stable-5.2
    fairway upgrade --to=5.1.0 --wait
    ");
}

#[test]
fn stream_goal_prefers_latest_release_without_risk() {
    let nodes =
        [("5.0.0", ALL), ("5.0.1", ALL), ("5.0.2", ALL), ("5.0.3", ALL), ("5.0.4-rc.1", ALL)];
    let edges: &[(&str, &str, &[&str])] =
        &[("5.0.0", "5.0.1", &[]), ("5.0.0", "5.0.2", &["Loss"]), ("5.0.0", "5.0.4-rc.1", &[])];
    let scenario = Scenario::new(graph(&nodes, edges), "5.0.0", "stable-5.0");
    let told = ["5.0", "stable-5.0", "latest", "5.0.2", "5.0.4-rc.1"]
        .map(|goal| sketch(&scenario.plan(goal)));
    insta::assert_snapshot!(told.join("\n\n"), @r#"
    5.0.0 -> 5.0: Yes
    least risk: 5.0.1
    passed over: 5.0.3 []
    passed over: 5.0.2 ["Loss"]

    5.0.0 -> stable-5.0: Yes
    least risk: 5.0.1
    passed over: 5.0.3 []
    passed over: 5.0.2 ["Loss"]

    5.0.0 -> latest: Yes
    least risk: 5.0.1
    passed over: 5.0.3 []
    passed over: 5.0.2 ["Loss"]

    5.0.0 -> 5.0.2: No
    least risk: 5.0.2 with Loss

    5.0.0 -> 5.0.4-rc.1: Yes
    least risk: 5.0.4-rc.1
    "#);
}

#[test]
fn goal_already_reached_has_no_hops() {
    let scenario = Scenario::new(platform(), "5.2.0", "stable-5.2");
    let told = ["5.2.0", "5.2", "latest"].map(|goal| sketch(&scenario.plan(goal)));
    insta::assert_snapshot!(told.join("\n"), @"
    5.2.0 -> 5.2.0: Yes
    least risk: 
    5.2.0 -> 5.2: Yes
    least risk: 
    5.2.0 -> latest: Yes
    least risk:
    ");
}

#[test]
fn no_path_has_not_offered_reason() {
    let nodes = [
        ("5.0.0", "stable-5.0,candidate-5.0"),
        ("5.0.1", "stable-5.0"),
        ("5.0.2", "candidate-5.0"),
        ("5.1.0", "stable-5.0"),
        ("5.3.0", "stable-5.0"),
        ("5.4.0", "stable-5.0"),
    ];
    let edges: &[(&str, &str, &[&str])] =
        &[("5.0.0", "5.0.2", &[]), ("5.0.0", "5.3.0", &[]), ("5.0.1", "5.1.0", &[])];
    let scenario = Scenario::new(graph(&nodes, edges), "5.0.0", "stable-5.0");
    let told = ["5.0.2", "5.1.0", "5.3.0", "5.4.0", "5.9.0", "5.9", "4.9.0"]
        .map(|goal| sketch(&scenario.plan(goal)));
    insta::assert_snapshot!(told.join("\n"), @r#"
    5.0.0 -> 5.0.2: No
    not offered: NotInChannel { channels: ["candidate-5.0"] }
    5.0.0 -> 5.1.0: No
    not offered: NoEdge { from_versions: ["5.0.1"] }
    5.0.0 -> 5.3.0: No
    not offered: Guard { minor_distance: Some(3) }
    5.0.0 -> 5.4.0: No
    not offered: NoEdge { from_versions: [] }
    5.0.0 -> 5.9.0: No
    not offered: UnknownVersion
    5.0.0 -> 5.9: No
    not offered: UnknownVersion
    5.0.0 -> 4.9.0: No
    not offered: Older
    "#);
    let there = scenario.plan_in("5.0.2", &["candidate-5.0".to_owned()]);
    insta::assert_snapshot!(sketch(&there), @r#"
    5.0.0 -> 5.0.2: Yes
    least risk: 5.0.2
    not offered: NotInChannel { channels: ["candidate-5.0"] }
    "#);
    let lost = Scenario::new(graph(&nodes, edges), "5.0.9", "stable-5.0");
    let told = ["5.1", "5.7", "5.7.0"].map(|goal| sketch(&lost.plan(goal)));
    insta::assert_snapshot!(told.join("\n"), @"
    5.0.9 -> 5.1: Unknown
    not offered: UnknownCurrentVersion
    5.0.9 -> 5.7: Unknown
    not offered: UnknownCurrentVersion
    5.0.9 -> 5.7.0: Unknown
    not offered: UnknownCurrentVersion
    ");
}

#[test]
fn graph_of_cluster_version_has_one_hop() {
    let mut scenario = cluster();
    let status = scenario.cluster_version.status.as_mut().unwrap();
    let release = |version: &str| json!({"version": version, "image": format!("image-{version}")});
    status.available_updates = serde_json::from_value(json!([release("5.0.1")])).unwrap();
    let update =
        json!({"release": release("5.1.0"), "risks": [risk("Loss")], "riskNames": ["Loss"]});
    status.conditional_updates = vec![serde_json::from_value(update).unwrap()];
    let cluster = ClusterState {
        cluster_version: &scenario.cluster_version,
        components: &[],
        operators_error: None,
        gates: &AdminGates::default(),
        outcomes: &QueryOutcomes::new(),
        now: Timestamp::UNIX_EPOCH,
    };
    scenario.graph = cluster.listed().unwrap();
    scenario.graph_source = GraphSource::ClusterVersion { message: "no response".to_owned() };
    let told = ["5.0", "latest", "5.1", "5.2"].map(|goal| sketch(&scenario.plan(goal)));
    insta::assert_snapshot!(told.join("\n"), @r#"
    5.0.0 -> 5.0: Yes
    least risk: 5.0.1
    5.0.0 -> latest: Yes
    least risk: 5.0.1
    passed over: 5.1.0 ["Loss"]
    5.0.0 -> 5.1: No
    least risk: 5.1.0 with Loss
    5.0.0 -> 5.2: Unknown
    not offered: UnknownVersion
    "#);
}

#[test]
fn unasked_returns_channels_up_to_goal() {
    let goal: Goal = "5.2".parse().unwrap();
    let channel_set = ChannelSet::new(Some("stable-5.0"), &[], &goal);
    assert_eq!(channel_set.first(), BTreeSet::from(["stable-5.0".to_owned()]));
    let nodes = [
        ("5.0.1", "stable-4.9,stable-5.0,stable-5.1,fast-5.1"),
        ("5.1.0", "stable-5.2,stable-5.3"),
    ];
    let unqueried = channel_set.unqueried(
        &graph(&nodes, &[]),
        &channel_set.first(),
        &Version::new(5, 0, 0),
        &goal,
    );
    assert_eq!(unqueried.into_iter().collect::<Vec<_>>(), ["stable-5.1", "stable-5.2"]);
}

#[test]
fn json_document_is_complete() {
    let plan = Scenario::new(platform(), "5.1.0", "stable-5.1").plan("5.2");
    insta::assert_snapshot!(serde_json::to_string_pretty(&plan).unwrap());
}
