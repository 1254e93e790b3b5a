//! Order in which surplus pods are deleted.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;

use super::pod;

const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// Sorts pods by deletion rank, as `ActivePodsWithRanks` in Kubernetes: unassigned before assigned,
/// not running before running, not ready before ready, lower deletion cost, more pods on the same
/// node, ready for a shorter time, more restarts, newer.
pub(super) fn by_deletion_rank(mut pods: Vec<Pod>) -> Vec<Pod> {
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

/// The UID makes the order of pods of the same second deterministic.
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
    fn by_deletion_rank_compares_each_criterion() {
        let none = json!({});
        let early = Some("2026-01-01T00:00:00Z");
        let late = Some("2026-01-01T01:00:00Z");
        let cheap = json!({ "annotations": { DELETION_COST: "-5" } });
        let failing = json!({ "restarts": 3 });
        let young = json!({ "creationTimestamp": "2026-01-02T00:00:00Z" });
        let cases = [
            ("no node", ("", "Pending", None, &none), ("n", "Pending", None, &none)),
            ("no node, though ready", ("", "Running", early, &none), ("n", "Pending", None, &none)),
            ("pending", ("n", "Pending", None, &none), ("m", "Unknown", None, &none)),
            ("unknown", ("n", "Unknown", None, &none), ("m", "Running", None, &none)),
            ("not ready", ("n", "Running", None, &none), ("m", "Running", early, &none)),
            ("cheap", ("n", "Running", early, &cheap), ("m", "Running", late, &none)),
            ("ready last", ("n", "Running", late, &none), ("m", "Running", early, &none)),
            ("failing", ("n", "Running", early, &failing), ("m", "Running", early, &none)),
            ("young", ("n", "Running", early, &young), ("m", "Running", early, &none)),
        ];
        for (why, first, second) in cases {
            let first = pod("a", first.0, first.1, first.2, first.3);
            let second = pod("b", second.0, second.1, second.2, second.3);
            for pods in [vec![first.clone(), second.clone()], vec![second, first]] {
                let sorted = by_deletion_rank(pods);
                assert_eq!(sorted[0].metadata.name.as_deref(), Some("a"), "{why}");
            }
        }
    }

    #[test]
    fn by_deletion_rank_prefers_nodes_with_several_pods() {
        let none = json!({});
        let ready = Some("2026-01-01T00:00:00Z");
        let pods = ["x", "y", "y"].into_iter().enumerate();
        let pods = pods.map(|(index, node)| pod(&index.to_string(), node, "Running", ready, &none));
        let sorted = by_deletion_rank(pods.collect());
        assert_eq!(pod::node(&sorted[0]), Some("y"));
        assert_eq!(pod::node(&sorted[2]), Some("x"));
    }
}
