//! Plans with incomplete data, and of clusters with problems.

use super::*;

/// 5.2.0 is reachable from 5.1.0 and from 5.1.1.
fn platform() -> Graph {
    let nodes = ["5.1.0", "5.1.1", "5.2.0"].map(|version| (version, "stable-5.2"));
    let edges: &[(&str, &str, &[&str])] =
        &[("5.1.0", "5.1.1", &[]), ("5.1.0", "5.2.0", &[]), ("5.1.1", "5.2.0", &[])];
    graph(&nodes, edges)
}

fn cluster() -> Scenario {
    Scenario::new(platform(), "5.1.0", "stable-5.2")
}

/// Sets a condition of ClusterVersion.
fn with_conditions(mut scenario: Scenario, conditions: &Value) -> Scenario {
    let status = scenario.cluster_version.status.as_mut().unwrap();
    status.conditions = serde_json::from_value(conditions.clone()).unwrap();
    scenario
}

/// Publishes a risk of 5.2.0 in the status.
fn publishing(mut scenario: Scenario, published: Value) -> Scenario {
    let name = published["name"].clone();
    let update = json!({"release": {"version": "5.2.0", "image": "x"}, "riskNames": [name]});
    let status = scenario.cluster_version.status.as_mut().unwrap();
    status.conditional_update_risks = vec![serde_json::from_value(published).unwrap()];
    status.conditional_updates = vec![serde_json::from_value(update).unwrap()];
    scenario
}

/// Risk with the condition `Applies`.
fn found(name: &str, status: &str, reason: &str) -> Value {
    let mut risk = risk(name);
    risk["conditions"] = json!([
        {"type": "Applies", "status": status, "reason": reason, "message": "No response."},
    ]);
    risk
}

#[test]
fn verdict_minor_update_with_unknown_olm_operators_is_unknown() {
    let missing = || Err("ConfigMap not found".to_owned());
    let gates = Ok([("ack-5.1-apis".to_owned(), "APIs go away.".to_owned())].into());
    let blind = [
        Scenario { operators_error: Some("forbidden"), ..cluster() },
        Scenario { gates: AdminGates { gates: missing(), ..AdminGates::default() }, ..cluster() },
        Scenario { gates: AdminGates { gates, acks: missing() }, ..cluster() },
    ];
    let told =
        blind.map(|scenario| ["5.2", "5.1"].map(|goal| sketch(&scenario.plan(goal))).join("\n"));
    insta::assert_snapshot!(told.join("\n"), @"
    5.1.0 -> 5.2: Unknown
    least risk: 5.2.0 with ClusterOperatorUpgradeableUnknown
    5.1.0 -> 5.1: Yes
    least risk: 5.1.1
    5.1.0 -> 5.2: Unknown
    least risk: 5.2.0 with AdminAckUnknown
    5.1.0 -> 5.1: Yes
    least risk: 5.1.1
    5.1.0 -> 5.2: Unknown
    least risk: 5.2.0 with AdminAckUnknown
    5.1.0 -> 5.1: Yes
    least risk: 5.1.1
    ");
    let gap = Limitation::Operators { message: "forbidden".to_owned() };
    let verdicts = ["5.2", "5.1"].map(|goal| {
        let plan = cluster().plan(goal);
        Plan { limitations: vec![gap.clone()], ..plan }.verdict()
    });
    assert_eq!(verdicts, [Verdict::Unknown, Verdict::Yes]);
}

#[test]
fn preflight_finding_applies_to_target_from_any_source() {
    let scenario =
        publishing(cluster(), found("CertificateExpires", "True", "PreflightValidation"));
    insta::assert_snapshot!(sketch(&scenario.plan("5.2")), @"
    5.1.0 -> 5.2: No
    least risk: 5.2.0 with CertificateExpires
    ");
}

#[test]
fn published_risk_with_name_of_other_edge_is_kept() {
    let nodes = ["5.1.0", "5.2.0", "5.2.1"].map(|version| (version, "stable-5.2"));
    let edges: &[(&str, &str, &[&str])] =
        &[("5.1.0", "5.2.0", &[]), ("5.2.0", "5.2.1", &["QStall"])];
    let scenario = Scenario::new(graph(&nodes, edges), "5.1.0", "stable-5.2");
    let scenario = publishing(scenario, found("QStall", "True", "Match"));
    insta::assert_snapshot!(sketch(&scenario.plan("5.2.0")), @"
    5.1.0 -> 5.2.0: No
    least risk: 5.2.0 with QStall
    ");
}

#[test]
fn risk_with_failed_evaluation_is_unknown_not_unevaluated() {
    let nodes = ["5.1.0", "5.2.0"].map(|version| (version, "stable-5.2"));
    let edges: &[(&str, &str, &[&str])] = &[("5.1.0", "5.2.0", &["QStall"])];
    let scenario = || Scenario::new(graph(&nodes, edges), "5.1.0", "stable-5.2");
    let with_ledger = publishing(scenario(), found("QStall", "Unknown", "EvaluationFailed"));
    let mut without = scenario();
    let update = json!({
        "release": {"version": "5.2.0", "image": "x"}, "risks": [risk("QStall")],
        "conditions": [{
            "type": "Recommended", "status": "Unknown", "reason": "EvaluationFailed",
            "message": "Could not evaluate exposure to update risk QStall (throttled)\n  More.",
        }],
    });
    let status = without.cluster_version.status.as_mut().unwrap();
    status.conditional_updates = vec![serde_json::from_value(update).unwrap()];
    for (scenario, why) in [
        (with_ledger, "No response."),
        (without, "Could not evaluate exposure to update risk QStall (throttled)"),
    ] {
        let plan = scenario.plan("5.2");
        assert_eq!(plan.open_queries, BTreeSet::from(["QStall".to_owned()]), "others may know");
        let hop = &plan.least_risk.unwrap().hops[0];
        assert_eq!(
            (hop.risks[0].exposure, hop.risks[0].exposure_message.as_str()),
            (Exposure::Unknown, why)
        );
        assert_eq!(hop.prerequisites, [Prerequisite::Acceptance { risk: "QStall".to_owned() }]);
    }
}

#[test]
fn exposure_without_ledger_is_derived_from_recommended() {
    let nodes = ["5.1.0", "5.2.0"].map(|version| (version, "stable-5.2"));
    let names = ["QTold", "QFailed", "QSilent"];
    let mut scenario =
        Scenario::new(graph(&nodes, &[("5.1.0", "5.2.0", &names)]), "5.1.0", "stable-5.2");
    let mut exposures = |message: &str| {
        let update = json!({
            "release": {"version": "5.2.0", "image": "x"}, "risks": names.map(risk),
            "conditions": [{
                "type": "Recommended", "status": "False", "reason": "MultipleReasons",
                "message": message,
            }],
        });
        let status = scenario.cluster_version.status.as_mut().unwrap();
        status.conditional_updates = vec![serde_json::from_value(update).unwrap()];
        let explained =
            names.map(|name| Exposure::of(status, &status.conditional_updates[0], name, false));
        let plan = scenario.plan("5.2");
        let mut planned: Vec<_> = plan.least_risk.unwrap().hops[0].risks.clone();
        planned.sort_by_key(|risk| names.iter().position(|name| *name == risk.name));
        let planned: Vec<_> = planned.iter().map(|risk| risk.exposure).collect();
        format!("{explained:?}\n{planned:?}\nto be evaluated: {:?}", plan.open_queries)
    };
    let each = "QTold may happen. https://example.com/QTold\n\nExposure to QFailed is unknown due to \
        an evaluation failure: throttled\nQFailed may happen. https://example.com/QFailed";
    insta::assert_snapshot!(exposures(each), @r#"
    [Exposed, Unknown, NotExposed]
    [Exposed, Unknown, NotExposed]
    to be evaluated: {"QFailed"}
    "#);
    insta::assert_snapshot!(exposures("It is not."), @r#"
    [NotReported, NotReported, NotReported]
    [NotEvaluated, NotEvaluated, NotEvaluated]
    to be evaluated: {"QFailed", "QSilent", "QTold"}
    "#);
}

#[test]
fn failing_cluster_needs_repair_before_first_hop() {
    let failing = |reason: &str| json!([{"type": "Failing", "status": "True", "reason": reason, "message": "etcd is down."}]);
    let plan = with_conditions(cluster(), &failing("UpdatePayloadFailed")).plan("5.1");
    assert_eq!(plan.verdict(), Verdict::No);
    let needs = &plan.least_risk.unwrap().hops[0].prerequisites;
    insta::assert_snapshot!(serde_json::to_string(needs).unwrap(), @r#"[{"type":"repair","condition":"Failing","message":"etcd is down.","risk":null}]"#);
    let degraded = with_conditions(cluster(), &failing("ClusterOperatorDegraded")).plan("5.1");
    assert_eq!(degraded.verdict(), Verdict::Yes);
}

#[test]
fn upgradeable_false_without_ledger_blocks_minor_updates() {
    let condition = json!([{"type": "Upgradeable", "status": "False", "message": "APIs go away."}]);
    let scenario = with_conditions(cluster(), &condition);
    let told = ["5.2", "5.1"].map(|goal| sketch(&scenario.plan(goal)));
    insta::assert_snapshot!(told.join("\n"), @"
    5.1.0 -> 5.2: No
    least risk: 5.2.0 with UpgradeableFalse
    5.1.0 -> 5.1: Yes
    least risk: 5.1.1
    ");
    let component = json!({"metadata": {"name": "storage"}, "spec": {}, "status": {"conditions": [
        {"type": "Upgradeable", "status": "False", "message": "The driver is old."},
    ]}});
    let explained =
        Scenario { components: vec![serde_json::from_value(component).unwrap()], ..scenario };
    insta::assert_snapshot!(sketch(&explained.plan("5.2")), @"
    5.1.0 -> 5.2: No
    least risk: 5.2.0 with ClusterOperatorUpgradeable-storage
    ");
    let counted =
        publishing(with_conditions(cluster(), &condition), found("Loss", "False", "NotMatch"));
    assert_eq!(counted.plan("5.2").verdict(), Verdict::Yes);
}

#[test]
fn verdict_no_path_with_unknown_channels_is_unknown() {
    let plan = cluster().plan("5.3");
    assert_eq!(plan.verdict(), Verdict::No);
    let channels = BTreeSet::from(["stable-5.3".to_owned()]);
    let gap = Limitation::Channels { channels, message: "it took too long".to_owned() };
    assert_eq!(Plan { limitations: vec![gap], ..plan }.verdict(), Verdict::Unknown);
}

#[test]
fn empty_channel_argument_is_a_limitation() {
    let also = ["fast-5.2", "stable-5.2"].map(str::to_owned);
    let told = sketch(&cluster().plan_in("5.1", &also));
    insta::assert_snapshot!(told, @r#"
    5.1.0 -> 5.1: Yes
    least risk: 5.1.1
    not known: EmptyChannel { channel: "fast-5.2" }
    "#);
    assert_eq!(cluster().plan_in("stable-5.3", &[]).limitations, [], "that is the goal itself");
}

#[test]
fn latest_without_later_release_is_current() {
    let verdict = |retrieved: &str| {
        let conditions = json!([{"type": "RetrievedUpdates", "status": retrieved}]);
        let mut scenario = with_conditions(cluster(), &conditions);
        let status = scenario.cluster_version.status.as_mut().unwrap();
        status.desired.channels = vec!["stable-5.2".to_owned()];
        let why = "no response".to_owned();
        scenario.graph_source = GraphSource::ClusterVersion { message: why };
        let cluster = ClusterState {
            cluster_version: &scenario.cluster_version,
            components: &[],
            operators_error: None,
            gates: &scenario.gates,
            outcomes: &scenario.outcomes,
            now: Timestamp::UNIX_EPOCH,
        };
        scenario.graph = cluster.listed().unwrap();
        sketch(&scenario.plan("latest"))
    };
    insta::assert_snapshot!([verdict("True"), verdict("False")].join("\n"), @"
    5.1.0 -> latest: Yes
    least risk: 
    5.1.0 -> latest: Unknown
    not offered: UnknownVersion
    ");
}

#[test]
fn commands_quote_names_for_the_shell() {
    let nodes = ["5.1.0", "5.2.0"].map(|version| (version, "stable$(id)-5.2"));
    let edges: &[(&str, &str, &[&str])] = &[("5.1.0", "5.2.0", &["A;curl x|sh", "Gone-"])];
    let scenario = Scenario::new(graph(&nodes, edges), "5.1.0", "");
    let commands = &scenario.plan("5.2").least_risk.unwrap().hops[0].commands;
    insta::assert_snapshot!(commands.join("\n"), @"
    fairway upgrade channel 'stable$(id)-5.2'
    fairway upgrade accept InvalidRisk-896dfe027d61,InvalidRisk-bcbcad25bb44 --for=5.2.0
    fairway upgrade --to=5.2.0 --wait
    ");
}
