use fairway_api::cluster_version::Architecture;
use proptest::prelude::*;
use serde_json::{Value, json};
use url::Url;

use super::*;

fn question() -> Question {
    Question {
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

fn answer_to(question: &Question, graph: &Value) -> Answer {
    read(question, graph.to_string().as_bytes()).unwrap()
}

fn answer(graph: &Value) -> Answer {
    answer_to(&question(), graph)
}

/// The versions that are offered, with the names of their risks, and then what made no sense.
fn told(answer: &Answer) -> String {
    let Some(candidates) = &answer.candidates else { return "not found".to_owned() };
    let offered = candidates.iter().map(|Candidate { release, risks }| {
        let risks: Vec<&str> = risks.iter().map(|risk| risk.name.as_str()).collect();
        format!("{} {}", release.version, risks.join(","))
    });
    let lines: Vec<String> = offered.chain(answer.problems.iter().cloned()).collect();
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

fn releases(graph: &Value) -> Vec<Release> {
    let candidates = answer(graph).candidates.unwrap();
    candidates.iter().map(|candidate| candidate.release.clone()).collect()
}

#[test]
fn updates_lead_from_the_current_version_the_latest_first() {
    let graph = json!({
        "nodes": [node("5.1.1"), node("5.1.0"), node("5.1.10"), node("5.1.2"), node("5.0.9")],
        "edges": [[1, 0], [1, 2], [1, 4], [0, 3]],
        "conditionalEdges": [conditional("5.1.0", "5.1.2", &[risk("B"), risk("A")])],
    });
    insta::assert_snapshot!(told(&answer(&graph)), @"
    5.1.10
    5.1.2 A,B
    5.1.1
    5.0.9
    ");
}

#[test]
fn what_is_both_recommended_and_conditional_is_conditional() {
    let graph = json!({
        "nodes": [node("5.1.0"), node("5.1.1")],
        "edges": [[0, 1]],
        "conditionalEdges": [
            conditional("5.1.0", "5.1.1", &[risk("A")]),
            conditional("5.1.0", "5.1.1", &[risk("B")]),
        ],
    });
    insta::assert_snapshot!(told(&answer(&graph)), @"5.1.1 A,B");
}

#[test]
fn every_node_is_published() {
    let graph = json!({"nodes": [node("5.1.0"), node("6.0.0"), node("4.0.0")], "edges": []});
    assert_eq!(answer(&graph).graph.nodes().len(), 3);
}

#[test]
fn the_current_version_is_found_by_precedence() {
    let mut question = question();
    for (current, there, found) in [
        ("5.1.0", "5.1.0+amd64", true),
        ("5.1.0+amd64", "5.1.0", true),
        ("5.1.0+amd64", "5.1.0+arm64", true),
        ("5.1.0", "5.1.0-rc.1", false),
    ] {
        question.current = Version::parse(current).unwrap();
        let graph = json!({"nodes": [node(there)]});
        let answer = answer_to(&question, &graph);
        assert_eq!(answer.candidates.is_some(), found, "{current} {there}");
    }
}

#[test]
fn a_version_that_is_there_twice_has_the_risks_of_both() {
    let graph = json!({
        "nodes": [node("5.1.0"), node("5.1.0+amd64"), node("5.1.1")],
        "edges": [[1, 2]],
        "conditionalEdges": [conditional("5.1.0", "5.1.1", &[risk("A")])],
    });
    insta::assert_snapshot!(told(&answer(&graph)), @"5.1.1 A");
}

#[test]
fn a_cluster_gets_all_architectures_before_another_version() {
    let mut multi = node("5.1.0");
    multi["metadata"] = json!({"release.openshift.io/architecture": "multi"});
    let graph = json!({
        "nodes": [multi, node("5.1.1")],
        "edges": [[0, 1]],
        "conditionalEdges": [conditional("5.1.0", "5.1.1", &[risk("A")])],
    });
    let question = Question { becomes_multi: true, ..question() };
    let answer = answer_to(&question, &graph);
    insta::assert_snapshot!(told(&answer), @"5.1.0");
    let release = &answer.candidates.unwrap()[0].release;
    assert_eq!(release.architecture, Some(Architecture::Multi));
}

#[test]
fn a_release_has_its_metadata() {
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
fn metadata_that_makes_no_sense_is_left_out() {
    let with = |key: &str, value: &str| {
        let mut target = node("5.1.1");
        target["metadata"] = json!({key: value});
        json!({"nodes": [node("5.1.0"), target], "edges": [[0, 1]]})
    };
    let channels = "io.openshift.upgrades.graph.release.channels";
    let told: Vec<String> = [
        with("url", "javascript:alert(1)"),
        with("url", "relative"),
        with("url", &format!("https://example.com/{}", "x".repeat(3000))),
        with(channels, &"stable,".repeat(2000)),
        with("release.openshift.io/architecture", "m68k"),
    ]
    .iter()
    .map(|graph| told(&answer(graph)))
    .collect();
    insta::assert_snapshot!(told.join("\n--\n"), @r#"
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
fn each_entry_that_makes_no_sense_costs_itself() {
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
    insta::assert_snapshot!(told(&answer(&graph)), @r#"
    5.1.1
    ignoring 5.1.4: invalid image "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
    ignoring 5.1.3: invalid image "two words"
    ignoring 5.1.2: invalid image ""
    node omitted: "nonsense" is not a version
    5.1.5 omitted: several images have it: registry.example/release@sha256:5.1.5 and registry.example/other
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
fn of_many_problems_some_are_told() {
    let edges: Vec<[u64; 2]> = (1..=5000).map(|to| [0, to]).collect();
    let answer = answer(&json!({"nodes": [node("5.1.0")], "edges": edges}));
    assert_eq!((answer.problems.len(), answer.problem_count), (MOST_TOLD, 5000));
}

#[test]
fn releases_that_cannot_be_told_apart_are_withheld() {
    let same_image = json!({"version": "5.1.2", "payload": "mirror.example/x@sha256:5.1.1"});
    let graph = json!({
        "nodes": [node("5.1.0"), node("5.1.1"), same_image, node("5.1.3+a"), node("5.1.3+b"), node("5.1.4")],
        "edges": [[0, 1], [0, 3], [0, 4], [0, 5]],
        "conditionalEdges": [conditional("5.1.0", "5.1.2", &[risk("A")])],
    });
    insta::assert_snapshot!(told(&answer(&graph)), @"
    5.1.4
    ignoring 5.1.1 and 5.1.2: they have the same image sha256:5.1.1
    ignoring 5.1.3+a and 5.1.3+b: they have the same version 5.1.3
    ");
}

#[test]
fn a_target_whose_risks_are_lost_is_withheld() {
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
        let answer = answer(&graph);
        let told = told(&answer);
        assert!(told.starts_with("5.1.2\n"), "{from} {to}: {told}");
        assert!(told.contains("ignoring 5.1.1: its risks are listed under another version"));
    }
    let others = json!({
        "nodes": [node("5.1.0"), node("5.1.1")],
        "edges": [[0, 1]],
        "conditionalEdges": [conditional("5.0.0", "5.1.1", &[risk("A")])],
    });
    assert!(told(&answer(&others)).starts_with("5.1.1\n"));
}

#[test]
fn risks_that_make_no_sense_stay_with_their_targets() {
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
    let candidates = answer(&graph).candidates.unwrap();
    assert_eq!(candidates.len(), 4);
    assert!(candidates.iter().all(|candidate| candidate.risks.len() == 1));
}

#[test]
fn what_no_status_has_room_for_is_withheld() {
    let versions: Vec<String> =
        (0..=MOST_TARGETS + 2).map(|patch| format!("5.1.{patch}")).collect();
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
    let answer = answer(&graph);
    insta::assert_snapshot!(answer.problems.join("\n"), @"
    ignoring 2 updates to versions before 5.1.3: too many updates
    ignoring 5.1.1000: its 201 risks do not fit into a status
    ");
    let candidates = answer.candidates.unwrap();
    assert_eq!(candidates.len(), MOST_TARGETS - 1);
    assert_eq!(
        candidates.iter().map(|candidate| candidate.risks.len()).sum::<usize>(),
        limits::RISKS
    );
}

#[test]
fn what_is_no_graph_is_refused() {
    let told =
        ["", "<html>", "[]", "{\"nodes\": 7}", "{\"nodes\": [{}]}", "{\"edges\": [[-1, 0]]}"]
            .map(|text| read(&question(), text.as_bytes()).unwrap_err().to_string());
    insta::assert_snapshot!(told.join("\n"), @"
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
    fn no_graph_makes_it_panic_or_recommends_what_has_risks(
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
        let answer = answer(&graph);
        let is = |text: &str, version: &str| {
            Version::parse(text).is_ok_and(|parsed| parsed == Version::parse(version).unwrap())
        };
        for Candidate { release, risks } in answer.candidates.unwrap_or_default().iter() {
            let concerned = risky.iter().any(|(from, to)| {
                (is(from, "5.1.0") || from == "x") && is(to, &release.version)
            });
            prop_assert!(!concerned || !risks.is_empty(), "{}", release.version);
        }
    }
}
