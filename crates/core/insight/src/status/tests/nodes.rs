//! Tests for the status of nodes.

use super::*;

#[test]
fn node_phase_depends_on_daemon_state() {
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
        let status = text(&cluster, 600);
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
fn unavailable_node_has_message() {
    let mut cluster = cluster();
    let worker = &mut cluster.nodes[1];
    worker.spec.unschedulable = true;
    worker.status.conditions = object(json!([
        {"type": "Ready", "status": "Unknown", "lastTransitionTime": at(0), "message": "silent"},
        {"type": "DiskPressure", "status": "True", "lastTransitionTime": at(500), "message": "full"},
        {"type": "NetworkUnavailable", "status": "False"},
    ]));
    let status = text(&cluster, 600);
    let worker = status.nodes.iter().find(|node| node.name == "worker-0").unwrap();
    assert_eq!(worker.assessment, NodeAssessment::Unavailable);
    insta::assert_snapshot!(worker.message.as_deref().unwrap(), @"Not ready | Disk pressure | Node is marked unschedulable");
    insta::assert_snapshot!(summaries(&status).join("\n"), @"Warning UpdateSpeed Node worker-0 is not ready | Node worker-0 has disk pressure | Node is marked unschedulable");
    assert_eq!(status.insights[0].last_transition_time, Some(at(0)));

    let soon = Status::of(&cluster, ObservationTime::Live(at(59))).unwrap();
    assert!(soon.insights.is_empty(), "it may be back in a moment");
    let recorded = Status::of(&cluster, ObservationTime::Recorded(at(59))).unwrap();
    assert_eq!(recorded.insights.len(), 1, "a recording cannot tell for how long");
}

#[test]
fn control_plane_nodes_are_listed_until_updated() {
    let mut cluster = cluster();
    let new = json!({"currentConfig": "new", "desiredConfig": "new"});
    cluster.nodes[0] = node("master-0", "master", new.clone());
    let status = text(&cluster, 600);
    assert!(status.nodes.iter().all(|node| node.pool == "worker"));
    assert_eq!(updating(&status).nodes.unwrap().updated, 1);
}

#[test]
fn multi_arch_change_keeps_version() {
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
    let status = text(&cluster, 600);
    let phases: Vec<Phase> =
        status.nodes.iter().filter(|node| node.pool == "worker").map(|node| node.phase).collect();
    assert_eq!(phases, [Phase::Updating, Phase::Pending, Phase::Updated]);
    assert_eq!(updating(&status).version_change.change, Change::MultiArch);
    assert_eq!(updating(&status).estimate.as_ref().unwrap().doubt, Some(Doubt::MultiArch));
}

/// Assessment, phase, estimate and message of a changed worker node.
fn worker(change: impl Fn(&mut ClusterObjects)) -> String {
    let mut cluster = cluster();
    change(&mut cluster);
    let status = text(&cluster, 600);
    let node = status.nodes.iter().find(|node| node.pool == "worker").unwrap();
    let NodeStatus { assessment, phase, estimate, message, .. } = node;
    let troubles: Vec<_> = status.insights.iter().map(|one| one.level).collect();
    format!("{assessment:?} {phase:?} {estimate} {message:?} {troubles:?}")
}

#[test]
fn node_with_failing_condition_has_unavailable_reason() {
    let condition = |type_: &'static str, status: &'static str| {
        move |cluster: &mut ClusterObjects| {
            let output = json!({"type": type_, "status": status, "message": "m", "lastTransitionTime": at(0)});
            let conditions = &mut cluster.nodes[1].status.conditions;
            conditions.retain(|condition| condition.type_ != type_);
            conditions.push(object(output));
        }
    };
    let lines = [
        ("Ready", "True"),
        ("Ready", "False"),
        ("Ready", "Unknown"),
        ("DiskPressure", "True"),
        ("DiskPressure", "Unknown"),
        ("NetworkUnavailable", "True"),
        ("NetworkUnavailable", "Unknown"),
        ("MemoryPressure", "True"),
        ("PIDPressure", "True"),
    ]
    .map(|(type_, status)| format!("{type_}={status}: {}", worker(condition(type_, status))));
    insta::assert_snapshot!(lines.join("\n"), @r#"
    Ready=True: Outdated Pending ? None []
    Ready=False: Unavailable Pending ? Some("Not ready") [Warning]
    Ready=Unknown: Unavailable Pending ? Some("Not ready") [Warning]
    DiskPressure=True: Unavailable Pending ? Some("Disk pressure") [Warning]
    DiskPressure=Unknown: Unavailable Pending ? Some("Disk pressure") [Warning]
    NetworkUnavailable=True: Unavailable Pending ? Some("Network unavailable") [Warning]
    NetworkUnavailable=Unknown: Unavailable Pending ? Some("Network unavailable") [Warning]
    MemoryPressure=True: Outdated Pending ? None []
    PIDPressure=True: Outdated Pending ? None []
    "#);
    let silent = worker(|cluster| cluster.nodes[1].status.conditions.clear());
    assert_eq!(silent, worker(|_| ()), "missing conditions do not count");
    let cordoned = worker(|cluster| cluster.nodes[1].spec.unschedulable = true);
    insta::assert_snapshot!(cordoned, @r#"Unavailable Pending ? Some("Node is marked unschedulable") []"#);
}

#[test]
fn updating_node_is_not_unavailable() {
    let not_ready = |annotations: Value| {
        move |cluster: &mut ClusterObjects| {
            cluster.nodes[1] = node("worker-0", "worker", annotations.clone());
            cluster.nodes[1].status.conditions = object(
                json!([{"type": "Ready", "status": "False", "message": "m", "lastTransitionTime": at(0)}]),
            );
        }
    };
    let failed = json!({"desiredConfig": "new", "state": "Degraded", "reason": "worker-0 is full"});
    let lines = [
        ("before", json!({})),
        ("updating", json!({"desiredConfig": "new", "state": "Working"})),
        ("updated", json!({"currentConfig": "new", "desiredConfig": "new"})),
        ("failed while updating", failed),
        ("failed before", json!({"state": "Degraded", "reason": "no space"})),
        ("failed without reason", json!({"state": "Degraded"})),
        ("failed afterwards", json!({"currentConfig": "new", "desiredConfig": "new", "state": "Unreconcilable", "reason": "no"})),
        ("failed without desired config", json!({"desiredConfig": "", "state": "Degraded", "reason": "no"})),
    ]
    .map(|(name, annotations)| format!("{name}: {}", worker(not_ready(annotations))));
    insta::assert_snapshot!(lines.join("\n"), @r#"
    before: Unavailable Pending ? Some("Not ready") [Warning]
    updating: Progressing Updating +5m None []
    updated: Unavailable Updated - Some("Not ready") [Warning]
    failed while updating: Degraded Updating ? Some("<node> is full") [Error]
    failed before: Degraded Pending ? Some("no space") [Error, Warning]
    failed without reason: Degraded Pending ? None []
    failed afterwards: Degraded Updated - Some("no") [Error, Warning]
    failed without desired config: Unavailable Pending ? Some("Not ready") [Warning]
    "#);
}

#[test]
fn node_with_other_image_than_pool_is_available() {
    let prefix = "machineconfiguration.openshift.io";
    let case = |layered: bool, of_pool: &'static str, annotations: Value| {
        worker(move |cluster| {
            cluster.nodes[1] = node("worker-0", "worker", annotations.clone());
            cluster.nodes[1].spec.unschedulable = true;
            let pool = &mut cluster.pools[1].metadata;
            if layered {
                pool.labels.insert(format!("{prefix}/layering-enabled"), String::new());
            }
            let key = format!("{prefix}/newestImageEquivalentConfig");
            pool.annotations.insert(key, of_pool.to_owned());
        })
    };
    let unavailable = case(false, "", json!({}));
    assert!(unavailable.starts_with("Unavailable Pending"), "{unavailable}");
    assert_eq!(case(false, "i", json!({})), unavailable, "a pool without layers has no image");
    assert_eq!(case(true, "", json!({})), unavailable);
    assert_eq!(case(true, "i", json!({"desiredImage": "i"})), unavailable);
    let other = case(true, "i", json!({"desiredImage": "j"}));
    assert!(other.starts_with("Outdated Pending"), "{other}");
    assert_eq!(case(true, "i", json!({})), other);
    assert_eq!(case(false, "", json!({"desiredImage": "i"})), other);
}

#[test]
fn daemon_is_done_if_config_image_and_state_match() {
    let case = |annotations: Value| {
        let line = worker(|cluster| {
            cluster.nodes[1] = node("worker-0", "worker", annotations.clone());
            // Images count only if the pool has one.
            let prefix = "machineconfiguration.openshift.io";
            if let Some(image) = annotations.get("desiredImage") {
                let pool = &mut cluster.pools[1].metadata;
                pool.labels.insert(format!("{prefix}/layering-enabled"), String::new());
                let key = format!("{prefix}/newestImageEquivalentConfig");
                pool.annotations.insert(key, image.as_str().unwrap().to_owned());
            }
        });
        line.contains("Machine Config Daemon is processing the node")
    };
    let cases = [
        (json!({}), false),
        (json!({"currentImage": "i", "desiredImage": "i"}), false),
        (json!({"currentImage": "h", "desiredImage": "i"}), true),
        (json!({"currentImage": "", "desiredImage": "i"}), true),
        (json!({"currentImage": "i"}), true),
        (json!({"state": "Working"}), true),
        (json!({"state": ""}), true),
        (json!({"state": "Degraded"}), false),
        (json!({"currentConfig": ""}), true),
        (json!({"desiredConfig": "other"}), true),
        (json!({"desiredConfig": ""}), true),
    ];
    for (annotations, is_busy) in cases {
        assert_eq!(case(annotations.clone()), is_busy, "{annotations}");
    }
}

#[test]
fn node_updates_only_to_config_of_pool_and_release() {
    let updating = json!({"desiredConfig": "new", "state": "Working"});
    let with_pool = |config: &'static str, annotations: Value| {
        worker(move |cluster| {
            cluster.nodes[1] = node("worker-0", "worker", annotations.clone());
            cluster.pools[1].spec.configuration.name = config.to_owned();
        })
    };
    assert!(with_pool("new", updating.clone()).starts_with("Progressing Updating +5m"));
    assert!(with_pool("old", updating.clone()).starts_with("Unavailable Pending ?"));
    assert!(with_pool("", updating.clone()).starts_with("Unavailable Pending ?"));
    let without_config = worker(|cluster| {
        cluster.nodes[1] = node("worker-0", "worker", updating.clone());
        cluster.configs.retain(|config| config.metadata.name == "old");
    });
    assert!(without_config.starts_with("Unavailable Pending ?"), "{without_config}");
    let elsewhere = worker(|cluster| {
        let status = cluster.version.status.as_mut().unwrap();
        status.history[0].version = Some("5.3.0".to_owned());
        cluster.nodes[1] = node("worker-0", "worker", updating.clone());
    });
    assert!(elsewhere.starts_with("Unavailable Pending ?"), "{elsewhere}");
}

#[test]
fn nodes_are_sorted_by_urgency() {
    let mut cluster = cluster();
    let new = json!({"currentConfig": "new", "desiredConfig": "new"});
    let nodes = |state: &str| json!({"desiredConfig": "new", "state": state});
    let draining = json!({"desiredConfig": "new", "state": "Working", "desiredDrain": "drain-new", "lastAppliedDrain": "uncordon-old"});
    let nodes = [
        ("done-b", new.clone()),
        ("done-a", new),
        ("pending", json!({})),
        ("rebooting", nodes("Rebooting")),
        ("updating", nodes("Working")),
        ("draining", draining),
        ("busy", json!({"state": "Working"})),
        ("failed", json!({"state": "Degraded", "reason": "no"})),
    ];
    cluster.nodes = nodes.into_iter().map(|(name, it)| node(name, "worker", it)).collect();
    let names: Vec<_> = text(&cluster, 600).nodes.into_iter().map(|node| node.name).collect();
    assert_eq!(
        names,
        ["failed", "busy", "draining", "updating", "rebooting", "pending", "done-a", "done-b"]
    );
}

#[test]
fn node_message_omits_long_node_name() {
    let message = |name: &str| {
        let mut cluster = cluster();
        let reason = format!("{name}: cannot drain {name}\nmore about {name}");
        cluster.nodes[1] = node(name, "worker", json!({"state": "Degraded", "reason": reason}));
        let status = text(&cluster, 600);
        status.nodes.into_iter().find(|node| node.pool == "worker").unwrap().message.unwrap()
    };
    assert_eq!(message("worker-0"), "<node>: cannot drain <node>\nmore about <node>");
    assert_eq!(message("worker0"), "worker0: cannot drain worker0\nmore about worker0");
}

#[test]
fn completed_multi_arch_change_has_updated_nodes() {
    let phases = |state: &str| {
        let mut cluster = cluster();
        let history = &mut cluster.version.status.as_mut().unwrap().history;
        history[0].state = state.into();
        history[1].version = Some("5.2.0".to_owned());
        cluster.nodes = vec![
            node("worker-0", "worker", json!({"currentConfig": "new", "desiredConfig": "other"})),
            node("worker-1", "worker", json!({"currentConfig": "new", "desiredConfig": "new"})),
        ];
        cluster.pools[1].spec.configuration.name = "new".to_owned();
        let status = text(&cluster, 600);
        status
            .nodes
            .iter()
            .map(|node| format!("{} {:?}", node.name, node.phase))
            .collect::<Vec<_>>()
    };
    assert_eq!(phases("Partial"), ["worker-0 Pending", "worker-1 Updated"]);
    assert_eq!(phases("Completed"), ["worker-0 Updated", "worker-1 Updated"]);
}
