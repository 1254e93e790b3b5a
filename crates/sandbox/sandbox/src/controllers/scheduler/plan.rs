//! Choice of a node for a pod.

use std::collections::BTreeMap;
use std::fmt::Display;

use k8s_openapi::api::core::v1::{Pod, PodSpec};

use super::affinity::{AffinityFailure, Snapshot};
use crate::controllers::node_filter::filter_node;

/// Scheduler name of pods without one.
const NAME: &str = "default-scheduler";

/// Result of scheduling a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scheduling {
    /// Bind the pod to this node.
    Bind(String),
    /// No feasible node, with the message of the condition.
    Unschedulable(String),
}

/// Whether this scheduler has to bind the pod.
pub(super) fn needs_binding(pod: &PodSpec) -> bool {
    let scheduler = pod.scheduler_name.as_deref().filter(|name| !name.is_empty());
    pod.node_name.as_deref().unwrap_or_default().is_empty()
        && scheduler.unwrap_or(NAME) == NAME
        && pod.scheduling_gates.as_deref().unwrap_or_default().is_empty()
}

/// Chooses the feasible node with the fewest pods.
pub(super) fn schedule(pod: &Pod, snapshot: &Snapshot) -> Scheduling {
    if snapshot.nodes.is_empty() {
        return Scheduling::Unschedulable("no nodes available to schedule pods".to_owned());
    }
    let spec = pod.spec.clone().unwrap_or_default();
    let mut infeasible = InfeasibleNodes::default();
    let mut feasible = Vec::new();
    for (name, node) in &snapshot.nodes {
        if let Some(failure) = filter_node(&spec, node) {
            infeasible.add(failure.message(), NOT_HELPFUL);
        } else if let Some(failure) = snapshot.affinity_failure(pod, node) {
            let helps = failure != AffinityFailure::Affinity;
            infeasible
                .add(failure.message().to_owned(), if helps { NO_VICTIMS } else { NOT_HELPFUL });
        } else {
            feasible.push(name);
        }
    }
    let pod_count = |name: &String| snapshot.pods.iter().filter(|it| it.node == *name).count();
    match feasible.into_iter().min_by_key(|name| pod_count(name)) {
        Some(name) => Scheduling::Bind(name.clone()),
        None => Scheduling::Unschedulable(infeasible.explain(snapshot.nodes.len())),
    }
}

/// Preemption could not make the node feasible.
const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";
/// Preemption could help, but no pod has a lower priority.
const NO_VICTIMS: &str = "No preemption victims found for incoming pod";

/// Reasons why nodes are not feasible, and why preemption does not help.
#[derive(Default)]
struct InfeasibleNodes {
    failures: BTreeMap<String, usize>,
    preemption: BTreeMap<&'static str, usize>,
}

impl InfeasibleNodes {
    fn add(&mut self, failure: String, preemption: &'static str) {
        *self.failures.entry(failure).or_default() += 1;
        *self.preemption.entry(preemption).or_default() += 1;
    }

    fn explain(&self, nodes: usize) -> String {
        let none = format!("0/{nodes} nodes are available:");
        let (why, why_not) = (counted(&self.failures), counted(&self.preemption));
        format!("{none} {why}. preemption: {none} {why_not}.")
    }
}

fn counted<T: Display>(infeasible: &BTreeMap<T, usize>) -> String {
    let mut parts: Vec<_> =
        infeasible.iter().map(|(why, count)| format!("{count} {why}")).collect();
    parts.sort_unstable();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::Node;
    use serde_json::{Value, json};

    use super::super::affinity::ScheduledPod;
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

    fn snapshot(nodes: &[Node], pods_on: &[&str]) -> Snapshot {
        let neighbour = |node: &&str| {
            let metadata = json!({ "namespace": "n", "labels": { "app": "web" } });
            ScheduledPod::new(&Arc::new(
                json!({ "metadata": metadata, "spec": { "nodeName": node } }),
            ))
        };
        let named = |node: &Node| (node.metadata.name.clone().unwrap(), node.clone());
        Snapshot {
            pods: pods_on.iter().filter_map(neighbour).collect(),
            nodes: nodes.iter().map(named).collect(),
            namespaces: BTreeMap::new(),
        }
    }

    #[test]
    fn needs_binding_with_node_gates_or_other_scheduler_is_false() {
        for (spec, expected) in [
            (json!({}), true),
            (json!({ "schedulerName": "default-scheduler" }), true),
            (json!({ "schedulerName": "mine" }), false),
            (json!({ "nodeName": "a" }), false),
            (json!({ "schedulingGates": [{ "name": "a.b/c" }] }), false),
        ] {
            assert_eq!(needs_binding(&pod(&spec).spec.unwrap()), expected, "{spec}");
        }
    }

    #[test]
    fn schedule_prefers_node_with_fewest_pods() {
        let cordoned = json!({ "unschedulable": true });
        let nodes = [node("a", &json!({})), node("b", &json!({})), node("c", &cordoned)];
        for (pods_on, expected) in
            [(&[][..], "a"), (&["a"], "b"), (&["a", "b"], "a"), (&["a", "a", "a", "b", "b"], "b")]
        {
            let decision = schedule(&pod(&json!({})), &snapshot(&nodes, pods_on));
            assert_eq!(decision, Scheduling::Bind(expected.to_owned()), "{pods_on:?}");
        }
    }

    #[test]
    fn schedule_without_feasible_node_explains_why() {
        let tainted = json!({ "taints": [{ "key": "k", "value": "v", "effect": "NoSchedule" }] });
        let nodes = [
            node("a", &json!({})),
            node("b", &json!({})),
            node("c", &json!({ "unschedulable": true })),
            node("d", &tainted),
        ];
        let text = |spec: &Value, snapshot: &Snapshot| match schedule(&pod(spec), snapshot) {
            Scheduling::Unschedulable(why) => why,
            Scheduling::Bind(name) => panic!("{name}"),
        };
        let choosy = json!({ "nodeSelector": { "disk": "ssd" } });
        insta::assert_snapshot!(text(&choosy, &snapshot(&[], &[])), @"no nodes available to schedule pods");
        insta::assert_snapshot!(text(&choosy, &snapshot(&nodes[..2], &[])), @"0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.");
        insta::assert_snapshot!(text(&choosy, &snapshot(&nodes, &[])), @"0/4 nodes are available: 1 node(s) had untolerated taint {k: v}, 1 node(s) were unschedulable, 2 node(s) didn't match Pod's node affinity/selector. preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling.");
        let lonely = json!({ "affinity": { "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [
            { "labelSelector": { "matchLabels": { "app": "web" } }, "topologyKey": "name" }
        ] } } });
        insta::assert_snapshot!(text(&lonely, &snapshot(&nodes[..3], &["a", "b"])), @"0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't match pod anti-affinity rules. preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.");
    }
}
