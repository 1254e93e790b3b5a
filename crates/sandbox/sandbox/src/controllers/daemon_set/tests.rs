use jiff::Timestamp;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};

use super::new_pod;
use super::plan::{DaemonSetAction, DaemonSetPlan, hash, node_of, plan};

const NOW: &str = "2026-01-01T00:10:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

fn set(extra: &Value) -> DaemonSet {
    let mut set = json!({
        "metadata": { "name": "agent", "namespace": "n", "uid": "1", "generation": 2 },
        "spec": {
            "selector": { "matchLabels": { "app": "agent" } },
            "template": { "metadata": { "labels": { "app": "agent" } }, "spec": { "containers": [] } },
        },
    });
    json_patch::merge(&mut set, extra);
    serde_json::from_value(set).unwrap()
}

fn nodes(specs: &[(&str, Value)]) -> Vec<Node> {
    let node = |(name, spec): &(&str, Value)| {
        let labels = json!({ "name": name });
        serde_json::from_value(
            json!({ "metadata": { "name": name, "labels": labels }, "spec": spec }),
        )
        .unwrap()
    };
    specs.iter().map(node).collect()
}

/// `node:words`; the words are `old` (of another template), `ready`, `gone`, `failed`, `young`.
fn pod(set: &DaemonSet, text: &str) -> Pod {
    let (node, words) = text.split_once(':').unwrap();
    let has = |word: &str| words.contains(word);
    let created = if has("young") { "2026-01-01T00:09:55Z" } else { "2026-01-01T00:00:00Z" };
    let hash = if has("old") { "x".to_owned() } else { hash(set) };
    serde_json::from_value(json!({
        "metadata": {
            "name": text, "uid": text, "labels": { "app": "agent", "controller-revision-hash": hash },
            "creationTimestamp": created,
            "deletionTimestamp": if has("gone") { json!(NOW) } else { json!(null) },
        },
        "spec": { "containers": [], "nodeName": node },
        "status": {
            "phase": if has("failed") { "Failed" } else { "Running" },
            "conditions": [{
                "type": "Ready", "status": if has("ready") { "True" } else { "False" },
                "lastTransitionTime": "2026-01-01T00:09:00Z",
            }],
        },
    }))
    .unwrap()
}

fn planned(set: &DaemonSet, nodes: &[Node], pods: &[&str]) -> DaemonSetPlan {
    plan(set, nodes, pods.iter().map(|text| pod(set, text)).collect(), now())
}

fn describe(plan: &DaemonSetPlan) -> Vec<String> {
    let tell = |action: &DaemonSetAction| match action {
        DaemonSetAction::Create(node) => format!("create on {node}"),
        DaemonSetAction::Delete(pod) => format!("delete {}", pod.metadata.name.as_deref().unwrap()),
    };
    plan.actions.iter().map(tell).collect()
}

#[test]
fn plan_creates_one_pod_per_node() {
    let two = nodes(&[("a", json!({})), ("b", json!({}))]);
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &["create on a", "create on b"]),
        (&["a:ready"], &["create on b"]),
        (&["a:ready", "b:ready"], &[]),
        (&["a:ready", "a:young", "b:"], &["delete a:young"]),
        (&["a:gone", "b:"], &[]),
        (&["a:failed", "b:"], &["delete a:failed"]),
        (&["a:failed young", "b:"], &[]),
        (&["a:", "b:", "c:"], &["delete c:"]),
        (&["a:", "b:", "c:gone"], &[]),
    ];
    for (pods, expected) in cases {
        assert_eq!(describe(&planned(&set(&json!({})), &two, pods)), *expected, "{pods:?}");
    }
    let young = planned(&set(&json!({})), &two, &["a:failed young", "b:"]);
    assert_eq!(young.requeue_at, Some("2026-01-01T00:10:05Z".parse().unwrap()));
}

#[test]
fn plan_with_selectors_and_taints_places_pods_on_eligible_nodes() {
    let taint = |key, effect| json!({ "taints": [{ "key": key, "effect": effect }] });
    let selector =
        json!({ "spec": { "template": { "spec": { "nodeSelector": { "name": "b" } } } } });
    let nothing = json!({});
    let unschedulable = json!({ "unschedulable": true });
    let not_ready = taint("node.kubernetes.io/not-ready", "NoExecute");
    let cases: &[(&Value, Value, &[&str], &[&str])] = &[
        (&nothing, unschedulable.clone(), &[], &["create on a"]),
        (&nothing, not_ready, &[], &["create on a"]),
        (&nothing, taint("k", "NoSchedule"), &[], &[]),
        (&nothing, taint("k", "NoSchedule"), &["a:ready"], &[]),
        (&nothing, taint("k", "NoExecute"), &["a:ready"], &["delete a:ready"]),
        (&selector, json!({}), &[], &[]),
        (&selector, json!({}), &["a:ready"], &["delete a:ready"]),
    ];
    for (extra, spec, pods, expected) in cases {
        let plan = planned(&set(extra), &nodes(&[("a", spec.clone())]), pods);
        assert_eq!(describe(&plan), *expected, "{extra} {spec} {pods:?}");
    }
}

#[test]
fn rolling_update_replaces_old_pods_within_max_unavailable() {
    let four = nodes(&[("a", json!({})), ("b", json!({})), ("c", json!({})), ("d", json!({}))]);
    let rolling = |most: Value| json!({ "spec": { "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": most } } } });
    let on_delete = json!({ "spec": { "updateStrategy": { "type": "OnDelete" } } });
    let surge = json!({ "spec": { "updateStrategy": { "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } } } });
    let old = ["a:old ready", "b:old ready", "c:old ready", "d:old ready"];
    let cases: &[(Value, &[&str], &[&str])] = &[
        (json!({}), &old, &["delete a:old ready"]),
        (rolling(json!(2)), &old, &["delete a:old ready", "delete b:old ready"]),
        (rolling(json!("30%")), &old, &["delete a:old ready", "delete b:old ready"]),
        (on_delete, &old, &[]),
        (surge, &old, &[]),
        (rolling(json!(1)), &["a:", "b:old ready", "c:old ready", "d:ready"], &[]),
        (rolling(json!(1)), &["a:gone old", "b:old ready", "c:old ready", "d:ready"], &[]),
        (
            rolling(json!(1)),
            &["a:ready", "b:old", "c:old", "d:old ready"],
            &["delete b:old", "delete c:old"],
        ),
        (
            rolling(json!(1)),
            &["a:ready", "b:ready", "c:ready", "d:old ready"],
            &["delete d:old ready"],
        ),
    ];
    for (extra, pods, expected) in cases {
        assert_eq!(describe(&planned(&set(extra), &four, pods)), *expected, "{extra} {pods:?}");
    }
}

#[test]
fn plan_of_deleting_set_keeps_pods() {
    let deleting = set(&json!({ "metadata": { "deletionTimestamp": NOW } }));
    assert_eq!(
        describe(&planned(&deleting, &nodes(&[("a", json!({}))]), &["b:"])),
        [] as [&str; 0]
    );
}

#[test]
fn status_counts_nodes() {
    let three = nodes(&[
        ("a", json!({})),
        ("b", json!({})),
        ("c", json!({ "taints": [{ "key": "k", "effect": "NoSchedule" }] })),
    ]);
    let plan = planned(&set(&json!({})), &three, &["a:ready", "b:old", "c:"]);
    assert_eq!(
        json!(plan.status),
        json!({
            "desiredNumberScheduled": 2, "currentNumberScheduled": 2, "numberMisscheduled": 1,
            "numberReady": 1, "numberAvailable": 1, "numberUnavailable": 1,
            "updatedNumberScheduled": 1, "observedGeneration": 2,
        })
    );
    let slow = set(&json!({ "spec": { "minReadySeconds": 90 } }));
    let plan = planned(&slow, &three, &["a:ready"]);
    assert_eq!(plan.status.number_available, None);
    assert_eq!(plan.requeue_at, Some("2026-01-01T00:10:30Z".parse().unwrap()));
}

#[test]
fn new_pod_has_affinity_to_its_node() {
    let pod = new_pod(&set(&json!({})), "a");
    assert_eq!(node_of(&pod), Some("a"));
    let text = json!(pod);
    assert_eq!(text["spec"]["nodeName"], json!(null), "placing it is the scheduler's work");
    assert_eq!(text["metadata"]["generateName"], "agent-");
    assert_eq!(text["spec"]["tolerations"].as_array().unwrap().len(), 6);
}
