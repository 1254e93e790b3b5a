//! Example of 4.7.4 from the enhancement "targeted update edge blocking": three files and the
//! response, also for readers of the first schema.

use std::collections::BTreeSet;

use fairway_fixtures::blocked_edges::FILES;
use fairway_graph::build::build;
use fairway_graph::cincinnati::GraphSerializer;
use fairway_graph::{Graph, GraphData};
use regex::Regex;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{declare, files, release};

const CHANNEL: (&str, &str) = (
    "channels/stable-4.7.yaml",
    "name: stable-4.7\nversions:\n- 4.6.23\n- 4.6.42\n- 4.7.3\n- 4.7.4\n",
);

fn graph_data() -> impl Iterator<Item = (&'static str, &'static str)> {
    [("version", "1.1.0\n"), CHANNEL].into_iter().chain(FILES)
}

fn declared() -> Graph {
    declare(vec![
        release("4.6.23", "amd64", &[]),
        release("4.6.42", "amd64", &["4.6.23"]),
        release("4.7.3", "amd64", &["4.6.23"]),
        release("4.7.4", "amd64", &["4.6.23", "4.7.3"]),
    ])
}

fn response() -> Value {
    let data = GraphData::read(&files(graph_data())).unwrap();
    assert_eq!(data.findings, []);
    let (graph, problems) = build(declared(), &data);
    assert_eq!(problems, []);
    let response = GraphSerializer::architecture(&graph, "amd64").channel_json("stable-4.7");
    serde_json::from_slice(&response).unwrap()
}

#[test]
fn response_contains_risks_of_files() {
    let vsphere = "cluster_infrastructure_provider{type=~\"VSphere|None\"}\nor\n0 * cluster_infrastructure_provider\n";
    let leak = json!({
        "url": "https://bugzilla.redhat.com/show_bug.cgi?id=1941840#c33",
        "name": "AuthOAuthProxyLeakedConnections",
        "message": "On clusters with a Proxy configured, the authentication operator may keep many oauth-server connections open, resulting in high memory consumption by the authentication operator and router pods.",
        "matchingRules": [{"type": "PromQL", "promql": {"promql": "max(cluster_proxy_enabled{type=~\"https?\"})"}}],
    });
    let names = json!({
        "url": "https://bugzilla.redhat.com/show_bug.cgi?id=1942207#c3",
        "name": "VSphereNodeNameChanges",
        "message": "vSphere clusters leveraging the vSphere cloud provider may lose node names which can have serious impacts on the stability of the control plane and workloads.",
        "matchingRules": [{"type": "PromQL", "promql": {"promql": vsphere}}],
    });
    let network = json!({
        "url": "https://access.redhat.com/solutions/5896081",
        "name": "VSphereHW14CrossNodeNetworkingError",
        "message": "Clusters on vSphere Virtual Hardware Version 14 and later may experience cross-node networking issues.",
        "matchingRules": [{"type": "PromQL", "promql": {"promql": vsphere}}],
    });
    let response = response();
    let versions: Vec<&str> = response["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["version"].as_str().unwrap())
        .collect();
    assert_eq!(versions, ["4.6.23", "4.6.42", "4.7.3", "4.7.4"]);
    assert_eq!(response["edges"], json!([[0, 1], [0, 2]]));
    assert_eq!(
        response["conditionalEdges"],
        json!([
            {"edges": [{"from": "4.6.23", "to": "4.7.4"}], "risks": [leak, network, names]},
            {"edges": [{"from": "4.7.3", "to": "4.7.4"}], "risks": [names]},
        ])
    );
    assert_eq!(response["version"], 1);
}

#[test]
fn response_for_first_protocol_omits_conditional_edges() {
    #[derive(Deserialize)]
    struct First {
        nodes: Vec<Value>,
        edges: Vec<(usize, usize)>,
    }
    let first: First = serde_json::from_value(response()).unwrap();
    let targets: BTreeSet<Option<&str>> =
        first.edges.iter().map(|(_, to)| first.nodes[*to]["version"].as_str()).collect();
    assert_eq!(targets, BTreeSet::from([Some("4.6.42"), Some("4.7.3")]));
}

#[test]
fn files_for_first_schema_block_conditional_edges() {
    #[derive(Deserialize)]
    struct First {
        to: String,
        from: String,
    }
    let blocks: Vec<First> =
        FILES.iter().map(|(_, text)| serde_saphyr::from_str(text).unwrap()).collect();
    let remaining_edges_of = |from: &str, to: &str| {
        blocks.iter().any(|block| block.to == to && Regex::new(&block.from).unwrap().is_match(from))
    };
    assert!(
        remaining_edges_of("4.6.23+amd64", "4.7.4") && remaining_edges_of("4.7.3+amd64", "4.7.4")
    );
    assert!(!remaining_edges_of("4.6.23+amd64", "4.7.3"));
}
