//! Which node a pod gets.

use std::collections::BTreeMap;
use std::fmt::Display;

use k8s_openapi::api::core::v1::{Pod, PodSpec};

use super::neighbours::{Disagreement, Neighbourhood};
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
pub(super) fn decide(pod: &Pod, around: &Neighbourhood) -> Decision {
    if around.nodes.is_empty() {
        return Decision::Wait("no nodes available to schedule pods".to_owned());
    }
    let spec = pod.spec.clone().unwrap_or_default();
    let mut reasons = Reasons::default();
    let mut possible = Vec::new();
    for (name, node) in &around.nodes {
        if let Some(obstacle) = obstacle(&spec, node) {
            reasons.add(obstacle.message(), NOT_HELPFUL);
        } else if let Some(disagreement) = around.disagreement(pod, node) {
            let helps = disagreement != Disagreement::Far;
            reasons.add(
                disagreement.message().to_owned(),
                if helps { NO_VICTIMS } else { NOT_HELPFUL },
            );
        } else {
            possible.push(name);
        }
    }
    let crowd = |name: &String| around.neighbours.iter().filter(|it| it.node == *name).count();
    match possible.into_iter().min_by_key(|name| crowd(name)) {
        Some(name) => Decision::Place(name.clone()),
        None => Decision::Wait(reasons.explain(around.nodes.len())),
    }
}

/// Driving other pods out would change nothing.
const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";
/// It might, but no pod is more important than another here.
const NO_VICTIMS: &str = "No preemption victims found for incoming pod";

/// Why nodes are not for a pod, and why driving others out does not help.
#[derive(Default)]
struct Reasons {
    obstacles: BTreeMap<String, usize>,
    preemption: BTreeMap<&'static str, usize>,
}

impl Reasons {
    fn add(&mut self, obstacle: String, preemption: &'static str) {
        *self.obstacles.entry(obstacle).or_default() += 1;
        *self.preemption.entry(preemption).or_default() += 1;
    }

    fn explain(&self, nodes: usize) -> String {
        let none = format!("0/{nodes} nodes are available:");
        let (why, why_not) = (counted(&self.obstacles), counted(&self.preemption));
        format!("{none} {why}. preemption: {none} {why_not}.")
    }
}

fn counted<T: Display>(reasons: &BTreeMap<T, usize>) -> String {
    let mut parts: Vec<_> = reasons.iter().map(|(why, count)| format!("{count} {why}")).collect();
    parts.sort_unstable();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::Node;
    use serde_json::{Value, json};

    use super::super::neighbours::Neighbour;
    use super::*;

    fn node(name: &str, spec: &Value) -> Node {
        let labels = json!({ "name": name });
        serde_json::from_value(
            json!({ "metadata": { "name": name, "labels": labels }, "spec": spec }),
        )
        .unwrap()
    }

    fn pod(spec: &Value) -> Pod {
        let mut full = json!({ "containers": [] });
        json_patch::merge(&mut full, spec);
        let metadata = json!({ "namespace": "n", "labels": { "app": "web" } });
        serde_json::from_value(json!({ "metadata": metadata, "spec": full })).unwrap()
    }

    fn around(nodes: &[Node], pods_on: &[&str]) -> Neighbourhood {
        let neighbour = |node: &&str| {
            let metadata = json!({ "namespace": "n", "labels": { "app": "web" } });
            Neighbour::of(&Arc::new(json!({ "metadata": metadata, "spec": { "nodeName": node } })))
        };
        let named = |node: &Node| (node.metadata.name.clone().unwrap(), node.clone());
        Neighbourhood {
            neighbours: pods_on.iter().filter_map(neighbour).collect(),
            nodes: nodes.iter().map(named).collect(),
            namespaces: BTreeMap::new(),
        }
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
            assert_eq!(is_waiting(&pod(&spec).spec.unwrap()), expected, "{spec}");
        }
    }

    #[test]
    fn pods_are_spread() {
        let cordoned = json!({ "unschedulable": true });
        let nodes = [node("a", &json!({})), node("b", &json!({})), node("c", &cordoned)];
        for (pods_on, expected) in
            [(&[][..], "a"), (&["a"], "b"), (&["a", "b"], "a"), (&["a", "a", "a", "b", "b"], "b")]
        {
            let decision = decide(&pod(&json!({})), &around(&nodes, pods_on));
            assert_eq!(decision, Decision::Place(expected.to_owned()), "{pods_on:?}");
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
        let text = |spec: &Value, around: &Neighbourhood| match decide(&pod(spec), around) {
            Decision::Wait(why) => why,
            Decision::Place(name) => panic!("{name}"),
        };
        let choosy = json!({ "nodeSelector": { "disk": "ssd" } });
        insta::assert_snapshot!(text(&choosy, &around(&[], &[])), @"no nodes available to schedule pods");
        insta::assert_snapshot!(text(&choosy, &around(&nodes[..2], &[])), @"0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.");
        insta::assert_snapshot!(text(&choosy, &around(&nodes, &[])), @"0/4 nodes are available: 1 node(s) had untolerated taint {k: v}, 1 node(s) were unschedulable, 2 node(s) didn't match Pod's node affinity/selector. preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling.");
        let lonely = json!({ "affinity": { "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [
            { "labelSelector": { "matchLabels": { "app": "web" } }, "topologyKey": "name" }
        ] } } });
        insta::assert_snapshot!(text(&lonely, &around(&nodes[..3], &["a", "b"])), @"0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't match pod anti-affinity rules. preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.");
    }
}
