//! Properties that hold for every input.

use std::collections::BTreeSet;

use fairway_graph::build::build;
use fairway_graph::cincinnati::{self, GraphSerializer};
use fairway_graph::{Files, Graph, GraphData, ReleaseImage, releases};
use proptest::prelude::*;

use crate::support::release;

const VERSIONS: [&str; 8] =
    ["4.6.0", "4.6.1", "4.6.2", "4.7.0-rc.1", "4.7.0", "4.7.1", "4.8.0", "5.0.0"];
const ARCHITECTURES: [&str; 2] = ["amd64", "arm64"];

fn version() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(&VERSIONS[..])
}

fn release_images() -> impl Strategy<Value = Vec<ReleaseImage>> {
    let one = (
        version(),
        proptest::sample::select(&ARCHITECTURES[..]),
        proptest::collection::vec(version(), 0..5),
    );
    let image = |(version, architecture, previous): (&str, &str, Vec<&str>)| {
        release(version, architecture, &previous)
    };
    proptest::collection::vec(one.prop_map(image), 0..16)
}

fn block() -> impl Strategy<Value = String> {
    let to = (version(), proptest::sample::select(&["", "+amd64"][..]));
    let from =
        proptest::sample::select(&[".*", "4[.]6", "^4[.]7[.]0[+].*$", "[+]arm64", "(", ""][..]);
    let rest = proptest::sample::select(
        &[
            "",
            "name: One\n",
            "name: One\nurl: u\nmessage: m\nmatchingRules: [{type: Always}]\n",
            "name: One\nurl: u\nmessage: m\nmatchingRules: [{type: PromQL, promql: {promql: up}}]\n",
            "name: Two\nurl: u\nmessage: m\nmatchingRules: [{type: Other, other: 1}]\n",
            "name: Two\nurl: u\nmessage: m\nmatchingRules: []\n",
            "name: [\n",
        ][..],
    );
    (to, from, rest)
        .prop_map(|((to, build), from, rest)| format!("to: {to}{build}\nfrom: '{from}'\n{rest}"))
}

fn graph_data(blocks: &[String]) -> GraphData {
    let mut files = Files::default();
    let channel = format!("name: stable-4.7\nversions: [{}]\n", VERSIONS.join(", "));
    files.insert("version", b"1.1.0".to_vec()).unwrap();
    files.insert("channels/stable-4.7.yaml", channel.into_bytes()).unwrap();
    for (number, block) in blocks.iter().enumerate() {
        files.insert(format!("blocked-edges/{number}.yaml"), block.clone().into_bytes()).unwrap();
    }
    GraphData::read(&files).unwrap()
}

fn built(releases: Vec<ReleaseImage>, blocks: &[String]) -> Graph {
    build(releases::declare(releases).0, &graph_data(blocks)).0
}

fn ends(graph: &Graph, conditional: bool) -> BTreeSet<(String, String)> {
    let name = |id| graph.node(id).version.to_string();
    let edges = graph.edges().iter().filter(|edge| conditional || !edge.is_conditional());
    edges.map(|edge| (name(edge.from), name(edge.to))).collect()
}

proptest! {
    #[test]
    fn order_of_releases_does_not_change_graph(
        (releases, shuffled) in release_images().prop_flat_map(|releases| (Just(releases.clone()), Just(releases).prop_shuffle())),
        blocks in proptest::collection::vec(block(), 0..6),
    ) {
        let (one, other) = (built(releases, &blocks), built(shuffled, &blocks));
        prop_assert_eq!(GraphSerializer::whole(&one).json(), GraphSerializer::whole(&other).json());
    }

    #[test]
    fn names_of_block_files_do_not_change_edges(
        releases in release_images(),
        (blocks, shuffled) in proptest::collection::vec(block(), 0..6)
            .prop_flat_map(|blocks| (Just(blocks.clone()), Just(blocks).prop_shuffle())),
    ) {
        let (one, other) = (built(releases.clone(), &blocks), built(releases, &shuffled));
        prop_assert_eq!(ends(&one, true), ends(&other, true));
        prop_assert_eq!(ends(&one, false), ends(&other, false));
    }

    #[test]
    fn block_never_adds_an_edge(
        releases in release_images(),
        blocks in proptest::collection::vec(block(), 1..6),
    ) {
        let with = built(releases.clone(), &blocks);
        let without = built(releases, &blocks[1..]);
        prop_assert!(ends(&with, true).is_subset(&ends(&without, true)));
        prop_assert!(ends(&with, false).is_subset(&ends(&without, false)));
    }

    #[test]
    fn serialized_graph_round_trips(
        releases in release_images(),
        blocks in proptest::collection::vec(block(), 0..6),
    ) {
        let graph = built(releases, &blocks);
        for view in [GraphSerializer::whole(&graph), GraphSerializer::architecture(&graph, "amd64")] {
            let written = view.json();
            let (read, problems) = cincinnati::read("graph", &written).unwrap();
            prop_assert_eq!(problems, vec![]);
            prop_assert_eq!(GraphSerializer::whole(&read).json(), written.clone());
            let response: serde_json::Value = serde_json::from_slice(&written).unwrap();
            let nodes = response["nodes"].as_array().unwrap();
            let version = |place: &serde_json::Value| {
                nodes[usize::try_from(place.as_u64().unwrap()).unwrap()]["version"].clone().to_string()
            };
            let mut channel_graph = BTreeSet::new();
            for edge in response["edges"].as_array().unwrap() {
                prop_assert!(channel_graph.insert((version(&edge[0]), version(&edge[1]))));
            }
            let mut sets = BTreeSet::new();
            for group in response["conditionalEdges"].as_array().unwrap() {
                let risks = group["risks"].as_array().unwrap();
                prop_assert!(!risks.is_empty() && sets.insert(group["risks"].to_string()));
                let names: BTreeSet<String> = risks.iter().map(|risk| risk["name"].to_string()).collect();
                prop_assert_eq!(names.len(), risks.len());
                for edge in group["edges"].as_array().unwrap() {
                    prop_assert!(channel_graph.insert((edge["from"].to_string(), edge["to"].to_string())));
                }
            }
        }
    }

    #[test]
    fn readers_of_any_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut files = Files::default();
        for path in ["version", "channels/a.yaml", "blocked-edges/a.yaml", "raw/metadata.json"] {
            files.insert(path, bytes.clone()).unwrap();
        }
        let _ = GraphData::read(&files);
        let _ = cincinnati::read("graph", &bytes);
        let _ = releases::read("releases", &bytes);
    }
}
