//! What nobody could look at, and what is wrong with the cluster.

use super::*;

/// 5.2.0 is reached from 5.1.0, and from 5.1.1.
fn platform() -> Graph {
    let nodes = ["5.1.0", "5.1.1", "5.2.0"].map(|version| (version, "stable-5.2"));
    let edges: &[(&str, &str, &[&str])] =
        &[("5.1.0", "5.1.1", &[]), ("5.1.0", "5.2.0", &[]), ("5.1.1", "5.2.0", &[])];
    graph(&nodes, edges)
}

fn cluster() -> World {
    World::new(platform(), "5.1.0", "stable-5.2")
}

/// What ClusterVersion says by a condition.
fn saying(mut world: World, conditions: &Value) -> World {
    let status = world.cluster_version.status.as_mut().unwrap();
    status.conditions = serde_json::from_value(conditions.clone()).unwrap();
    world
}

/// The operator of the cluster has published that risk of 5.2.0.
fn publishing(mut world: World, published: Value) -> World {
    let name = published["name"].clone();
    let update = json!({"release": {"version": "5.2.0", "image": "x"}, "riskNames": [name]});
    let status = world.cluster_version.status.as_mut().unwrap();
    status.conditional_update_risks = vec![serde_json::from_value(published).unwrap()];
    status.conditional_updates = vec![serde_json::from_value(update).unwrap()];
    world
}

/// A risk, and what the operator has found out about it.
fn found(name: &str, status: &str, reason: &str) -> Value {
    let mut risk = risk(name);
    risk["conditions"] = json!([
        {"type": "Applies", "status": status, "reason": reason, "message": "Nobody answers."},
    ]);
    risk
}

#[test]
fn whoever_could_not_look_does_not_say_yes_to_another_minor_version() {
    let missing = || Err("ConfigMap not found".to_owned());
    let asked = Ok([("ack-5.1-apis".to_owned(), "APIs go away.".to_owned())].into());
    let blind = [
        World { unlisted: Some("forbidden"), ..cluster() },
        World { gates: Gates { asked: missing(), ..Gates::default() }, ..cluster() },
        World { gates: Gates { asked, confirmed: missing() }, ..cluster() },
    ];
    let told = blind.map(|world| ["5.2", "5.1"].map(|goal| sketch(&world.plan(goal))).join("\n"));
    insta::assert_snapshot!(told.join("\n"), @"
    5.1.0 -> 5.2: CannotTell
    least risk: 5.2.0 with ClusterOperatorUpgradeableUnknown
    5.1.0 -> 5.1: Yes
    least risk: 5.1.1
    5.1.0 -> 5.2: CannotTell
    least risk: 5.2.0 with AdminAckUnknown
    5.1.0 -> 5.1: Yes
    least risk: 5.1.1
    5.1.0 -> 5.2: CannotTell
    least risk: 5.2.0 with AdminAckUnknown
    5.1.0 -> 5.1: Yes
    least risk: 5.1.1
    ");
    let gap = Limitation::Operators { message: "forbidden".to_owned() };
    let verdicts = ["5.2", "5.1"].map(|goal| {
        let plan = cluster().plan(goal);
        Plan { limitations: vec![gap.clone()], ..plan }.verdict()
    });
    assert_eq!(verdicts, [Verdict::CannotTell, Verdict::Yes]);
}

#[test]
fn a_finding_of_a_preflight_is_about_the_release_wherever_one_comes_from() {
    let world = publishing(cluster(), found("CertificateExpires", "True", "PreflightValidation"));
    insta::assert_snapshot!(sketch(&world.plan("5.2")), @"
    5.1.0 -> 5.2: No
    least risk: 5.2.0 with CertificateExpires
    ");
}

#[test]
fn a_risk_of_another_update_does_not_hide_a_published_one_of_its_name() {
    let nodes = ["5.1.0", "5.2.0", "5.2.1"].map(|version| (version, "stable-5.2"));
    let edges: &[(&str, &str, &[&str])] =
        &[("5.1.0", "5.2.0", &[]), ("5.2.0", "5.2.1", &["QStall"])];
    let world = World::new(graph(&nodes, edges), "5.1.0", "stable-5.2");
    let world = publishing(world, found("QStall", "True", "Match"));
    insta::assert_snapshot!(sketch(&world.plan("5.2.0")), @"
    5.1.0 -> 5.2.0: No
    least risk: 5.2.0 with QStall
    ");
}

#[test]
fn what_the_operator_has_asked_in_vain_was_asked() {
    let nodes = ["5.1.0", "5.2.0"].map(|version| (version, "stable-5.2"));
    let edges: &[(&str, &str, &[&str])] = &[("5.1.0", "5.2.0", &["QStall"])];
    let world = || World::new(graph(&nodes, edges), "5.1.0", "stable-5.2");
    let with_ledger = publishing(world(), found("QStall", "Unknown", "EvaluationFailed"));
    let mut without = world();
    let update = json!({
        "release": {"version": "5.2.0", "image": "x"}, "risks": [risk("QStall")],
        "conditions": [{
            "type": "Recommended", "status": "Unknown", "reason": "EvaluationFailed",
            "message": "Could not evaluate exposure to update risk QStall (throttled)\n  More.",
        }],
    });
    let status = without.cluster_version.status.as_mut().unwrap();
    status.conditional_updates = vec![serde_json::from_value(update).unwrap()];
    for (world, why) in [
        (with_ledger, "Nobody answers."),
        (without, "Could not evaluate exposure to update risk QStall (throttled)"),
    ] {
        let plan = world.plan("5.2");
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
fn operators_without_a_ledger_tell_of_an_update_which_of_its_risks_apply() {
    let nodes = ["5.1.0", "5.2.0"].map(|version| (version, "stable-5.2"));
    let names = ["QTold", "QFailed", "QSilent"];
    let mut world = World::new(graph(&nodes, &[("5.1.0", "5.2.0", &names)]), "5.1.0", "stable-5.2");
    let mut exposures = |message: &str| {
        let update = json!({
            "release": {"version": "5.2.0", "image": "x"}, "risks": names.map(risk),
            "conditions": [{
                "type": "Recommended", "status": "False", "reason": "MultipleReasons",
                "message": message,
            }],
        });
        let status = world.cluster_version.status.as_mut().unwrap();
        status.conditional_updates = vec![serde_json::from_value(update).unwrap()];
        let explained = names
            .map(|name| crate::Exposure::of(status, &status.conditional_updates[0], name, false));
        let plan = world.plan("5.2");
        let mut planned: Vec<_> = plan.least_risk.unwrap().hops[0].risks.clone();
        planned.sort_by_key(|risk| names.iter().position(|name| *name == risk.name));
        let planned: Vec<_> = planned.iter().map(|risk| risk.exposure).collect();
        format!("{explained:?}\n{planned:?}\nto be asked: {:?}", plan.open_queries)
    };
    let each = "QTold may happen. https://example.com/QTold\n\nExposure to QFailed is unknown due to \
        an evaluation failure: throttled\nQFailed may happen. https://example.com/QFailed";
    insta::assert_snapshot!(exposures(each), @r#"
    [Exposed, Unknown, NotExposed]
    [Exposed, Unknown, NotExposed]
    to be asked: {"QFailed"}
    "#);
    insta::assert_snapshot!(exposures("It is not."), @r#"
    [NotReported, NotReported, NotReported]
    [NotEvaluated, NotEvaluated, NotEvaluated]
    to be asked: {"QFailed", "QSilent", "QTold"}
    "#);
}

#[test]
fn a_cluster_that_is_failing_is_mended_first() {
    let failing = |reason: &str| json!([{"type": "Failing", "status": "True", "reason": reason, "message": "etcd is down."}]);
    let plan = saying(cluster(), &failing("UpdatePayloadFailed")).plan("5.1");
    assert_eq!(plan.verdict(), Verdict::No);
    let needs = &plan.least_risk.unwrap().hops[0].prerequisites;
    insta::assert_snapshot!(serde_json::to_string(needs).unwrap(), @r#"[{"type":"repair","condition":"Failing","message":"etcd is down.","risk":null}]"#);
    let degraded = saying(cluster(), &failing("ClusterOperatorDegraded")).plan("5.1");
    assert_eq!(degraded.verdict(), Verdict::Yes);
}

#[test]
fn that_cluster_version_is_not_upgradeable_counts_where_nobody_says_why() {
    let condition = json!([{"type": "Upgradeable", "status": "False", "message": "APIs go away."}]);
    let world = saying(cluster(), &condition);
    let told = ["5.2", "5.1"].map(|goal| sketch(&world.plan(goal)));
    insta::assert_snapshot!(told.join("\n"), @"
    5.1.0 -> 5.2: No
    least risk: 5.2.0 with UpgradeableFalse
    5.1.0 -> 5.1: Yes
    least risk: 5.1.1
    ");
    let component = json!({"metadata": {"name": "storage"}, "spec": {}, "status": {"conditions": [
        {"type": "Upgradeable", "status": "False", "message": "The driver is old."},
    ]}});
    let explained = World { components: vec![serde_json::from_value(component).unwrap()], ..world };
    insta::assert_snapshot!(sketch(&explained.plan("5.2")), @"
    5.1.0 -> 5.2: No
    least risk: 5.2.0 with ClusterOperatorUpgradeable-storage
    ");
    let counted = publishing(saying(cluster(), &condition), found("Loss", "False", "NotMatch"));
    assert_eq!(counted.plan("5.2").verdict(), Verdict::Yes);
}

#[test]
fn where_a_channel_was_not_told_of_nobody_says_that_there_is_no_way() {
    let plan = cluster().plan("5.3");
    assert_eq!(plan.verdict(), Verdict::No);
    let channels = BTreeSet::from(["stable-5.3".to_owned()]);
    let gap = Limitation::Channels { channels, message: "it took too long".to_owned() };
    assert_eq!(Plan { limitations: vec![gap], ..plan }.verdict(), Verdict::CannotTell);
}

#[test]
fn a_channel_that_nothing_is_in_is_told() {
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
fn a_cluster_that_is_offered_nothing_later_has_the_latest() {
    let verdict = |retrieved: &str| {
        let conditions = json!([{"type": "RetrievedUpdates", "status": retrieved}]);
        let mut world = saying(cluster(), &conditions);
        let status = world.cluster_version.status.as_mut().unwrap();
        status.desired.channels = vec!["stable-5.2".to_owned()];
        let why = "nobody was asked".to_owned();
        world.graph_source = GraphSource::ClusterVersion { message: why };
        let outlook = Outlook {
            cluster_version: &world.cluster_version,
            components: &[],
            unlisted: None,
            gates: &world.gates,
            outcomes: &world.outcomes,
            now: Timestamp::UNIX_EPOCH,
        };
        world.graph = outlook.listed().unwrap();
        sketch(&world.plan("latest"))
    };
    insta::assert_snapshot!([verdict("True"), verdict("False")].join("\n"), @"
    5.1.0 -> latest: Yes
    least risk: 
    5.1.0 -> latest: CannotTell
    not offered: UnknownVersion
    ");
}

#[test]
fn names_of_others_are_words_in_commands() {
    let nodes = ["5.1.0", "5.2.0"].map(|version| (version, "stable$(id)-5.2"));
    let edges: &[(&str, &str, &[&str])] = &[("5.1.0", "5.2.0", &["A;curl x|sh", "Gone-"])];
    let world = World::new(graph(&nodes, edges), "5.1.0", "");
    let commands = &world.plan("5.2").least_risk.unwrap().hops[0].commands;
    insta::assert_snapshot!(commands.join("\n"), @"
    fairway upgrade channel 'stable$(id)-5.2'
    fairway upgrade accept InvalidRisk-896dfe027d61,InvalidRisk-bcbcad25bb44 --for=5.2.0
    fairway upgrade --to=5.2.0 --wait
    ");
}
