//! Compares responses with recorded responses of Cincinnati.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use fairway_testkit::environment;
use fairway_update_service::Service;
use serde_json::{Value, json};

use crate::support::{get, options, until};

/// Internal metadata that Cincinnati exposes.
const INTERNAL: &str = "io.openshift.upgrades.graph.previous.remove_regex";

/// A response in a canonical order: nodes and edges by version, groups by their risks.
fn normalize(answer: &Value) -> Value {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let list = |value: &Value| value.as_array().unwrap().clone();
    let nodes = list(&answer["nodes"]);
    let version = |end: &Value| match end.as_u64() {
        Some(place) => text(&nodes[usize::try_from(place).unwrap()]["version"]),
        None => text(end),
    };
    let edges: BTreeSet<[String; 2]> =
        list(&answer["edges"]).iter().map(|edge| [version(&edge[0]), version(&edge[1])]).collect();
    let mut by_version = BTreeMap::new();
    for mut node in nodes.clone() {
        node["metadata"].as_object_mut().unwrap().remove(INTERNAL);
        by_version.insert(text(&node["version"]), node);
    }
    let mut groups: BTreeMap<String, BTreeSet<[String; 2]>> = BTreeMap::new();
    for group in list(&answer["conditionalEdges"]) {
        let risks: BTreeSet<String> = list(&group["risks"]).iter().map(Value::to_string).collect();
        let edges = groups.entry(json!(risks).to_string()).or_default();
        edges.extend(
            list(&group["edges"]).iter().map(|edge| [text(&edge["from"]), text(&edge["to"])]),
        );
    }
    json!({"nodes": by_version, "edges": edges, "groups": groups})
}

async fn compare(answers: &Path, graph_data: &Path, releases: &Path) {
    let mut options = options(graph_data, releases);
    options.graph_data.every = Duration::from_mins(10);
    options.releases.every = Duration::from_mins(10);
    let service = Service::start(options).await.unwrap();
    until(&service, |status| status.graph.is_some()).await;
    let mut compared = 0;
    for entry in fs::read_dir(answers).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let Some((channel, arch)) = name.split_once('_') else { continue };
        let query = format!("channel={channel}&arch={arch}");
        let reply = get(&service, &format!("/api/upgrades_info/v1/graph?{query}")).await;
        let recorded: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert!(normalize(&reply.json()) == normalize(&recorded), "{name} differs");
        compared += 1;
    }
    assert!(compared > 0, "{} has no answers", answers.display());
}

#[tokio::test]
async fn responses_of_2021_match_cincinnati() {
    let Some(vectors) = environment::conformance("cincinnati") else { return };
    compare(
        &vectors.join("answers-2021"),
        &vectors.join("fixtures/20211124.083150/cincinnati-graph-data"),
        &vectors.join("answers-2021/releases.json"),
    )
    .await;
}

#[tokio::test]
async fn responses_of_2026_match_cincinnati() {
    let data = environment::data();
    let (Some(vectors), Some(data)) = (environment::conformance("cincinnati"), data) else {
        return;
    };
    compare(
        &vectors.join("answers-2026"),
        &data.join("graph-data-2026-08"),
        &data.join("releases-2026-08.json"),
    )
    .await;
}
