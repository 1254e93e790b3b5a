//! Updates of a real platform.

use std::collections::BTreeMap;

use fairway_graph::wire::View;
use fairway_graph::{Graph, GraphData, build, releases};
use serde_json::Value;

use super::service::{Service, document};
use super::stage::{Stage, is_retrieved, single_request};

/// The platform of `FAIRWAY_DATA`, if it is set.
fn platform() -> Option<Graph> {
    let directory = fairway_testkit::environment::data()?;
    let data = fairway_graph_files::read(&directory.join("graph-data-2026-08")).unwrap();
    let list = std::fs::read(directory.join("releases-2026-08.json")).unwrap();
    let (releases, _) = releases::read("releases", &list).unwrap();
    let (declared, _) = releases::declare(releases);
    Some(build::build(declared, &GraphData::read(&data).unwrap()).0)
}

/// Expected updates of a version with the names of their risks, from the JSON graph.
fn expected(answer: &Value, current: &str) -> BTreeMap<String, Vec<String>> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let nodes = answer["nodes"].as_array().unwrap();
    let place = |index: &Value| usize::try_from(index.as_u64().unwrap()).unwrap();
    let version = |index: &Value| text(&nodes[place(index)]["version"]);
    let mut targets = BTreeMap::new();
    for edge in answer["edges"].as_array().unwrap() {
        if version(&edge[0]) == current {
            targets.insert(version(&edge[1]), Vec::new());
        }
    }
    for group in answer["conditionalEdges"].as_array().unwrap() {
        for edge in group["edges"].as_array().unwrap() {
            if edge["from"] == current {
                let risks = group["risks"].as_array().unwrap().iter();
                targets.insert(text(&edge["to"]), risks.map(|risk| text(&risk["name"])).collect());
            }
        }
    }
    targets
}

#[tokio::test]
async fn updates_of_platform_match_graph() {
    let Some(graph) = platform() else { return };
    let view = View::architecture(&graph, "amd64");
    for (version, channel) in
        [("4.16.20", "stable-4.17"), ("4.18.9", "stable-4.19"), ("4.21.3", "candidate-4.22")]
    {
        let answer = String::from_utf8(view.channel_json(channel)).unwrap();
        let plain: Value = serde_json::from_str(&answer).unwrap();
        let service = Service::start(move |_| document(answer.clone())).await;
        let stage = Stage::of(version, channel, &service.url(), single_request());
        let updates = stage.until(is_retrieved).await;
        let offered: BTreeMap<String, Vec<String>> = updates
            .candidates
            .iter()
            .map(|candidate| {
                let risks = candidate.risks.iter().map(|risk| risk.name.clone()).collect();
                (candidate.release.version.clone(), risks)
            })
            .collect();
        let expected = expected(&plain, version);
        assert!(expected.len() > 10, "{version}: {expected:?}");
        assert_eq!(offered, expected, "{version}");
    }
}
