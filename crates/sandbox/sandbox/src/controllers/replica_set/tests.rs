use jiff::Timestamp;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::plan::{Action, plan};
use super::status::status;
use crate::controllers::pod_control::BURST;

const NOW: &str = "2026-01-01T00:10:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

fn set(replicas: usize, extra: &Value) -> ReplicaSet {
    let mut set = json!({
        "metadata": { "name": "web", "namespace": "n", "uid": "1", "generation": 4 },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": "web" } },
            "template": { "metadata": { "labels": { "app": "web", "tier": "front" } } },
        },
    });
    json_patch::merge(&mut set, extra);
    serde_json::from_value(set).unwrap()
}

/// A pod that is `ready`, or whatever else it is called.
fn pod(name: &str) -> Pod {
    let (phase, ready) = if name == "ready" { ("Running", "True") } else { ("Pending", "False") };
    serde_json::from_value(json!({
        "metadata": { "name": name, "uid": name, "labels": { "app": "web" } },
        "spec": { "containers": [], "nodeName": "node" },
        "status": { "phase": phase, "conditions": [{
            "type": "Ready", "status": ready, "lastTransitionTime": "2026-01-01T00:09:50Z",
        }] },
    }))
    .unwrap()
}

fn told(actions: &[Action]) -> Vec<String> {
    let tell = |action: &Action| match action {
        Action::Create => "create".to_owned(),
        Action::Delete(pod) => format!("delete {}", pod.metadata.name.as_deref().unwrap()),
    };
    actions.iter().map(tell).collect()
}

#[test]
fn pods_come_and_go_until_there_are_enough() {
    let cases: &[(usize, &[&str], &[&str])] = &[
        (0, &[], &[]),
        (2, &[], &["create", "create"]),
        (1, &["ready"], &[]),
        (2, &["ready"], &["create"]),
        (1, &["ready", "pending"], &["delete pending"]),
        (1, &["pending", "ready"], &["delete pending"]),
        (0, &["ready", "pending"], &["delete pending", "delete ready"]),
    ];
    for (replicas, pods, expected) in cases {
        let active: Vec<_> = pods.iter().map(|name| pod(name)).collect();
        let actions = plan(&set(*replicas, &json!({})), &active);
        assert_eq!(told(&actions), *expected, "{replicas} {pods:?}");
    }
}

#[test]
fn a_set_that_is_deleted_leaves_its_pods_alone() {
    let leaving = set(3, &json!({ "metadata": { "deletionTimestamp": NOW } }));
    assert_eq!(plan(&leaving, &[pod("ready")]), []);
}

#[test]
fn a_turn_has_a_bound() {
    assert_eq!(plan(&set(10_000, &json!({})), &[]).len(), BURST);
}

#[test]
fn the_status_counts() {
    let pods = [pod("ready"), pod("pending")];
    let told = |set: &ReplicaSet, failure: Option<(&str, String)>| {
        json!(status(set, &pods, failure, now()))
    };
    assert_eq!(
        told(&set(2, &json!({})), None),
        json!({ "replicas": 2, "readyReplicas": 1, "availableReplicas": 1, "observedGeneration": 4 })
    );
    assert_eq!(
        told(
            &set(
                2,
                &json!({ "spec": { "minReadySeconds": 11, "template": { "metadata": { "labels": { "tier": null } } } } })
            ),
            None
        ),
        json!({ "replicas": 2, "readyReplicas": 1, "fullyLabeledReplicas": 2, "observedGeneration": 4 })
    );
    let failing = told(&set(2, &json!({})), Some(("FailedCreate", "no".to_owned())));
    assert_eq!(
        failing["conditions"],
        json!([{
            "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "no",
            "lastTransitionTime": NOW,
        }])
    );
    let known = set(2, &json!({ "status": failing }));
    assert_eq!(
        told(&known, Some(("FailedCreate", "still no".to_owned())))["conditions"],
        failing["conditions"]
    );
    assert_eq!(told(&known, None)["conditions"], json!(null));
}
