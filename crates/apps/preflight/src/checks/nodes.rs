//! `nodes`: health and capacity of nodes.
//!
//! The check reports nodes that are not ready, on which the update does not complete
//! (`NodesNotReady`), nodes with disk, memory or PID pressure (`NodesUnderPressure`), and
//! unschedulable nodes (`NodesUnschedulable`, for information). It sums the resource requests of
//! pods: if the pods of one node do not fit on the others, they do not run during the update of
//! that node (`NodesShortOfRoom`). The sum ignores fragmentation, and nodes with taints are
//! excluded, so only certain shortages are reported.

use std::collections::BTreeMap;

use fairway_findings::{Finding, Severity};
use futures::FutureExt as _;
use k8s_openapi::api::core::v1::{Container, Node, NodeCondition, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::ResourceExt;

use crate::check::{BuiltInResult, NoResult, StatelessCheck};
use crate::cluster::Cluster;
use crate::pods;
use crate::pods::amount;
use crate::resources::{NODES, PODS};
use crate::wording::{are, explained, listed, message_or_none};

/// Conditions of nodes under pressure.
const PRESSURES: [&str; 3] = ["DiskPressure", "MemoryPressure", "PIDPressure"];

/// The check `nodes`.
pub(super) const CHECK: StatelessCheck = StatelessCheck {
    name: "nodes",
    watched: &[NODES, PODS],
    run: |cluster, _| examine(cluster).boxed(),
};

async fn examine(cluster: &Cluster) -> Result<BuiltInResult, NoResult> {
    let nodes: Vec<Node> = cluster.all().await?;
    if nodes.is_empty() {
        return Err(NoResult::NotKnown("the cluster has no nodes".to_owned()));
    }
    let mut capacities = NodeCapacities::of(&nodes);
    cluster.each(|pod: Pod| capacities.add(&pod)).await?;
    Ok(evaluate(&nodes, &capacities).into())
}

fn evaluate(nodes: &[Node], capacities: &NodeCapacities) -> Vec<Finding> {
    let found = [not_ready(nodes), under_pressure(nodes), capacities.short(), unschedulable(nodes)];
    found.into_iter().flatten().collect()
}

fn condition<'a>(node: &'a Node, type_: &str) -> Option<&'a NodeCondition> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether the node is ready.
fn is_ready(node: &Node) -> bool {
    condition(node, "Ready").is_some_and(|ready| ready.status == "True")
}

/// Whether the scheduler places pods on the node.
fn is_schedulable(node: &Node) -> bool {
    node.spec.as_ref().is_none_or(|spec| spec.unschedulable != Some(true))
}

fn not_ready(nodes: &[Node]) -> Option<Finding> {
    let not_ready = nodes.iter().filter(|node| !is_ready(node)).map(|node| {
        let ready = condition(node, "Ready");
        (node.name_any(), message_or_none(ready.and_then(|ready| ready.message.as_deref())))
    });
    let found: Vec<(String, String)> = not_ready.collect();
    let (first, _) = found.first()?;
    let message = format!(
        "{} not ready, and the update cannot complete on such a node: {}.",
        are(found.len(), "node"),
        explained(&found),
    );
    let remediation = format!(
        "Repair or remove the node: `kubectl describe node {first}`, `kubectl delete node {first}`."
    );
    Some(Finding::critical("NodesNotReady", message).remediation(remediation))
}

fn under_pressure(nodes: &[Node]) -> Option<Finding> {
    let holds = |node: &Node, type_: &str| {
        condition(node, type_).is_some_and(|condition| condition.status == "True")
    };
    let render = |node: &Node| {
        let pressures: Vec<&str> =
            PRESSURES.into_iter().filter(|type_| holds(node, type_)).collect();
        (!pressures.is_empty()).then(|| (node.name_any(), pressures.join(", ")))
    };
    let pressed: Vec<(String, String)> = nodes.iter().filter_map(render).collect();
    let (first, _) = pressed.first()?;
    let message = format!(
        "{} under resource pressure. An update temporarily needs more resources, and the kubelet \
         may evict platform pods: {}.",
        are(pressed.len(), "node"),
        explained(&pressed),
    );
    let remediation =
        format!("Free the resource that the node reports: `kubectl describe node {first}`.");
    Some(Finding::warning("NodesUnderPressure", message).remediation(remediation))
}

fn unschedulable(nodes: &[Node]) -> Option<Finding> {
    let names: Vec<String> =
        nodes.iter().filter(|node| !is_schedulable(node)).map(ResourceExt::name_any).collect();
    let first = names.first()?;
    let message = format!(
        "{} cordoned, so the scheduler places no pods there: {}.",
        are(names.len(), "node"),
        listed(&names),
    );
    let remediation = format!("Make the node schedulable again: `kubectl uncordon {first}`.");
    Some(Finding::info("NodesUnschedulable", message).remediation(remediation))
}

/// Tolerance for floating-point sums.
const TOLERANCE: f64 = 1e-6;

/// CPU and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Capacity {
    cpu: f64,
    memory: f64,
}

/// Capacity and usage of a node.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    has: Capacity,
    taken: Capacity,
    /// Requests of pods that move when the node is drained.
    moves: Capacity,
}

/// Capacity of nodes without taints.
struct NodeCapacities(BTreeMap<String, Use>);

impl NodeCapacities {
    fn of(nodes: &[Node]) -> Self {
        let open = nodes
            .iter()
            .filter(|node| is_ready(node) && is_schedulable(node) && !has_blocking_taints(node));
        let room = |node: &Node| {
            let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
            let has = allocatable.map(Capacity::read).unwrap_or_default();
            (node.name_any(), Use { has, ..Use::default() })
        };
        Self(open.map(room).collect())
    }

    /// Adds a pod to its node.
    fn add(&mut self, pod: &Pod) {
        let Some(spec) = pod.spec.as_ref().filter(|_| !pods::has_ended(pod)) else { return };
        let Some(node) = spec.node_name.as_ref().and_then(|name| self.0.get_mut(name)) else {
            return;
        };
        let requests = Capacity::requests_of(spec);
        node.taken = node.taken.plus(requests);
        if pods::is_drained(pod) {
            node.moves = node.moves.plus(requests);
        }
    }

    /// Finding for the node with the largest shortage on the others, if any.
    fn short(&self) -> Option<Finding> {
        if self.0.len() < 2 {
            return None;
        }
        let missing = self.0.iter().map(|(name, one)| (name, one.moves.minus(self.beside(name))));
        let short = missing.filter(|(_, missing)| *missing != Capacity::default());
        let (name, missing) = short.max_by(|(_, a), (_, b)| {
            (a.cpu, a.memory).partial_cmp(&(b.cpu, b.memory)).unwrap_or(std::cmp::Ordering::Equal)
        })?;
        Some(Finding {
            name: "NodesShortOfRoom".to_owned(),
            message: format!(
                "The pods of node {name} do not fit on the other nodes while it is drained. \
                 According to resource requests, the other nodes lack {}.",
                missing.render(),
            ),
            severity: Severity::Warning,
            remediation: "Add a node or run fewer pods. `kubectl describe nodes` shows the usage \
                          of each node under \"Allocated resources\"."
                .to_owned(),
            ..Finding::default()
        })
    }

    /// Free capacity of all other nodes.
    fn beside(&self, name: &str) -> Capacity {
        let others = self.0.iter().filter(|(other, _)| *other != name);
        others.fold(Capacity::default(), |sum, (_, one)| sum.plus(one.has.minus(one.taken)))
    }
}

/// Whether pods without tolerations are not placed on the node.
fn has_blocking_taints(node: &Node) -> bool {
    let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    taints.into_iter().any(|taint| matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute"))
}

impl Capacity {
    /// Missing or invalid quantities count as zero.
    fn read(amounts: &BTreeMap<String, Quantity>) -> Self {
        let read = |name: &str| amounts.get(name).and_then(|it| amount(&it.0)).unwrap_or_default();
        Self { cpu: read("cpu"), memory: read("memory") }
    }

    /// Requests of a pod: the sum of its containers, or the largest init container if that is more.
    fn requests_of(pod: &PodSpec) -> Self {
        let of = |container: &Container| {
            let requests = container.resources.as_ref().and_then(|it| it.requests.as_ref());
            requests.map(Self::read).unwrap_or_default()
        };
        let (stay, first): (Vec<&Container>, Vec<&Container>) = pod
            .init_containers
            .iter()
            .flatten()
            .partition(|container| container.restart_policy.as_deref() == Some("Always"));
        let together = pod.containers.iter().chain(stay);
        let together = together.fold(Self::default(), |sum, container| sum.plus(of(container)));
        let most = first.into_iter().fold(together, |most, container| most.max(of(container)));
        most.plus(pod.overhead.as_ref().map(Self::read).unwrap_or_default())
    }

    fn plus(self, other: Self) -> Self {
        Self { cpu: self.cpu + other.cpu, memory: self.memory + other.memory }
    }

    /// Difference, at least zero.
    fn minus(self, other: Self) -> Self {
        let left = |a: f64, b: f64| if a - b > TOLERANCE { a - b } else { 0.0 };
        Self { cpu: left(self.cpu, other.cpu), memory: left(self.memory, other.memory) }
    }

    fn max(self, other: Self) -> Self {
        Self { cpu: self.cpu.max(other.cpu), memory: self.memory.max(other.memory) }
    }

    /// Text such as `1.5 cpu and 512 MiB of memory`.
    fn render(self) -> String {
        let cpu = (self.cpu > 0.0).then(|| format!("{:.2} cpu", self.cpu));
        let mebibytes = (self.memory / 1_048_576.0).ceil();
        let memory = (self.memory > 0.0).then(|| format!("{mebibytes} MiB of memory"));
        cpu.into_iter().chain(memory).collect::<Vec<_>>().join(" and ")
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Result;
    use fairway_testkit::TestCluster;
    use fairway_testkit::releases::TestRelease;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{create_with_status, node};
    use crate::testing::{render, target};

    fn pod(name: &str, node: &str, cpu: &str, memory: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "nodeName": node,
                "containers": [{
                    "name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": memory}},
                }],
            },
        })
    }

    fn with(mut object: Value, pointer: &str, value: Value) -> Value {
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        object.pointer_mut(parent).unwrap()[field] = value;
        object
    }

    fn judged(nodes: &[Value], pods: &[Value]) -> Vec<Finding> {
        let nodes: Vec<Node> =
            nodes.iter().map(|node| serde_json::from_value(node.clone()).unwrap()).collect();
        let mut capacities = NodeCapacities::of(&nodes);
        for pod in pods {
            capacities.add(&serde_json::from_value(pod.clone()).unwrap());
        }
        evaluate(&nodes, &capacities)
    }

    fn names(findings: &[Finding]) -> Vec<&str> {
        findings.iter().map(|finding| finding.name.as_str()).collect()
    }

    #[test]
    fn findings_of_node_conditions() {
        let says = |type_: &str, status: &str| {
            let conditions =
                json!([{"type": "Ready", "status": "True"}, {"type": type_, "status": status}]);
            with(node("a", "4", "8Gi"), "/status/conditions", conditions)
        };
        let ready = |status: &str| {
            let conditions =
                json!([{"type": "Ready", "status": status, "message": "kubelet stopped"}]);
            with(node("a", "4", "8Gi"), "/status/conditions", conditions)
        };
        for (node, expected) in [
            (node("a", "4", "8Gi"), vec![]),
            (ready("False"), vec!["NodesNotReady"]),
            (ready("Unknown"), vec!["NodesNotReady"]),
            (with(node("a", "4", "8Gi"), "/status", json!({})), vec!["NodesNotReady"]),
            (says("MemoryPressure", "True"), vec!["NodesUnderPressure"]),
            (says("DiskPressure", "False"), vec![]),
            (says("NetworkUnavailable", "True"), vec![]),
            (
                with(node("a", "4", "8Gi"), "/spec", json!({"unschedulable": true})),
                vec!["NodesUnschedulable"],
            ),
        ] {
            assert_eq!(names(&judged(std::slice::from_ref(&node), &[])), expected, "{node}");
        }
    }

    #[test]
    fn finding_if_pods_do_not_fit_on_other_nodes() {
        let nodes = |taint: Option<&str>| {
            let taints = taint.map(|effect| json!([{"key": "k", "effect": effect}]));
            [
                node("a", "4", "8Gi"),
                node("b", "4", "8Gi"),
                with(node("c", "4", "8Gi"), "/spec", json!({"taints": taints})),
            ]
        };
        let full =
            [pod("a", "a", "3", "1Gi"), pod("b", "b", "3", "1Gi"), pod("c", "c", "0.5", "1Gi")];
        assert_eq!(names(&judged(&nodes(None), &full)), Vec::<&str>::new());
        assert_eq!(names(&judged(&nodes(Some("PreferNoSchedule")), &full)), Vec::<&str>::new());
        assert_eq!(names(&judged(&nodes(Some("NoSchedule")), &full)), ["NodesShortOfRoom"]);
        assert_eq!(names(&judged(&nodes(None)[..1], &full)), Vec::<&str>::new(), "a single node");
        let owners = json!([{
            "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "1", "controller": true,
        }]);
        let stays = |pod: &Value| with(pod.clone(), "/metadata/ownerReferences", owners.clone());
        let staying = [stays(&full[0]), stays(&full[1])];
        assert_eq!(names(&judged(&nodes(None)[..2], &staying)), Vec::<&str>::new());
        let thirds =
            [pod("a", "a", "0.1", "1"), pod("b", "a", "0.2", "1"), pod("c", "b", "3.7", "1")];
        assert_eq!(names(&judged(&nodes(None)[..2], &thirds)), Vec::<&str>::new(), "it just fits");
    }

    #[test]
    fn requests_of_pod_include_init_containers_and_overhead() {
        let requests = |cpu: &str| json!({"requests": {"cpu": cpu}});
        let init = |cpu: &str, policy: Option<&str>| json!({"name": "i", "restartPolicy": policy, "resources": requests(cpu)});
        // The other node has 4 CPUs free.
        for (before, overhead, fits) in [
            (vec![], "0", true),
            (vec![init("4", None)], "0", true),
            (vec![init("4", None), init("5", None)], "0", false),
            (vec![init("3", Some("Always"))], "0", true),
            (vec![init("3", Some("Always"))], "1m", false),
        ] {
            let mut pod = pod("a", "a", "1", "1");
            pod["spec"]["initContainers"] = json!(before);
            pod["spec"]["overhead"] = json!({"cpu": overhead});
            let found = judged(&[node("a", "8", "8Gi"), node("b", "4", "8Gi")], &[pod]);
            assert_eq!(found.is_empty(), fits, "{before:?}");
        }
    }

    #[test]
    fn findings_name_nodes_and_remediation() {
        let stopped = json!([
            {"type": "Ready", "status": "Unknown", "message": "Kubelet stopped posting node status."},
            {"type": "DiskPressure", "status": "True"}, {"type": "PIDPressure", "status": "True"},
        ]);
        let nodes = [
            node("a", "4", "8Gi"),
            node("b", "4", "8Gi"),
            with(node("c", "4", "8Gi"), "/status/conditions", stopped),
            with(node("d", "4", "8Gi"), "/spec", json!({"unschedulable": true})),
        ];
        let pods = [pod("a", "a", "3500m", "7Gi"), pod("b", "b", "3", "6Gi")];
        insta::assert_snapshot!(render(&judged(&nodes, &pods)), @r#"
        NodesNotReady (critical): 1 node is not ready, and the update cannot complete on such a node: c (Kubelet stopped posting node status).
          Repair or remove the node: `kubectl describe node c`, `kubectl delete node c`.
        NodesUnderPressure (warning): 1 node is under resource pressure. An update temporarily needs more resources, and the kubelet may evict platform pods: c (DiskPressure, PIDPressure).
          Free the resource that the node reports: `kubectl describe node c`.
        NodesShortOfRoom (warning): The pods of node b do not fit on the other nodes while it is drained. According to resource requests, the other nodes lack 2.50 cpu and 5120 MiB of memory.
          Add a node or run fewer pods. `kubectl describe nodes` shows the usage of each node under "Allocated resources".
        NodesUnschedulable (info): 1 node is cordoned, so the scheduler places no pods there: d.
          Make the node schedulable again: `kubectl uncordon d`.
        "#);
    }

    #[tokio::test]
    async fn run_reads_nodes_of_cluster() -> Result<()> {
        let cluster = TestCluster::shared().await?;
        let client = cluster.client();
        let cordoned = with(node("a", "4", "8Gi"), "/spec", json!({"unschedulable": true}));
        create_with_status(&client, &cordoned).await?;
        create_with_status(&client, &with(node("b", "4", "8Gi"), "/status/conditions", json!([])))
            .await?;
        let answer =
            (CHECK.run)(&Cluster::new(client), &target("5.0.0", &TestRelease::new("5.1.0"))?)
                .await?;
        assert_eq!(names(&answer.findings), ["NodesNotReady", "NodesUnschedulable"]);
        Ok(())
    }
}
