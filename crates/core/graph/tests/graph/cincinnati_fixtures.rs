//! Cincinnati's test fixtures and recorded responses.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use fairway_graph::build::build;
use fairway_graph::cincinnati::{self, GraphSerializer};
use fairway_graph::graph::key;
use fairway_graph::{Graph, GraphData};
use serde_json::{Value, json};

use crate::support::{cincinnati_vectors, declared, directory_files, graph_data, openshift_graph};

/// Canonical form of a response: nodes and edges by version, risks by name, groups with equal risks
/// merged.
fn normalize(mut response: Value) -> Value {
    let nodes: Vec<Value> = response["nodes"].as_array().cloned().unwrap_or_default();
    let version = |end: &Value| match end.as_u64() {
        Some(place) => text(&nodes[usize::try_from(place).unwrap()]["version"]),
        None => text(end),
    };
    let edges = response["edges"].as_array().unwrap().iter();
    let mut edges: Vec<[String; 2]> =
        edges.map(|edge| [version(&edge[0]), version(&edge[1])]).collect();
    edges.sort();
    let mut sorted = nodes.clone();
    for node in &mut sorted {
        node["metadata"].as_object_mut().unwrap().remove(key::PREVIOUS_REMOVE_REGEX);
    }
    sorted.sort_by_key(|node| text(&node["version"]));
    let mut groups: BTreeMap<String, BTreeSet<[String; 2]>> = BTreeMap::new();
    for group in response["conditionalEdges"].as_array_mut().unwrap() {
        let mut risks = group["risks"].as_array().unwrap().clone();
        risks.sort_by_key(|risk| (text(&risk["name"]), risk.to_string()));
        let edges = groups.entry(Value::from(risks).to_string()).or_default();
        for edge in group["edges"].as_array().unwrap() {
            assert!(edges.insert([text(&edge["to"]), text(&edge["from"])]), "{edge} occurs twice");
        }
    }
    json!({"version": response["version"], "nodes": sorted, "edges": edges, "conditionalEdges": groups})
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Compares every recorded response with the serializer's.
fn compare(responses: &Path, graph: &Graph) {
    let mut compared = 0;
    for entry in fs::read_dir(responses).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let Some((channel, architecture)) = name.split_once('_') else { continue };
        let recorded: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let ours = GraphSerializer::architecture(graph, architecture).channel_json(channel);
        let ours = normalize(serde_json::from_slice(&ours).unwrap());
        let recorded = normalize(recorded);
        for part in ["version", "nodes", "edges", "conditionalEdges"] {
            assert!(recorded[part] == ours[part], "{name}: {part} differ");
        }
        compared += 1;
    }
    assert!(compared > 0, "{} has no answers", responses.display());
}

#[test]
fn responses_of_2021_match() {
    let Some(cincinnati_vectors) = cincinnati_vectors() else { return };
    let data =
        graph_data(&cincinnati_vectors.join("fixtures/20211124.083150/cincinnati-graph-data"));
    let (graph, problems) =
        build(declared(&cincinnati_vectors.join("answers-2021/releases.json")), &data);
    assert_eq!(problems, []);
    compare(&cincinnati_vectors.join("answers-2021"), &graph);
}

#[test]
fn responses_of_2026_match() {
    let (Some(cincinnati_vectors), Some((_, graph))) = (cincinnati_vectors(), openshift_graph())
    else {
        return;
    };
    compare(&cincinnati_vectors.join("answers-2026"), graph);
}

fn raw(path: PathBuf) -> Graph {
    cincinnati::read("graph", &fs::read(path).unwrap()).unwrap().0
}

/// Nodes with their metadata, and edges, by version.
fn outline(graph: &Graph) -> (Vec<String>, Vec<[String; 2]>) {
    let internal = [key::PREVIOUS_REMOVE, key::PREVIOUS_REMOVE_REGEX];
    let version = |id| graph.node(id).version.to_string();
    let nodes = graph.nodes().iter().map(|node| {
        let mut release = node.release.clone();
        if let Some(release) = &mut release {
            release.metadata.retain(|key, _| !internal.contains(&key.as_str()));
        }
        format!("{} {release:?}", node.version)
    });
    let edges = graph.edges().iter().filter(|edge| !edge.is_conditional());
    (nodes.collect(), edges.map(|edge| [version(edge.from), version(edge.to)]).collect())
}

#[test]
fn fixtures_match_expected_graphs() {
    let Some(cincinnati_vectors) = cincinnati_vectors() else { return };
    let mut compared = 0;
    for entry in fs::read_dir(cincinnati_vectors.join("fixtures")).unwrap() {
        let fixture = entry.unwrap().path();
        let expected = fixture.join("graph-gb-with-quay-metadata.json");
        if !expected.exists() {
            continue;
        }
        let data = graph_data(&fixture.join("cincinnati-graph-data"));
        let (ours, _) = build(raw(fixture.join("graph-gb-raw.json")), &data);
        // The expected graph contains the metadata that adds and removes edges, but not its effect.
        let (expected, _) = build(raw(expected), &GraphData::default());
        let ((nodes, edges), (expected_nodes, expected_edges)) =
            (outline(&ours), outline(&expected));
        for (node, expected) in nodes.iter().zip(&expected_nodes) {
            assert_eq!(node, expected, "{}", fixture.display());
        }
        assert!(nodes == expected_nodes, "{}: nodes differ", fixture.display());
        assert!(edges == expected_edges, "{}: edges differ", fixture.display());
        compared += 1;
    }
    assert!(compared > 0);
}

#[test]
fn invalid_fixture_is_rejected() {
    let Some(cincinnati_vectors) = cincinnati_vectors() else { return };
    let files =
        directory_files(&cincinnati_vectors.join("fixtures/invalid0/cincinnati-graph-data"));
    insta::assert_snapshot!(GraphData::read(&files).unwrap_err(), @"no channels in channels");
}
