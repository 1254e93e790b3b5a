use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn query() -> GraphQuery {
    GraphQuery {
        url: Url::parse("https://updates.example/graph?channel=stable-5.1").unwrap(),
        channel: "stable-5.1".to_owned(),
        current: Version::new(5, 1, 0),
        becomes_multi: false,
    }
}

fn node(version: &str) -> Value {
    json!({"version": version, "payload": format!("registry.example/release@sha256:{version}")})
}

fn risk(name: &str) -> Value {
    let rules = json!([{"type": "Always"}]);
    json!({"name": name, "message": "m", "url": "https://example.com", "matchingRules": rules})
}

fn conditional(from: &str, to: &str, risks: &[Value]) -> Value {
    json!({"edges": [{"from": from, "to": to}], "risks": risks})
}

fn respond_to(query: &GraphQuery, graph: &Value) -> UpdateResponse {
    read(query, graph.to_string().as_bytes()).unwrap()
}

fn respond(graph: &Value) -> UpdateResponse {
    respond_to(&query(), graph)
}

/// The offered versions with the names of their risks, and the problems.
fn messages(response: &UpdateResponse) -> String {
    let Some(candidates) = &response.candidates else { return "not found".to_owned() };
    let offered = candidates.iter().map(|CandidateUpdate { release, risks }| {
        let risks: Vec<&str> = risks.iter().map(|risk| risk.name.as_str()).collect();
        format!("{} {}", release.version, risks.join(","))
    });
    let lines: Vec<String> = offered.chain(response.problems.iter().cloned()).collect();
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

fn releases(graph: &Value) -> Vec<Release> {
    let candidates = respond(graph).candidates.unwrap();
    candidates.iter().map(|candidate| candidate.release.clone()).collect()
}

#[test]
fn read_returns_updates_latest_first() {
    let graph = json!({
        "nodes": [node("5.1.1"), node("5.1.0"), node("5.1.10"), node("5.1.2"), node("5.0.9")],
        "edges": [[1, 0], [1, 2], [1, 4], [0, 3]],
        "conditionalEdges": [conditional("5.1.0", "5.1.2", &[risk("B"), risk("A")])],
    });
    insta::assert_snapshot!(messages(&respond(&graph)), @"
    5.1.10
    5.1.2 A,B
    5.1.1
    5.0.9
    ");
}

#[test]
fn read_of_recommended_and_conditional_update_is_conditional() {
    let graph = json!({
        "nodes": [node("5.1.0"), node("5.1.1")],
        "edges": [[0, 1]],
        "conditionalEdges": [
            conditional("5.1.0", "5.1.1", &[risk("A")]),
            conditional("5.1.0", "5.1.1", &[risk("B")]),
        ],
    });
    insta::assert_snapshot!(messages(&respond(&graph)), @"5.1.1 A,B");
}

#[test]
fn read_keeps_all_nodes() {
    let graph = json!({"nodes": [node("5.1.0"), node("6.0.0"), node("4.0.0")], "edges": []});
    assert_eq!(respond(&graph).graph.nodes().len(), 3);
}

#[test]
fn read_finds_current_version_without_build_metadata() {
    let mut query = query();
    for (current, there, found) in [
        ("5.1.0", "5.1.0+amd64", true),
        ("5.1.0+amd64", "5.1.0", true),
        ("5.1.0+amd64", "5.1.0+arm64", true),
        ("5.1.0", "5.1.0-rc.1", false),
    ] {
        query.current = Version::parse(current).unwrap();
        let graph = json!({"nodes": [node(there)]});
        let response = respond_to(&query, &graph);
        assert_eq!(response.candidates.is_some(), found, "{current} {there}");
    }
}

#[test]
fn read_with_duplicate_version_merges_risks() {
    let graph = json!({
        "nodes": [node("5.1.0"), node("5.1.0+amd64"), node("5.1.1")],
        "edges": [[1, 2]],
        "conditionalEdges": [conditional("5.1.0", "5.1.1", &[risk("A")])],
    });
    insta::assert_snapshot!(messages(&respond(&graph)), @"5.1.1 A");
}

#[test]
fn read_for_multi_architecture_offers_same_version() {
    let mut multi = node("5.1.0");
    multi["metadata"] = json!({"release.openshift.io/architecture": "multi"});
    let graph = json!({
        "nodes": [multi, node("5.1.1")],
        "edges": [[0, 1]],
        "conditionalEdges": [conditional("5.1.0", "5.1.1", &[risk("A")])],
    });
    let query = GraphQuery { becomes_multi: true, ..query() };
    let response = respond_to(&query, &graph);
    insta::assert_snapshot!(messages(&response), @"5.1.0");
    let release = &response.candidates.unwrap()[0].release;
    assert_eq!(release.architecture, Some(Architecture::Multi));
}

#[test]
fn read_returns_release_metadata() {
    let mut target = node("5.1.1");
    target["metadata"] = json!({
        "url": "https://example.com/5.1.1",
        "io.openshift.upgrades.graph.release.channels": "stable-5.1,,fast-5.1, stable-5.1,candidate-5.1",
        "release.openshift.io/architecture": "multi",
        "else": "ignored",
    });
    let graph = json!({"nodes": [node("5.1.0"), target], "edges": [[0, 1]]});
    insta::assert_snapshot!(serde_json::to_string_pretty(&releases(&graph)).unwrap(), @r#"
    [
      {
        "architecture": "Multi",
        "version": "5.1.1",
        "image": "registry.example/release@sha256:5.1.1",
        "url": "https://example.com/5.1.1",
        "channels": [
          "candidate-5.1",
          "fast-5.1",
          "stable-5.1"
        ]
      }
    ]
    "#);
}

#[test]
fn read_with_invalid_metadata_reports_problems() {
    let with = |key: &str, value: &str| {
        let mut target = node("5.1.1");
        target["metadata"] = json!({key: value});
        json!({"nodes": [node("5.1.0"), target], "edges": [[0, 1]]})
    };
    let channels = "io.openshift.upgrades.graph.release.channels";
    let messages: Vec<String> = [
        with("url", "javascript:alert(1)"),
        with("url", "relative"),
        with("url", &format!("https://example.com/{}", "x".repeat(3000))),
        with(channels, &"stable,".repeat(2000)),
        with("release.openshift.io/architecture", "m68k"),
    ]
    .iter()
    .map(|graph| messages(&respond(graph)))
    .collect();
    insta::assert_snapshot!(messages.join("\n--\n"), @r#"
    5.1.1
    ignoring the URL of 5.1.1: not an http or https URL: "javascript:alert(1)"
    --
    5.1.1
    ignoring the URL of 5.1.1: not an http or https URL: "relative"
    --
    5.1.1
    ignoring the URL of 5.1.1: not an http or https URL: "https://example.com/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
    --
    5.1.1
    ignoring the channels of 5.1.1: too large (14000 bytes)
    --
    ignoring 5.1.1: unknown architecture "m68k"
    "#);
}

#[test]
fn read_with_invalid_entries_omits_only_those() {
    let without_image = json!({"version": "5.1.2"});
    let bad_image = json!({"version": "5.1.3", "payload": "two words"});
    let long_image = json!({"version": "5.1.4", "payload": "x".repeat(5000)});
    let other = json!({"version": "5.1.5", "payload": "registry.example/other"});
    let graph = json!({
        "nodes": [
            node("5.1.0"), node("5.1.1"), without_image, bad_image, long_image,
            node("5.1.5"), other, node("nonsense"), node("5.1.0"),
        ],
        "edges": [
            [0, 1], [0, 2], [0, 3], [0, 4], [0, 5], [0, 6], [0, 7], [0, 99],
            [18_446_744_073_709_551_615_u64, 0], [0, 0], [1, 0],
        ],
        "conditionalEdges": [
            conditional("5.1.0", "9.9.9", &[risk("A")]),
            conditional("nonsense", "nowhere", &[risk("A")]),
            {"edges": [], "risks": []},
        ],
    });
    insta::assert_snapshot!(messages(&respond(&graph)), @r#"
    5.1.1
    ignoring 5.1.4: invalid image "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
    ignoring 5.1.3: invalid image "two words"
    ignoring 5.1.2: invalid image ""
    node omitted: "nonsense" is not a version
    5.1.5 omitted: several images have this version: registry.example/release@sha256:5.1.5 and registry.example/other
    update from node 0 to node 5 omitted: one of the releases does not exist
    update from node 0 to node 6 omitted: one of the releases does not exist
    update from node 0 to node 7 omitted: one of the releases does not exist
    update from node 0 to node 99 omitted: one of the releases does not exist
    update from node 18446744073709551615 to node 0 omitted: one of the releases does not exist
    update from 5.1.0 to 9.9.9 omitted: one of the releases does not exist
    update from nonsense to nowhere omitted: one of the releases does not exist
    "#);
}

#[test]
fn read_with_many_problems_lists_some() {
    let edges: Vec<[u64; 2]> = (1..=5000).map(|to| [0, to]).collect();
    let response = respond(&json!({"nodes": [node("5.1.0")], "edges": edges}));
    assert_eq!((response.problems.len(), response.problem_count), (MAX_LISTED_PROBLEMS, 5000));
}

#[test]
fn read_with_ambiguous_releases_withholds_them() {
    let same_image = json!({"version": "5.1.2", "payload": "mirror.example/x@sha256:5.1.1"});
    let graph = json!({
        "nodes": [node("5.1.0"), node("5.1.1"), same_image, node("5.1.3+a"), node("5.1.3+b"), node("5.1.4")],
        "edges": [[0, 1], [0, 3], [0, 4], [0, 5]],
        "conditionalEdges": [conditional("5.1.0", "5.1.2", &[risk("A")])],
    });
    insta::assert_snapshot!(messages(&respond(&graph)), @"
    5.1.4
    ignoring 5.1.1 and 5.1.2: they have the same image sha256:5.1.1
    ignoring 5.1.3+a and 5.1.3+b: they have the same version 5.1.3
    ");
}

#[test]
fn read_with_lost_risks_withholds_target() {
    for (from, to) in [
        ("5.1.0", "5.1.1+amd64"),
        ("5.1.0+amd64", "5.1.1"),
        ("v5.1.0", "5.1.1"),
        ("nonsense", "5.1.1"),
        ("5.1.0", "v5.1.1"),
    ] {
        let graph = json!({
            "nodes": [node("5.1.0"), node("5.1.1"), node("5.1.2")],
            "edges": [[0, 1], [0, 2]],
            "conditionalEdges": [conditional(from, to, &[risk("A")])],
        });
        let response = respond(&graph);
        let messages = messages(&response);
        assert!(messages.starts_with("5.1.2\n"), "{from} {to}: {messages}");
        assert!(messages.contains("ignoring 5.1.1: its risks are listed under another version"));
    }
    let others = json!({
        "nodes": [node("5.1.0"), node("5.1.1")],
        "edges": [[0, 1]],
        "conditionalEdges": [conditional("5.0.0", "5.1.1", &[risk("A")])],
    });
    assert!(messages(&respond(&others)).starts_with("5.1.1\n"));
}

#[test]
fn read_with_invalid_risks_keeps_them() {
    let unknown_rule = json!({"name": "A", "matchingRules": [{"type": "Guess"}]});
    let nameless = json!({"matchingRules": []});
    let huge = json!({"name": "x".repeat(100_000), "message": "y".repeat(1_000_000)});
    let graph = json!({
        "nodes": [node("5.1.0"), node("5.1.1"), node("5.1.2"), node("5.1.3"), node("5.1.4")],
        "edges": [[0, 1], [0, 2], [0, 3], [0, 4]],
        "conditionalEdges": [
            conditional("5.1.0", "5.1.1", &[unknown_rule]),
            conditional("5.1.0", "5.1.2", &[nameless]),
            conditional("5.1.0", "5.1.3", &[huge]),
            conditional("5.1.0", "5.1.4", &[]),
        ],
    });
    let candidates = respond(&graph).candidates.unwrap();
    assert_eq!(candidates.len(), 4);
    assert!(candidates.iter().all(|candidate| candidate.risks.len() == 1));
}

#[test]
fn read_with_reserved_risk_names_renames_them() {
    let risks = ["AdminAck-ack-5.1-apis", "PreflightIncomplete", "SlowDisk"].map(risk);
    let graph = json!({
        "nodes": [node("5.1.0"), node("5.1.1")],
        "edges": [],
        "conditionalEdges": [conditional("5.1.0", "5.1.1", &risks)],
    });
    insta::assert_snapshot!(messages(&respond(&graph)), @"5.1.1 GraphRisk-AdminAck-ack-5.1-apis,GraphRisk-PreflightIncomplete,SlowDisk");
}

#[test]
fn read_beyond_status_limits_withholds_updates() {
    let versions: Vec<String> = (0..=MAX_TARGETS + 2).map(|patch| format!("5.1.{patch}")).collect();
    let nodes: Vec<Value> = versions.iter().map(|version| node(version)).collect();
    let edges: Vec<[usize; 2]> = (1..nodes.len()).map(|to| [0, to]).collect();
    let risks: Vec<Value> = (0..=limits::RISKS).map(|number| risk(&format!("R{number}"))).collect();
    let graph = json!({
        "nodes": nodes,
        "edges": edges,
        "conditionalEdges": [
            conditional("5.1.0", "5.1.1000", &risks),
            conditional("5.1.0", "5.1.1001", &risks[1..]),
        ],
    });
    let response = respond(&graph);
    insta::assert_snapshot!(response.problems.join("\n"), @"
    ignoring 2 updates to versions before 5.1.3: too many updates
    ignoring 5.1.1000: its 201 risks do not fit into a status
    ");
    let candidates = response.candidates.unwrap();
    assert_eq!(candidates.len(), MAX_TARGETS - 1);
    assert_eq!(
        candidates.iter().map(|candidate| candidate.risks.len()).sum::<usize>(),
        limits::RISKS
    );
}

#[test]
fn read_of_other_documents_fails() {
    let messages =
        ["", "<html>", "[]", "{\"nodes\": 7}", "{\"nodes\": [{}]}", "{\"edges\": [[-1, 0]]}"]
            .map(|text| read(&query(), text.as_bytes()).unwrap_err().to_string());
    insta::assert_snapshot!(messages.join("\n"), @"
    the response of https://updates.example/graph: EOF while parsing a value at line 1 column 0
    the response of https://updates.example/graph: expected value at line 1 column 1
    the response of https://updates.example/graph: invalid type: sequence, expected an update graph at line 1 column 0
    the response of https://updates.example/graph: invalid type: integer `7`, expected a sequence at line 1 column 11
    the response of https://updates.example/graph: missing field `version` at line 1 column 13
    the response of https://updates.example/graph: invalid value: integer `-1`, expected u64 at line 1 column 14
    ");
}

proptest! {
    #[test]
    fn read_of_arbitrary_graphs_never_drops_risks(
        versions in prop::collection::vec("5\\.1\\.[0-4](\\+[ab])?|x", 0..8),
        images in prop::collection::vec(prop::option::of("[abc]?"), 8),
        edges in prop::collection::vec((0..9_u64, 0..9_u64), 0..12),
        risky in prop::collection::vec(("5\\.1\\.[0-4](\\+[ab])?|x", "5\\.1\\.[0-4](\\+[ab])?|x"), 0..6),
    ) {
        let nodes = versions.iter().zip(&images);
        let nodes = nodes.map(|(version, image)| json!({"version": version, "payload": image}));
        let groups = risky.iter().map(|(from, to)| conditional(from, to, &[risk("A")]));
        let graph = json!({
            "nodes": nodes.collect::<Value>(),
            "edges": edges,
            "conditionalEdges": groups.collect::<Value>(),
        });
        let response = respond(&graph);
        let is = |text: &str, version: &str| {
            Version::parse(text).is_ok_and(|parsed| parsed == Version::parse(version).unwrap())
        };
        for CandidateUpdate { release, risks } in response.candidates.unwrap_or_default().iter() {
            let targets_of = risky.iter().any(|(from, to)| {
                (is(from, "5.1.0") || from == "x") && is(to, &release.version)
            });
            prop_assert!(!targets_of || !risks.is_empty(), "{}", release.version);
        }
    }
}
