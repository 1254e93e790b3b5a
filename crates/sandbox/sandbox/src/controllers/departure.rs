//! Which pods go first when there are too many.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;

use super::pod;

const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// Sorts pods so that those which are missed least come first: those without a node, those that do
/// not run, those that are not ready, the cheap ones, those that share a node with others, those
/// that became ready last, those that failed most often, the youngest.
pub(super) fn in_order_of_departure(mut pods: Vec<Pod>) -> Vec<Pod> {
    let mut on_node = BTreeMap::<String, usize>::new();
    for node in pods.iter().filter_map(pod::node) {
        *on_node.entry(node.to_owned()).or_default() += 1;
    }
    let neighbours = |pod: &Pod| pod::node(pod).and_then(|node| on_node.get(node)).copied();
    pods.sort_by(|left, right| {
        let by_neighbours = || neighbours(right).cmp(&neighbours(left));
        rank(left)
            .cmp(&rank(right))
            .then_with(by_neighbours)
            .then_with(|| later_first(pod::ready_since(left), pod::ready_since(right)))
            .then_with(|| pod::restarts(right).cmp(&pod::restarts(left)))
            .then_with(|| age(right).cmp(&age(left)))
    });
    pods
}

fn rank(pod: &Pod) -> (bool, u8, bool, i32) {
    let phase = match pod::phase(pod) {
        "Pending" => 0,
        "Unknown" => 1,
        _ => 2,
    };
    (pod::node(pod).is_some(), phase, pod::is_ready(pod), deletion_cost(pod))
}

fn deletion_cost(pod: &Pod) -> i32 {
    let annotations = pod.metadata.annotations.as_ref();
    let cost = annotations.and_then(|annotations| annotations.get(DELETION_COST));
    cost.and_then(|cost| cost.parse().ok()).unwrap_or(0)
}

fn later_first<T: Ord>(left: Option<T>, right: Option<T>) -> Ordering {
    Reverse(left).cmp(&Reverse(right))
}

/// What was made in the same second is told apart by its identity, for the order to be one.
fn age(pod: &Pod) -> (Option<&jiff::Timestamp>, Option<&String>) {
    let created = pod.metadata.creation_timestamp.as_ref();
    (created.map(|time| &time.0), pod.metadata.uid.as_ref())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(name: &str, node: &str, phase: &str, ready: Option<&str>, extra: &Value) -> Pod {
        let condition = ready
            .map(|time| json!({ "type": "Ready", "status": "True", "lastTransitionTime": time }));
        let mut metadata =
            json!({ "name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z" });
        json_patch::merge(&mut metadata, extra);
        serde_json::from_value(json!({
            "metadata": metadata,
            "spec": { "nodeName": node, "containers": [] },
            "status": {
                "phase": phase,
                "conditions": condition.into_iter().collect::<Vec<_>>(),
                "containerStatuses": [{
                    "name": "c", "image": "i", "imageID": "", "ready": false,
                    "restartCount": extra["restarts"].as_i64().unwrap_or(0),
                }],
            },
        }))
        .unwrap()
    }

    #[test]
    fn the_first_of_each_pair_goes_first() {
        let none = json!({});
        let early = Some("2026-01-01T00:00:00Z");
        let late = Some("2026-01-01T01:00:00Z");
        let cheap = json!({ "annotations": { DELETION_COST: "-5" } });
        let failing = json!({ "restarts": 3 });
        let young = json!({ "creationTimestamp": "2026-01-02T00:00:00Z" });
        let cases = vec![
            (
                "no node",
                pod("a", "", "Pending", None, &none),
                pod("b", "n", "Pending", None, &none),
            ),
            (
                "no node, though ready",
                pod("a", "", "Running", early, &none),
                pod("b", "n", "Pending", None, &none),
            ),
            (
                "pending",
                pod("a", "n", "Pending", None, &none),
                pod("b", "m", "Unknown", None, &none),
            ),
            (
                "unknown",
                pod("a", "n", "Unknown", None, &none),
                pod("b", "m", "Running", None, &none),
            ),
            (
                "not ready",
                pod("a", "n", "Running", None, &none),
                pod("b", "m", "Running", early, &none),
            ),
            (
                "cheap",
                pod("a", "n", "Running", early, &cheap),
                pod("b", "m", "Running", late, &none),
            ),
            (
                "ready last",
                pod("a", "n", "Running", late, &none),
                pod("b", "m", "Running", early, &none),
            ),
            (
                "failing",
                pod("a", "n", "Running", early, &failing),
                pod("b", "m", "Running", early, &none),
            ),
            (
                "young",
                pod("a", "n", "Running", early, &young),
                pod("b", "m", "Running", early, &none),
            ),
        ];
        for (why, first, second) in cases {
            for pods in [vec![first.clone(), second.clone()], vec![second, first]] {
                let sorted = in_order_of_departure(pods);
                assert_eq!(sorted[0].metadata.name.as_deref(), Some("a"), "{why}");
            }
        }
    }

    #[test]
    fn nodes_with_several_pods_give_first() {
        let none = json!({});
        let ready = Some("2026-01-01T00:00:00Z");
        let pods = ["x", "y", "y"].into_iter().enumerate();
        let pods = pods.map(|(index, node)| pod(&index.to_string(), node, "Running", ready, &none));
        let sorted = in_order_of_departure(pods.collect());
        assert_eq!(pod::node(&sorted[0]), Some("y"));
        assert_eq!(pod::node(&sorted[2]), Some("x"));
    }
}
