//! Status of updates of small clusters.
#![expect(clippy::needless_pass_by_value, reason = "values are written where they are used")]

mod control_plane;
mod health;
mod nodes;
mod pending;
mod pools;

use fairway_api::{ClusterOperator, ClusterVersion};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::alerts::{self, Alerts};

/// Seconds after the start of the update.
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

/// Healthy operator without progress.
fn quiet(name: &str, version: &str) -> ClusterOperator {
    let conditions = [("Available", "True"), ("Progressing", "False"), ("Degraded", "False")];
    operator(name, version, &conditions.map(|(type_, status)| (type_, status, at(0))))
}

/// Cluster with an update from 5.1.0 to 5.2.0 since `at(0)`: two operators are done, one is
/// updating, one is pending.
fn cluster() -> ClusterObjects {
    let conditions = [("Available", "True", at(0)), ("Progressing", "True", at(300))];
    ClusterObjects {
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

/// Node with the old configuration, unless the annotations change that.
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

fn text(cluster: &ClusterObjects, second: i64) -> Status {
    Status::of(cluster, ObservationTime::Live(at(second))).unwrap()
}

fn updating(status: &Status) -> &Updating {
    let Some(ControlPlane::Updating(updating)) = &status.control_plane else {
        panic!("{:?}", status.control_plane)
    };
    updating
}

fn summaries(status: &Status) -> Vec<String> {
    let text = |one: &Insight| format!("{:?} {:?} {}", one.level, one.impact, one.summary);
    status.insights.iter().map(text).collect()
}

#[test]
fn outdated_workers_count_as_updating() {
    let mut cluster = cluster();
    let status = cluster.version.status.as_mut().unwrap();
    status.conditions[0].status = ConditionStatus::False;
    assert!(text(&cluster, 600).updating, "a worker has the old release");
    cluster.nodes[1] =
        node("worker-0", "worker", json!({"currentConfig": "new", "desiredConfig": "new"}));
    let status = text(&cluster, 600);
    assert!(
        !status.updating && status.control_plane.is_none() && status.pending_resources.is_empty()
    );
    assert!(status.last_completed_update.is_none(), "no condition reports completion");
    cluster.nodes.clear();
    assert!(!text(&cluster, 600).updating, "an empty pool is not behind");
    let newest = &mut cluster.version.status.as_mut().unwrap().history[0];
    newest.state = fairway_api::cluster_version::UpdateState::Completed;
    newest.completion_time = object(json!(at(540)));
    let completed = text(&cluster, 600).last_completed_update.unwrap();
    assert_eq!((completed.version.as_str(), completed.duration_seconds), ("5.2.0", Some(540)));
}

#[test]
fn status_without_operators_or_progressing_fails() {
    let mut cluster = cluster();
    cluster.version.status = None;
    assert_eq!(
        Status::of(&cluster, ObservationTime::Live(at(0))).unwrap_err(),
        StatusError::Progress
    );
    cluster.operators.clear();
    assert_eq!(
        Status::of(&cluster, ObservationTime::Live(at(0))).unwrap_err(),
        StatusError::Operators
    );
}

#[test]
fn partial_objects_do_not_fail() {
    let mut cluster = cluster();
    cluster.version.status.as_mut().unwrap().history.clear();
    for operator in &mut cluster.operators {
        operator.status = None;
    }
    cluster.pools[1].spec.node_selector = None;
    cluster.nodes.push(crate::objects::Node::default());
    let status = text(&cluster, i64::from(i32::MAX));
    assert_eq!(updating(&status).version_change.target, "unknown");
    assert_eq!((updating(&status).estimate.clone(), updating(&status).percent), (None, 0));
    assert!(serde_json::to_string(&status).is_ok());
}
