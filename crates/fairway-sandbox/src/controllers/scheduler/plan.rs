//! Which node a pod gets.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, PodSpec};

use crate::controllers::placement::obstacle;

/// Whose pods are placed here.
const NAME: &str = "default-scheduler";

/// Where a pod goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// To the node of this name.
    Place(String),
    /// Nowhere, and why.
    Wait(String),
}

/// Whether a pod waits for a node from here.
pub(super) fn is_waiting(pod: &PodSpec) -> bool {
    let scheduler = pod.scheduler_name.as_deref().filter(|name| !name.is_empty());
    pod.node_name.as_deref().unwrap_or_default().is_empty()
        && scheduler.unwrap_or(NAME) == NAME
        && pod.scheduling_gates.as_deref().unwrap_or_default().is_empty()
}

/// The node with the fewest pods among those that the pod may run on.
pub(super) fn decide(pod: &PodSpec, nodes: &[Node], pods_on: &BTreeMap<String, usize>) -> Decision {
    if nodes.is_empty() {
        return Decision::Wait("no nodes available to schedule pods".to_owned());
    }
    let mut reasons = BTreeMap::<String, usize>::new();
    let mut possible = Vec::new();
    for node in nodes {
        match obstacle(pod, node) {
            Some(obstacle) => *reasons.entry(obstacle.message()).or_default() += 1,
            None => possible.extend(node.metadata.name.clone()),
        }
    }
    let crowd = |name: &String| pods_on.get(name).copied().unwrap_or(0);
    match possible.into_iter().min_by_key(|name| (crowd(name), name.clone())) {
        Some(name) => Decision::Place(name),
        None => Decision::Wait(explain(nodes.len(), &reasons)),
    }
}

fn explain(nodes: usize, reasons: &BTreeMap<String, usize>) -> String {
    let mut parts: Vec<_> = reasons.iter().map(|(why, count)| format!("{count} {why}")).collect();
    parts.sort_unstable();
    let none = format!("0/{nodes} nodes are available:");
    let parts = parts.join(", ");
    // Nothing is ever driven out here to make room for something more important.
    format!("{none} {parts}. preemption: {none} {nodes} Preemption is not helpful for scheduling.")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(name: &str, spec: &Value) -> Node {
        serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap()
    }

    fn pod(spec: &Value) -> PodSpec {
        let mut full = json!({ "containers": [] });
        json_patch::merge(&mut full, spec);
        serde_json::from_value(full).unwrap()
    }

    #[test]
    fn only_pods_without_a_node_wait() {
        for (spec, expected) in [
            (json!({}), true),
            (json!({ "schedulerName": "default-scheduler" }), true),
            (json!({ "schedulerName": "mine" }), false),
            (json!({ "nodeName": "a" }), false),
            (json!({ "schedulingGates": [{ "name": "a.b/c" }] }), false),
        ] {
            assert_eq!(is_waiting(&pod(&spec)), expected, "{spec}");
        }
    }

    #[test]
    fn pods_are_spread() {
        let nodes = [
            node("a", &json!({})),
            node("b", &json!({})),
            node("c", &json!({ "unschedulable": true })),
        ];
        let pods_on = |counts: &[(&str, usize)]| {
            counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
        };
        for (counts, expected) in [
            (&[][..], "a"),
            (&[("a", 1)], "b"),
            (&[("a", 1), ("b", 1)], "a"),
            (&[("a", 3), ("b", 2)], "b"),
        ] {
            let decision = decide(&pod(&json!({})), &nodes, &pods_on(counts));
            assert_eq!(decision, Decision::Place(expected.to_owned()), "{counts:?}");
        }
    }

    #[test]
    fn a_pod_that_has_to_wait_is_told_why() {
        let tainted = json!({ "taints": [{ "key": "k", "value": "v", "effect": "NoSchedule" }] });
        let nodes = [
            node("a", &json!({})),
            node("b", &json!({})),
            node("c", &json!({ "unschedulable": true })),
            node("d", &tainted),
        ];
        let pod = pod(&json!({ "nodeSelector": { "disk": "ssd" } }));
        let text = |nodes: &[Node]| match decide(&pod, nodes, &BTreeMap::new()) {
            Decision::Wait(why) => why,
            Decision::Place(name) => panic!("{name}"),
        };
        insta::assert_snapshot!(text(&[]), @"no nodes available to schedule pods");
        insta::assert_snapshot!(text(&nodes[..2]), @"0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.");
        insta::assert_snapshot!(text(&nodes), @"0/4 nodes are available: 1 node(s) had untolerated taint {k: v}, 1 node(s) were unschedulable, 2 node(s) didn't match Pod's node affinity/selector. preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling.");
    }
}
