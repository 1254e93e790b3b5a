use jiff::Timestamp;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::plan::{Action, plan};
use super::status::status;
use crate::controllers::pod_control::BURST;
use crate::selector::LabelSelector;

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

fn selector() -> LabelSelector {
    LabelSelector::parse("app=web").unwrap()
}

/// `own` or `free`, `ready` or `pending`, `gone`, `done`, `strange` in a name say what a pod is.
fn pod(name: &str) -> Pod {
    let has = |word: &str| name.contains(word);
    let app = if has("strange") { "other" } else { "web" };
    let owner = json!([{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1", "controller": true }]);
    let phase = if has("done") {
        "Succeeded"
    } else if has("ready") {
        "Running"
    } else {
        "Pending"
    };
    serde_json::from_value(json!({
        "metadata": {
            "name": name, "uid": name, "labels": { "app": app },
            "ownerReferences": if has("own") { owner } else { json!(null) },
            "deletionTimestamp": if has("gone") { json!(NOW) } else { json!(null) },
        },
        "spec": { "containers": [], "nodeName": "node" },
        "status": { "phase": phase, "conditions": [{
            "type": "Ready", "status": if has("ready") { "True" } else { "False" },
            "lastTransitionTime": "2026-01-01T00:09:50Z",
        }] },
    }))
    .unwrap()
}

fn told(actions: &[Action]) -> Vec<String> {
    let name = |pod: &Pod| pod.metadata.name.clone().unwrap();
    let tell = |action: &Action| match action {
        Action::Adopt(pod) => format!("adopt {}", name(pod)),
        Action::Release(pod) => format!("release {}", name(pod)),
        Action::Create => "create".to_owned(),
        Action::Delete(pod) => format!("delete {}", name(pod)),
    };
    actions.iter().map(tell).collect()
}

#[test]
fn pods_come_and_go_until_there_are_enough() {
    let cases: &[(usize, &[&str], &[&str])] = &[
        (0, &[], &[]),
        (2, &[], &["create", "create"]),
        (1, &["own-ready"], &[]),
        (2, &["own-ready", "own-done"], &["create"]),
        (2, &["own-ready", "own-gone"], &["create"]),
        (1, &["own-ready", "own-pending"], &["delete own-pending"]),
        (0, &["own-ready", "own-gone"], &["delete own-ready"]),
        (1, &["free-ready"], &["adopt free-ready"]),
        (1, &["free-gone"], &["create"]),
        (1, &["free-done"], &["create"]),
        (1, &["free-strange"], &["create"]),
        (1, &["own-strange"], &["release own-strange", "create"]),
        (1, &["own-ready", "free-pending"], &["adopt free-pending", "delete free-pending"]),
    ];
    for (replicas, pods, expected) in cases {
        let pods: Vec<_> = pods.iter().map(|name| pod(name)).collect();
        let plan = plan(&set(*replicas, &json!({})), &selector(), pods.clone());
        assert_eq!(told(&plan.actions), *expected, "{replicas} {pods:?}");
    }
}

#[test]
fn a_set_that_is_deleted_leaves_its_pods_alone() {
    let leaving = set(3, &json!({ "metadata": { "deletionTimestamp": NOW } }));
    let plan = plan(&leaving, &selector(), vec![pod("own-ready"), pod("free-ready")]);
    assert_eq!(plan.actions, []);
    assert_eq!(plan.pods.len(), 1);
}

#[test]
fn a_turn_has_a_bound() {
    let plan = plan(&set(10_000, &json!({})), &selector(), Vec::new());
    assert_eq!(plan.actions.len(), BURST);
}

#[test]
fn the_status_counts() {
    let pods = [pod("own-ready"), pod("own-pending")];
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
