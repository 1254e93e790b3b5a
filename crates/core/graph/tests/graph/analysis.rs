//! Upgrade paths, differences and explanations of a graph.

use fairway_api::Version;
use fairway_graph::analysis::{GraphChanges, GraphDataChanges, channels, latest, paths};
use fairway_graph::build::{GraphBuilder, build};
use fairway_graph::{Graph, GraphData, Scope};
use serde_json::json;

use crate::support::{data, declare, edges, files, release};

const STABLE: (&str, &str) =
    ("channels/stable.yaml", "name: stable-4.8\nversions: [4.6.1, 4.6.2, 4.7.1, 4.7.2, 4.8.1]\n");
const LEAK: (&str, &str) = (
    "blocked-edges/4.8.1-leak.yaml",
    "to: 4.8.1\nfrom: 4[.]7[.].*\nurl: https://bugs.example/1\nname: Leak\nmessage: It leaks.\nmatchingRules: [{type: Always}]\n",
);
const SLOW: (&str, &str) = (
    "blocked-edges/4.8.1-slow.yaml",
    "to: 4.8.1\nfrom: 4[.]7[.]1[+].*\nurl: https://bugs.example/2\nname: Slow\nmessage: It is slow.\nmatchingRules: [{type: Always}]\n",
);
const GONE: (&str, &str) = ("blocked-edges/4.7.1.yaml", "to: 4.7.1\nfrom: 4[.]6[.]2[+].*\n");

fn version(text: &str) -> Version {
    Version::parse(text).unwrap()
}

fn declared() -> Graph {
    declare(vec![
        release("4.6.1", "amd64", &[]),
        release("4.6.2", "amd64", &["4.6.1"]),
        release("4.7.1", "amd64", &["4.6.1", "4.6.2"]),
        release("4.7.2", "amd64", &["4.7.1"]),
        release("4.7.3", "amd64", &["4.7.2"]),
        release("4.8.1", "amd64", &["4.7.1", "4.7.2", "4.7.9"]),
    ])
}

fn channel_graph(data: &GraphData) -> Graph {
    let scope = Scope { architecture: Some("amd64"), channel: Some("stable-4.8") };
    build(declared(), data).0.within(scope)
}

#[test]
fn paths_returns_fewest_hops_and_least_risk() {
    let graph = channel_graph(&data([STABLE, LEAK, SLOW]));
    let result_of = |from: &str, to: &str| match paths(&graph, &version(from), &version(to)) {
        Ok(paths) => paths.to_string(),
        Err(error) => error.to_string(),
    };
    let responses = [
        result_of("4.6.1", "4.8.1"),
        result_of("4.6.1", "4.7.2"),
        result_of("4.6.1", "4.6.1"),
        result_of("4.8.1", "4.6.1"),
        result_of("4.6.1", "4.7.3"),
    ];
    insta::assert_snapshot!(responses.join("\n\n"), @"
    shortest path: 2 steps, 2 risks
      4.6.1 -> 4.7.1
      4.7.1 -> 4.8.1  Leak, Slow
    path with the fewest risks: 3 steps, 1 risk
      4.6.1 -> 4.7.1
      4.7.1 -> 4.7.2
      4.7.2 -> 4.8.1  Leak

    best path: 2 steps, no risks
      4.6.1 -> 4.7.1
      4.7.1 -> 4.7.2

    best path: no steps, no risks

    no upgrade path from 4.8.1 to 4.6.1

    version 4.7.3 does not exist
    ");
    let paths = paths(&graph, &version("4.7.1"), &version("4.8.1")).unwrap();
    insta::assert_snapshot!(serde_json::to_string(&paths).unwrap(), @r#"{"fewestHops":{"hops":[{"from":"4.7.1","to":"4.8.1","risks":["Leak","Slow"]}]},"leastRisk":{"hops":[{"from":"4.7.1","to":"4.7.2"},{"from":"4.7.2","to":"4.8.1","risks":["Leak"]}]}}"#);
}

#[test]
fn paths_with_several_architectures_is_ambiguous() {
    let graph = declare(vec![release("4.6.1", "amd64", &[]), release("4.6.1", "arm64", &[])]);
    let error = paths(&graph, &version("4.6.1"), &version("4.6.1")).unwrap_err();
    insta::assert_snapshot!(error, @"version 4.6.1 exists for several architectures");
    assert!(paths(&graph, &version("4.6.1+amd64"), &version("4.6.1+amd64")).is_ok());
}

#[test]
fn explain_names_files_and_metadata() {
    let raw = (
        "raw/metadata.json",
        r#"{"4.7.2": {"io.openshift.upgrades.graph.previous.remove": "4.7.1"}}"#,
    );
    let broad = ("blocked-edges/4.8.1-broad.yaml", "to: 4.8.1\nfrom: 4[.]7[.]2\n");
    let data = data([STABLE, LEAK, SLOW, GONE, raw, broad]);
    let builder = GraphBuilder::new(declared(), &data);
    let scope = Scope { architecture: Some("amd64"), channel: Some("stable-4.8") };
    let result_of =
        |from: &str, to: &str| match builder.explain(&version(from), &version(to), scope) {
            Ok(why) => why.to_string(),
            Err(error) => error.to_string(),
        };
    let responses = [
        result_of("4.6.1", "4.6.2"),
        result_of("4.7.1", "4.8.1"),
        result_of("4.7.2", "4.8.1"),
        result_of("4.6.2", "4.7.1"),
        result_of("4.7.1", "4.7.2"),
        result_of("4.7.2", "4.7.3"),
        result_of("4.7.9", "4.8.1"),
        result_of("4.6.1", "4.8.1"),
        result_of("4.6.1", "4.9.0"),
    ];
    insta::assert_snapshot!(responses.join("\n"), @"
    4.6.1+amd64 -> 4.6.2+amd64: recommended for all clusters
    4.7.1+amd64 -> 4.8.1+amd64: conditional: recommended if its risks do not apply
      blocked-edges/4.8.1-leak.yaml:2:7: risk Leak for updates from 4[.]7[.].*
      blocked-edges/4.8.1-slow.yaml:2:7: risk Slow for updates from 4[.]7[.]1[+].*
    4.7.2+amd64 -> 4.8.1+amd64: removed
      blocked-edges/4.8.1-broad.yaml:2:7: removes updates from 4[.]7[.]2
      blocked-edges/4.8.1-leak.yaml:2:7: risk Leak for updates from 4[.]7[.].*
    4.6.2+amd64 -> 4.7.1+amd64: removed
      blocked-edges/4.7.1.yaml:2:7: removes updates from 4[.]6[.]2[+].*
    4.7.1+amd64 -> 4.7.2+amd64: removed
      metadata of 4.7.2+amd64: io.openshift.upgrades.graph.previous.remove
    4.7.2+amd64 -> 4.7.3+amd64: 4.7.3+amd64 is not in stable-4.8, nor in any other channel
    4.7.9+amd64 -> 4.8.1+amd64: other releases reference 4.7.9+amd64, but it does not exist
    4.6.1+amd64 -> 4.8.1+amd64: no release declares this update
    version 4.9.0+amd64 does not exist
    ");
    let why = builder.explain(&version("4.7.1"), &version("4.8.1"), scope).unwrap();
    assert_eq!(
        serde_json::to_value(&why).unwrap(),
        json!({"from": "4.7.1+amd64", "to": "4.8.1+amd64", "verdict": "conditional", "causes": [
            {"type": "block", "file": "blocked-edges/4.8.1-leak.yaml", "line": 2, "column": 7, "pattern": "4[.]7[.].*", "risk": "Leak"},
            {"type": "block", "file": "blocked-edges/4.8.1-slow.yaml", "line": 2, "column": 7, "pattern": "4[.]7[.]1[+].*", "risk": "Slow"},
        ]})
    );
}

#[test]
fn explain_update_of_a_cycle_names_its_versions() {
    let cycle = vec![release("4.6.1", "amd64", &["4.6.2"]), release("4.6.2", "amd64", &["4.6.1"])];
    let data = data([]);
    let builder = GraphBuilder::new(declare(cycle), &data);
    let scope = Scope { architecture: Some("amd64"), channel: None };
    let why = builder.explain(&version("4.6.2"), &version("4.6.1"), scope).unwrap();
    insta::assert_snapshot!(why, @"4.6.2+amd64 -> 4.6.1+amd64: omitted, because it closes a cycle of 4.6.1+amd64, 4.6.2+amd64");
}

#[test]
fn graph_changes_lists_releases_and_updates() {
    let (before, after) =
        (channel_graph(&data([STABLE, LEAK])), channel_graph(&data([STABLE, SLOW, GONE])));
    insta::assert_snapshot!(GraphChanges::between(&before, &after), @"
    4.6.2 -> 4.7.1: recommended => not there
    4.7.2 -> 4.8.1: Leak => recommended
    4.7.1 -> 4.8.1: Leak => Slow
    ");
    insta::assert_snapshot!(GraphChanges::between(&before, &before), @"no difference");
    let smaller = ("channels/stable.yaml", "name: stable-4.8\nversions: [4.6.1, 4.6.2, 4.7.1]\n");
    let after = channel_graph(&data([smaller]));
    insta::assert_snapshot!(GraphChanges::between(&before, &after), @"
    - 4.7.2
    - 4.8.1
    4.7.1 -> 4.7.2: recommended => not there
    4.7.1 … 4.7.2 (2 updates) -> 4.8.1: Leak => not there
    ");
    insta::assert_snapshot!(serde_json::to_string(&GraphChanges::between(&before, &after).edges[0]).unwrap(), @r#"{"from":"4.7.1","to":"4.7.2","old":{"state":"recommended"},"new":{"state":"absent"}}"#);
}

#[test]
fn graph_changes_with_changed_risk_lists_it() {
    let other = LEAK.1.replace("It leaks.", "It leaks a lot.");
    let (before, after) =
        (channel_graph(&data([STABLE, LEAK])), channel_graph(&data([STABLE, (LEAK.0, &other)])));
    assert_eq!(GraphChanges::between(&before, &after).to_string(), "Leak: content changed");
}

#[test]
fn graph_data_changes_lists_blocks_and_channels() {
    let smaller = ("channels/stable.yaml", "name: stable-4.8\nversions: [4.6.1, 4.9.1]\n");
    let wider = (LEAK.0, LEAK.1.replace("4[.]7[.].*", ".*"));
    let schema = ("version", "1.1.0");
    let before = GraphData::read(&files([schema, STABLE, LEAK, GONE])).unwrap();
    let after = GraphData::read(&files([schema, smaller, (wider.0, &wider.1), SLOW])).unwrap();
    insta::assert_snapshot!(GraphDataChanges::between(&before, &after), @"
    - blocked-edges/4.7.1.yaml: removes updates to 4.7.1 from 4[.]6[.]2[+].*
    ~ blocked-edges/4.8.1-leak.yaml
        from: 4[.]7[.].* => .*
    + blocked-edges/4.8.1-slow.yaml: risk Slow for updates to 4.8.1 from 4[.]7[.]1[+].*
    + stable-4.8: 4.9.1
    - stable-4.8: 4.6.2
    - stable-4.8: 4.7.1
    - stable-4.8: 4.7.2
    - stable-4.8: 4.8.1
    ");
    assert!(GraphDataChanges::between(&after, &after).is_empty());
}

#[test]
fn latest_returns_newest_release_of_channel() {
    let (graph, _) = build(declared(), &data([STABLE]));
    assert_eq!(channels(&graph, &version("4.7.1")).into_iter().collect::<Vec<_>>(), ["stable-4.8"]);
    assert!(channels(&graph, &version("4.7.3")).is_empty());
    let latest = |channel| {
        let scope = Scope { architecture: Some("amd64"), channel };
        latest(&graph, scope).map(|id| graph.node(id).version.to_string())
    };
    assert_eq!(latest(Some("stable-4.8")).unwrap(), "4.8.1+amd64");
    assert_eq!(latest(Some("stable-4.9")), None);
}

#[test]
fn union_merges_channels() {
    let other = ("channels/next.yaml", "name: stable-4.9\nversions: [4.7.3, 4.8.1]\n");
    let (graph, _) = build(declared(), &data([STABLE, LEAK, other]));
    let response =
        |channel| graph.within(Scope { architecture: Some("amd64"), channel: Some(channel) });
    let both = Graph::union([response("stable-4.8"), response("stable-4.9")]);
    insta::assert_snapshot!(edges(&both), @"
    4.6.1 4.6.2
    4.6.1 4.7.1
    4.6.2 4.7.1
    4.7.1 4.7.2
    4.7.1 4.8.1 Leak
    4.7.2 4.8.1 Leak
    ");
    assert_eq!(both.nodes().len(), 6);
    let twice = Graph::union([response("stable-4.8"), response("stable-4.8")]);
    assert_eq!(edges(&twice), edges(&response("stable-4.8")));
}

#[test]
fn from_updates_returns_edges_from_one_release() {
    let whole = channel_graph(&data([STABLE, LEAK]));
    let node = |text: &str| whole.node(whole.find(&version(text)).next().unwrap()).clone();
    let leak = whole.edges().iter().find_map(|edge| whole.risks(*edge).next()).unwrap();
    let listed = [(node("4.7.2"), vec![]), (node("4.8.1"), vec![leak.clone()])];
    insta::assert_snapshot!(edges(&Graph::from_updates(&node("4.7.1"), listed)), @"
    4.7.1 4.7.2
    4.7.1 4.8.1 Leak
    ");
}
