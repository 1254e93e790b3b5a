//! What is told about an update, from little clusters.
#![expect(clippy::needless_pass_by_value, reason = "values are written where they are used")]

use fairway_api::{ClusterOperator, ClusterVersion};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::alerts::{self, Alerts};

/// So many seconds after everything began.
pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_767_225_600 + second).unwrap()
}

pub(crate) fn object<T: serde::de::DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).unwrap()
}

pub(crate) fn cluster_version(version: &str, since: Timestamp) -> ClusterVersion {
    object(json!({
        "metadata": {"name": "version"},
        "spec": {"clusterID": ""},
        "status": {
            "desired": {"version": version, "image": "release@sha256:2"},
            "history": [
                {"state": "Partial", "version": version, "image": "release@sha256:2", "startedTime": since},
                {"state": "Completed", "version": "5.1.0", "image": "release@sha256:1",
                 "startedTime": at(-86_400), "completionTime": at(-82_800)},
            ],
            "conditions": [
                {"type": "Progressing", "status": "True", "lastTransitionTime": since, "message": "Working"},
                {"type": "Failing", "status": "False", "lastTransitionTime": since},
            ],
        },
    }))
}

pub(crate) fn operator(
    name: &str,
    version: &str,
    conditions: &[(&str, &str, Timestamp)],
) -> ClusterOperator {
    let conditions: Vec<Value> = conditions
        .iter()
        .map(|(type_, status, since)| {
            json!({"type": type_, "status": status, "lastTransitionTime": since,
                   "reason": "Why", "message": format!("{name} says so")})
        })
        .collect();
    object(json!({
        "metadata": {"name": name, "annotations": {"include.release.openshift.io/x": "true"}},
        "spec": {},
        "status": {"conditions": conditions, "versions": [{"name": "operator", "version": version}]},
    }))
}

/// An operator that works and does nothing.
fn quiet(name: &str, version: &str) -> ClusterOperator {
    let conditions = [("Available", "True"), ("Progressing", "False"), ("Degraded", "False")];
    operator(name, version, &conditions.map(|(type_, status)| (type_, status, at(0))))
}

/// A cluster on its way from 5.1.0 to 5.2.0 since `at(0)`: two operators are done, one is at it, one
/// waits.
fn cluster() -> Cluster {
    let conditions = [("Available", "True", at(0)), ("Progressing", "True", at(300))];
    Cluster {
        version: cluster_version("5.2.0", at(0)),
        operators: vec![
            quiet("etcd", "5.2.0"),
            quiet("kube-apiserver", "5.2.0"),
            operator("network", "5.1.0", &conditions),
            quiet("machine-config", "5.1.0"),
        ],
        pools: vec![pool("master"), pool("worker")],
        configs: ["old", "new"].map(config).to_vec(),
        nodes: vec![node("master-0", "master", json!({})), node("worker-0", "worker", json!({}))],
        node_operator_image: None,
        alerts: Alerts::Known(Vec::new()),
    }
}

fn pool(name: &str) -> crate::objects::MachineConfigPool {
    let selector = json!({"matchLabels": {format!("role/{name}"): ""}});
    object(json!({
        "metadata": {"name": name},
        "spec": {"nodeSelector": selector, "configuration": {"name": "new"}},
    }))
}

fn config(name: &str) -> crate::objects::MachineConfig {
    let version = if name == "new" { "5.2.0" } else { "5.1.0" };
    let key = "machineconfiguration.openshift.io/release-image-version";
    object(json!({"metadata": {"name": name, "annotations": {key: version}}}))
}

/// A node that has the old configuration and is to have it, unless the annotations say otherwise.
fn node(name: &str, role: &str, annotations: Value) -> crate::objects::Node {
    let prefix = "machineconfiguration.openshift.io";
    let mut all = json!({
        format!("{prefix}/currentConfig"): "old",
        format!("{prefix}/desiredConfig"): "old",
        format!("{prefix}/state"): "Done",
    });
    for (key, value) in annotations.as_object().unwrap() {
        all[format!("{prefix}/{key}")] = value.clone();
    }
    object(json!({
        "metadata": {"name": name, "labels": {format!("role/{role}"): ""}, "annotations": all},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }))
}

fn told(cluster: &Cluster, second: i64) -> Status {
    Status::of(cluster, Moment::Live(at(second))).unwrap()
}

fn updating(status: &Status) -> &Updating {
    let Some(ControlPlane::Updating(updating)) = &status.control_plane else {
        panic!("{:?}", status.control_plane)
    };
    updating
}

fn summaries(status: &Status) -> Vec<String> {
    let told = |one: &Insight| format!("{:?} {:?} {}", one.level, one.impact, one.summary);
    status.insights.iter().map(told).collect()
}

#[test]
fn components_are_counted() {
    let status = told(&cluster(), 600);
    let updating = updating(&status);
    assert!(status.updating);
    assert_eq!(updating.percent, 50);
    let counts = OperatorCounts { updated: 2, updating: 1, waiting: 1, total: 4 };
    assert_eq!(updating.operators, counts);
    assert_eq!(updating.health, Health { healthy: 4, unavailable: 0, degraded: 0 });
    assert_eq!(updating.updating_operators, ["network"]);
    assert_eq!((updating.duration_seconds, updating.last_progress_at), (Some(600), Some(at(300))));
    assert_eq!(updating.way.from.as_deref(), Some("5.1.0"));
    assert!(!status.is_in_trouble());
}

#[test]
fn components_of_others_do_not_count() {
    let mut cluster = cluster();
    for operator in &mut cluster.operators[1..] {
        operator.metadata.annotations = None;
    }
    let status = told(&cluster, 600);
    assert!(status.control_plane.unwrap().is_completed());
}

#[test]
fn another_image_of_the_same_version_is_not_there_yet() {
    let mut cluster = cluster();
    for operator in &mut cluster.operators {
        let status = operator.status.as_mut().unwrap();
        status.versions[0].version = "5.2.0".to_owned();
    }
    let last = cluster.operators[3].status.as_mut().unwrap();
    let image = object(json!({"name": "operator-image", "version": "old"}));
    last.versions.push(image);
    assert!(told(&cluster, 600).control_plane.unwrap().is_completed(), "nobody knows the image");
    cluster.node_operator_image = Some("new".to_owned());
    assert_eq!(updating(&told(&cluster, 600)).operators.updated, 3);
    cluster.node_operator_image = Some("old".to_owned());
    assert!(told(&cluster, 600).control_plane.unwrap().is_completed());
}

#[test]
fn a_cluster_is_updating_while_workers_are_behind() {
    let mut cluster = cluster();
    let status = cluster.version.status.as_mut().unwrap();
    status.conditions[0].status = ConditionStatus::False;
    assert!(told(&cluster, 600).updating, "a worker has the old release");
    cluster.nodes[1] =
        node("worker-0", "worker", json!({"currentConfig": "new", "desiredConfig": "new"}));
    let status = told(&cluster, 600);
    assert!(!status.updating && status.control_plane.is_none() && status.waits_for.is_empty());
    cluster.nodes.clear();
    assert!(!told(&cluster, 600).updating, "an empty pool is not behind");
}

#[test]
fn what_nobody_says_cannot_be_told() {
    let mut cluster = cluster();
    cluster.version.status = None;
    assert_eq!(Status::of(&cluster, Moment::Live(at(0))).unwrap_err(), Untold::Progress);
    cluster.operators.clear();
    assert_eq!(Status::of(&cluster, Moment::Live(at(0))).unwrap_err(), Untold::Operators);
}

#[test]
fn what_an_update_leads_from_and_to() {
    let entry = |version: &str, image: &str, state: &str| {
        object(json!({"version": version, "image": image, "state": state}))
    };
    let way = |history: &[fairway_api::cluster_version::UpdateHistory]| {
        let Way { target, from, change } = Way::of(history);
        format!("{target} {from:?} {change:?}")
    };
    let ways = [
        way(&[]),
        way(&[entry("5.1.0", "a", "Partial")]),
        way(&[entry("5.2.0", "b", "Partial"), entry("5.1.0", "a", "Completed")]),
        way(&[entry("5.2.0", "b", "Partial"), entry("5.1.0", "a", "Partial")]),
        way(&[entry("5.1.0", "b", "Partial"), entry("5.1.0", "a", "Completed")]),
    ];
    insta::assert_snapshot!(ways.join("\n"), @r#"
    unknown Some("unknown") Update
    5.1.0 None Install
    5.2.0 Some("5.1.0") Update
    5.2.0 Some("5.1.0") UpdateFromIncomplete
    5.1.0 Some("5.1.0") MultiArch
    "#);
}

#[test]
fn what_is_done_to_a_node() {
    let updating = json!({"desiredConfig": "new", "state": "Working"});
    let with = |more: Value| {
        let mut all = updating.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let cases = [
        ("as before", json!({})),
        ("updating", updating.clone()),
        ("no state", with(json!({"state": ""}))),
        ("rebooting", with(json!({"state": "Rebooting"}))),
        (
            "draining",
            with(json!({"desiredDrain": "drain-new", "lastAppliedDrain": "uncordon-old"})),
        ),
        ("drained", with(json!({"desiredDrain": "drain-new", "lastAppliedDrain": "drain-new"}))),
        (
            "not noticed yet",
            with(
                json!({"state": "Done", "desiredDrain": "uncordon-old", "lastAppliedDrain": "uncordon-old"}),
            ),
        ),
        (
            "uncordoning",
            with(json!({"desiredDrain": "uncordon-new", "lastAppliedDrain": "drain-new"})),
        ),
        ("never drained", with(json!({"state": "Done"}))),
        ("updated", json!({"currentConfig": "new", "desiredConfig": "new"})),
        ("to something else", with(json!({"desiredConfig": "other"}))),
        ("unknown", json!({"currentConfig": "gone"})),
        ("failed", with(json!({"state": "Degraded", "reason": "worker-0 is full"}))),
        ("failed for good", with(json!({"state": "Unreconcilable"}))),
    ];
    let lines = cases.map(|(name, annotations)| {
        let mut cluster = cluster();
        cluster.nodes[1] = node("worker-0", "worker", annotations);
        let status = told(&cluster, 600);
        let node = status.nodes.iter().find(|node| node.name == "worker-0").unwrap();
        let NodeStatus { assessment, phase, version, estimate, message, .. } = node;
        format!("{name}: {assessment:?} {phase:?} {version} {estimate} {message:?}")
    });
    insta::assert_snapshot!(lines.join("\n"), @r#"
    as before: Outdated Pending 5.1.0 ? None
    updating: Progressing Updating 5.1.0 +5m None
    no state: Progressing Updating 5.1.0 +5m None
    rebooting: Progressing Rebooting 5.1.0 +5m None
    draining: Progressing Draining 5.1.0 +10m None
    drained: Progressing Updating 5.1.0 +5m None
    not noticed yet: Progressing Draining 5.1.0 +10m None
    uncordoning: Progressing Updating 5.1.0 +5m None
    never drained: Completed Updated 5.1.0 - None
    updated: Completed Updated 5.2.0 - None
    to something else: Unavailable Pending 5.1.0 ? Some("Machine Config Daemon is processing the node")
    unknown: Unavailable Pending ? ? Some("Machine Config Daemon is processing the node")
    failed: Degraded Updating 5.1.0 ? Some("<node> is full")
    failed for good: Degraded Updating 5.1.0 ? None
    "#);
}

#[test]
fn a_node_that_takes_no_work_says_why() {
    let mut cluster = cluster();
    let worker = &mut cluster.nodes[1];
    worker.spec.unschedulable = true;
    worker.status.conditions = object(json!([
        {"type": "Ready", "status": "Unknown", "lastTransitionTime": at(0), "message": "silent"},
        {"type": "DiskPressure", "status": "True", "lastTransitionTime": at(500), "message": "full"},
        {"type": "NetworkUnavailable", "status": "False"},
    ]));
    let status = told(&cluster, 600);
    let worker = status.nodes.iter().find(|node| node.name == "worker-0").unwrap();
    assert_eq!(worker.assessment, NodeAssessment::Unavailable);
    insta::assert_snapshot!(worker.message.as_deref().unwrap(), @"Not ready | Disk pressure | Node is marked unschedulable");
    insta::assert_snapshot!(summaries(&status).join("\n"), @"Warning UpdateSpeed Node worker-0 is not ready | Node worker-0 has disk pressure | Node is marked unschedulable");
    assert_eq!(status.insights[0].since, Some(at(0)));

    let soon = Status::of(&cluster, Moment::Live(at(59))).unwrap();
    assert!(soon.insights.is_empty(), "it may be back in a moment");
    let recorded = Status::of(&cluster, Moment::Recorded(at(59))).unwrap();
    assert_eq!(recorded.insights.len(), 1, "a recording cannot tell for how long");
}

#[test]
fn pools_are_assessed_by_their_nodes() {
    let new = json!({"currentConfig": "new", "desiredConfig": "new"});
    let cases: [(&str, bool, Vec<Value>); 7] = [
        ("empty", false, vec![]),
        ("all new", false, vec![new.clone()]),
        ("all old", false, vec![json!({}), json!({})]),
        ("some new", false, vec![json!({}), new.clone(), new.clone()]),
        ("paused", true, vec![json!({}), new.clone()]),
        ("failed", false, vec![new.clone(), json!({"state": "Degraded", "reason": "no"})]),
        ("failed and paused", true, vec![json!({}), json!({"state": "Degraded", "reason": "no"})]),
    ];
    let lines = cases.map(|(name, paused, nodes)| {
        let mut cluster = cluster();
        cluster.pools = vec![pool("master"), pool("worker"), pool("infra")];
        cluster.pools[1].spec.paused = paused;
        let numbered = nodes.into_iter().enumerate();
        let workers = numbered.map(|(index, it)| node(&format!("w-{index}"), "worker", it));
        cluster.nodes = workers.collect();
        cluster.nodes.push(node("infra-0", "infra", json!({})));
        let status = told(&cluster, 600);
        let PoolStatus { assessment, percent, nodes, .. } = &status.pools[0];
        format!("{name}: {assessment:?} {percent}% {nodes:?}\n  {:?}", summaries(&status))
    });
    insta::assert_snapshot!(lines.join("\n"), @r#"
    empty: Empty 100% NodeCounts { total: 0, updated: 0, available: 0, progressing: 0, outdated: 0, draining: 0, excluded: 0, degraded: 0 }
      []
    all new: Completed 100% NodeCounts { total: 1, updated: 1, available: 1, progressing: 0, outdated: 0, draining: 0, excluded: 0, degraded: 0 }
      []
    all old: Pending 0% NodeCounts { total: 2, updated: 0, available: 2, progressing: 0, outdated: 2, draining: 0, excluded: 0, degraded: 0 }
      []
    some new: Progressing 67% NodeCounts { total: 3, updated: 2, available: 3, progressing: 0, outdated: 1, draining: 0, excluded: 0, degraded: 0 }
      []
    paused: Excluded 50% NodeCounts { total: 2, updated: 1, available: 2, progressing: 0, outdated: 1, draining: 0, excluded: 1, degraded: 0 }
      ["Warning UpdateStalled Outdated nodes in a paused pool 'worker' will not be updated"]
    failed: Degraded 50% NodeCounts { total: 2, updated: 1, available: 2, progressing: 0, outdated: 1, draining: 0, excluded: 0, degraded: 1 }
      ["Error UpdateStalled Node w-1 is degraded"]
    failed and paused: Degraded 0% NodeCounts { total: 2, updated: 0, available: 2, progressing: 0, outdated: 2, draining: 0, excluded: 2, degraded: 1 }
      ["Error UpdateStalled Node w-1 is degraded", "Warning UpdateStalled Outdated nodes in a paused pool 'worker' will not be updated"]
    "#);
}

#[test]
fn a_node_is_in_the_pool_that_was_made_for_it() {
    let mut cluster = cluster();
    cluster.pools.push(pool("infra"));
    let labels = &mut cluster.nodes[1].metadata.labels;
    labels.insert("role/infra".to_owned(), String::new());
    let labels = &mut cluster.nodes[0].metadata.labels;
    labels.insert("role/worker".to_owned(), String::new());
    cluster.pools[1].spec.node_selector = Some(object(json!({
        "matchExpressions": [{"key": "role/worker", "operator": "Exists"}]
    })));
    let status = told(&cluster, 600);
    let pools: Vec<&str> = status.nodes.iter().map(|node| node.pool.as_str()).collect();
    assert_eq!(pools, ["master", "infra"]);
    assert_eq!(status.pools[0].assessment, PoolAssessment::Empty);
    cluster.nodes.retain(|node| node.metadata.name == "master-0");
    assert!(told(&cluster, 600).pools.is_empty(), "pools without nodes are not told");
}

#[test]
fn nodes_of_the_control_plane_are_told_until_all_are_done() {
    let mut cluster = cluster();
    let new = json!({"currentConfig": "new", "desiredConfig": "new"});
    cluster.nodes[0] = node("master-0", "master", new.clone());
    let status = told(&cluster, 600);
    assert!(status.nodes.iter().all(|node| node.pool == "worker"));
    assert_eq!(updating(&status).nodes.unwrap().updated, 1);
}

#[test]
fn a_change_of_architectures_keeps_the_version() {
    let mut cluster = cluster();
    let status = cluster.version.status.as_mut().unwrap();
    status.history[1].version = Some("5.2.0".to_owned());
    cluster.configs = ["old", "new"]
        .map(|name| {
            let key = "machineconfiguration.openshift.io/release-image-version";
            object(json!({"metadata": {"name": name, "annotations": {key: "5.2.0"}}}))
        })
        .to_vec();
    cluster.nodes.push(node(
        "worker-1",
        "worker",
        json!({"desiredConfig": "new", "state": "Working"}),
    ));
    cluster.nodes.push(node(
        "worker-2",
        "worker",
        json!({"currentConfig": "new", "desiredConfig": "new"}),
    ));
    let status = told(&cluster, 600);
    let phases: Vec<Phase> =
        status.nodes.iter().filter(|node| node.pool == "worker").map(|node| node.phase).collect();
    assert_eq!(phases, [Phase::Updating, Phase::Pending, Phase::Updated]);
    assert_eq!(updating(&status).way.change, Change::MultiArch);
    assert_eq!(updating(&status).estimate.as_ref().unwrap().doubt, Some(Doubt::MultiArch));
}

#[test]
fn what_is_wrong_with_components_depends_on_for_how_long() {
    let mut cluster = cluster();
    cluster.operators[0] =
        operator("etcd", "5.2.0", &[("Available", "False", at(0)), ("Degraded", "True", at(0))]);
    let levels = [300, 301, 1200, 1201, 2400, 2401].map(|second| {
        let status = told(&cluster, second);
        format!("{second}: {}", summaries(&status).join(", "))
    });
    insta::assert_snapshot!(levels.join("\n"), @"
    300: 
    301: Warning ApiAvailability Cluster Operator etcd is unavailable (Why), Warning ApiAvailability Cluster Operator etcd is degraded (Why)
    1200: Warning ApiAvailability Cluster Operator etcd is unavailable (Why), Warning ApiAvailability Cluster Operator etcd is degraded (Why)
    1201: Error ApiAvailability Cluster Operator etcd is unavailable (Why), Warning ApiAvailability Cluster Operator etcd is degraded (Why)
    2400: Error ApiAvailability Cluster Operator etcd is unavailable (Why), Warning ApiAvailability Cluster Operator etcd is degraded (Why)
    2401: Error ApiAvailability Cluster Operator etcd is unavailable (Why), Error ApiAvailability Cluster Operator etcd is degraded (Why)
    ");
}

#[test]
fn a_version_that_fails_holds_everything_up() {
    let mut cluster = cluster();
    let said = |cluster: &Cluster| {
        let status = told(cluster, 600);
        assert!(status.is_in_trouble());
        let estimate = updating(&status).estimate.as_ref().unwrap();
        assert_eq!((estimate.trusted, estimate.doubt), (false, Some(Doubt::Blocked)));
        format!("{}: {}", status.insights[0].summary, status.insights[0].description)
    };
    let conditions =
        |cluster: &mut Cluster, status: Option<&str>| {
            let all = &mut cluster.version.status.as_mut().unwrap().conditions;
            all.truncate(1);
            all.extend(status.map(|status| {
                object(json!({"type": "Failing", "status": status, "reason": "Slow"}))
            }));
        };
    let mut texts = Vec::new();
    for status in [None, Some("True"), Some("Unknown")] {
        conditions(&mut cluster, status);
        texts.push(said(&cluster));
    }
    insta::assert_snapshot!(texts.join("\n"), @"
    Cluster Version version has no Failing condition: Nobody says whether the operator of the cluster's version fails.
    Cluster Version version is failing to proceed with the update (Slow): <no message>
    Cluster Version version may be failing to proceed with the update (Slow): <no message>
    ");
}

#[test]
fn alerts_count_that_began_with_the_update_or_hold_up_updates() {
    let alert = |name: &str, severity: &str, since: i64, state: &str| {
        json!({"labels": {"alertname": name, "severity": severity, "namespace": "shop"},
               "annotations": {"summary": format!("{name} it is"), "description": "Long.", "message": "Longer."},
               "state": state, "activeAt": at(since)})
    };
    let json = json!({"status": "success", "data": {"alerts": [
        alert("New", "warning", 10, "firing"),
        alert("Old", "critical", -10, "firing"),
        alert("Soon", "critical", 10, "pending"),
        alert("Note", "info", 10, "firing"),
        alert("Bad", "critical", 10, "firing"),
        alert("PodDisruptionBudgetAtLimit", "warning", -10, "firing"),
        {"labels": {"severity": "critical"}, "state": "firing", "activeAt": at(10)},
    ]}});
    let mut cluster = cluster();
    cluster.alerts = Alerts::Known(alerts::read(json.to_string().as_bytes()).unwrap());
    let status = told(&cluster, 600);
    let lines = status.insights.iter().map(|one| {
        format!(
            "{:?} {}: {} {} {:?}",
            one.level, one.summary, one.description, one.reference, one.resources
        )
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
    Critical Alert is firing: Bad it is: Alert started firing during the update. The alert description is: Long. | Longer. <alert does not have a runbook_url annotation> ["alerts.config.openshift.io: shop/Bad"]
    Warning Alert is firing: New it is: Alert started firing during the update. The alert description is: Long. | Longer. <alert does not have a runbook_url annotation> ["alerts.config.openshift.io: shop/New"]
    Warning Alert is firing: PodDisruptionBudgetAtLimit it is: Alert known to affect updates has been firing since before the update started. The alert description is: Long. | Longer. <alert does not have a runbook_url annotation> ["alerts.config.openshift.io: shop/PodDisruptionBudgetAtLimit"]
    "#);
}

#[test]
fn an_update_before_that_was_never_completed_is_told() {
    let mut cluster = cluster();
    let history = &mut cluster.version.status.as_mut().unwrap().history;
    history[1].state = fairway_api::cluster_version::UpdateState::Partial;
    insta::assert_snapshot!(summaries(&told(&cluster, 600)).join("\n"), @"Warning None Previous update to 5.1.0 never completed, last complete update was unknown");
    let history = &mut cluster.version.status.as_mut().unwrap().history;
    history.push(object(json!({"state": "Completed", "version": "5.0.9", "image": "c"})));
    insta::assert_snapshot!(summaries(&told(&cluster, 600)).join("\n"), @"Warning None Previous update to 5.1.0 never completed, last complete update was 5.0.9");
}

#[test]
fn an_update_says_what_it_waits_for() {
    let mut cluster = cluster();
    cluster.pools[1].spec.paused = true;
    cluster.nodes[0] =
        node("master-0; rm", "master", json!({"desiredConfig": "new", "state": "Working"}));
    let waits = |cluster: &Cluster| {
        let status = told(cluster, 600);
        let lines = status.waits_for.iter().map(|wait| {
            let Wait { kind, name, reason, message, age_seconds, look_at, .. } = wait;
            format!("{kind:?} {name} {reason:?} {message:?} {age_seconds:?} {look_at}")
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(waits(&cluster), @r#"
    Operator network Some("Why") Some("network says so") Some(300) kubectl describe clusteroperator network
    Node master-0; rm Some("Updating") None None kubectl describe node
    Pool worker Some("Paused") Some("it is paused, and 1 of its nodes are outdated") None kubectl describe machineconfigpool worker
    "#);
    cluster.pools.clear();
    cluster.operators[2] = operator(
        "network",
        "5.1.0",
        &[("Available", "False", at(0)), ("Progressing", "False", at(0))],
    );
    insta::assert_snapshot!(waits(&cluster), @r#"Operator network Some("Why") Some("network says so") Some(600) kubectl describe clusteroperator network"#);
    cluster.operators[2] = quiet("network", "5.1.0");
    insta::assert_snapshot!(waits(&cluster), @r#"ClusterVersion version None Some("Working") Some(600) fairway upgrade"#);
}

#[test]
fn a_request_that_has_not_begun_is_told() {
    let mut cluster = cluster();
    cluster.pools.clear();
    let ask =
        |cluster: &mut Cluster, update: Value| cluster.version.spec.desired_update = object(update);
    ask(&mut cluster, json!({"version": "5.2.0"}));
    assert_eq!(told(&cluster, 600).requested, None, "it is on its way there");
    ask(&mut cluster, json!({"image": "mirror@sha256:2"}));
    assert_eq!(told(&cluster, 600).requested, None, "the same content");
    ask(&mut cluster, json!({"version": "5.3.0", "mode": "Preflight"}));
    assert_eq!(told(&cluster, 600).requested, None, "a preflight is no update");

    ask(&mut cluster, json!({"version": "5.3.0"}));
    let status = cluster.version.status.as_mut().unwrap();
    status.conditions[0].status = ConditionStatus::False;
    let waiting = |cluster: &Cluster| {
        let status = told(cluster, 600);
        assert!(!status.updating);
        let wait = &status.waits_for[0];
        format!("{:?} {} {:?} {:?}", wait.kind, wait.name, wait.reason, wait.message)
    };
    let mut texts = vec![waiting(&cluster)];
    let status = cluster.version.status.as_mut().unwrap();
    status.conditions.push(object(json!({
        "type": "ReleaseAccepted", "status": "False", "reason": "UnacceptedRisks",
        "message": "SlowDisks is not accepted.", "lastTransitionTime": at(60),
    })));
    texts.push(waiting(&cluster));
    cluster.version.metadata.generation = Some(7);
    texts.push(waiting(&cluster));
    insta::assert_snapshot!(texts.join("\n"), @r#"
    Release 5.3.0 None Some("the operator has not begun with it yet")
    Release 5.3.0 Some("UnacceptedRisks") Some("SlowDisks is not accepted.")
    Release 5.3.0 Some("UnacceptedRisks") Some("the operator has not seen the request yet")
    "#);
}

#[test]
fn half_an_object_breaks_nothing() {
    let mut cluster = cluster();
    cluster.version.status.as_mut().unwrap().history.clear();
    for operator in &mut cluster.operators {
        operator.status = None;
    }
    cluster.pools[1].spec.node_selector = None;
    cluster.nodes.push(crate::objects::Node::default());
    let status = told(&cluster, i64::from(i32::MAX));
    assert_eq!(updating(&status).way.target, "unknown");
    assert_eq!((updating(&status).estimate.clone(), updating(&status).percent), (None, 0));
    assert!(serde_json::to_string(&status).is_ok());
}
