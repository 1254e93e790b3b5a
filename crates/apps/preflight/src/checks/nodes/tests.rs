use anyhow::Result;
use fairway_testkit::TestCluster;
use fairway_testkit::releases::TestRelease;
use serde_json::{Value, json};

use super::*;
use crate::checks::ground::{create, node};
use crate::testing::{target, told};

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
    let mut rooms = Rooms::of(&nodes);
    for pod in pods {
        rooms.add(&serde_json::from_value(pod.clone()).unwrap());
    }
    judge(&nodes, &rooms)
}

fn names(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.name.as_str()).collect()
}

#[test]
fn what_nodes_say_about_themselves() {
    let says = |type_: &str, status: &str| {
        let conditions =
            json!([{"type": "Ready", "status": "True"}, {"type": type_, "status": status}]);
        with(node("a", "4", "8Gi"), "/status/conditions", conditions)
    };
    let ready = |status: &str| {
        let conditions = json!([{"type": "Ready", "status": status, "message": "kubelet stopped"}]);
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
fn pods_need_room_on_other_nodes() {
    let nodes = |taint: Option<&str>| {
        let taints = taint.map(|effect| json!([{"key": "k", "effect": effect}]));
        [
            node("a", "4", "8Gi"),
            node("b", "4", "8Gi"),
            with(node("c", "4", "8Gi"), "/spec", json!({"taints": taints})),
        ]
    };
    let full = [pod("a", "a", "3", "1Gi"), pod("b", "b", "3", "1Gi"), pod("c", "c", "0.5", "1Gi")];
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
    let thirds = [pod("a", "a", "0.1", "1"), pod("b", "a", "0.2", "1"), pod("c", "b", "3.7", "1")];
    assert_eq!(names(&judged(&nodes(None)[..2], &thirds)), Vec::<&str>::new(), "it just fits");
}

#[test]
fn a_pod_asks_for_its_containers_or_for_what_runs_before() {
    let requests = |cpu: &str| json!({"requests": {"cpu": cpu}});
    let init = |cpu: &str, policy: Option<&str>| json!({"name": "i", "restartPolicy": policy, "resources": requests(cpu)});
    // 4 of 4 are free beside it.
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
fn nodes_are_named_with_what_to_do() {
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
    insta::assert_snapshot!(told(&judged(&nodes, &pods)), @r#"
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
async fn the_nodes_of_a_cluster_are_looked_at() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let client = cluster.client();
    let cordoned = with(node("a", "4", "8Gi"), "/spec", json!({"unschedulable": true}));
    create(&client, &cordoned).await?;
    create(&client, &with(node("b", "4", "8Gi"), "/status/conditions", json!([]))).await?;
    let answer =
        Nodes.run(&Cluster::new(client), &target("5.0.0", &TestRelease::new("5.1.0"))?).await?;
    assert_eq!(names(&answer.findings), ["NodesNotReady", "NodesUnschedulable"]);
    Ok(())
}
