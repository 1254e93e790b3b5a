//! Blocked edges fail closed: missing and invalid fields block more updates.

use fairway_graph::build::build;
use fairway_graph::data::{BlockedEdgeEffect, Severity};
use fairway_graph::{Graph, GraphData};

use crate::support::{data, declare, edges, lines, release};

const BLOCK: &str = "blocked-edges/4.7.4-leak.yaml";

/// Two versions with updates to 4.7.4, for two architectures.
fn declared() -> Graph {
    declare(
        ["amd64", "s390x"]
            .into_iter()
            .flat_map(|architecture| {
                [
                    release("4.6.22", architecture, &[]),
                    release("4.6.23", architecture, &["4.6.22"]),
                    release("4.7.4", architecture, &["4.6.22", "4.6.23"]),
                ]
            })
            .collect(),
    )
}

/// The findings, and a line with the sources of the remaining edges to 4.7.4 and their risks.
fn remaining_edges(data: &GraphData) -> String {
    let (graph, problems) = build(declared(), data);
    assert_eq!(problems, []);
    let edges = edges(&graph);
    let remaining: Vec<String> = edges
        .lines()
        .map(|edge| edge.split(' ').collect::<Vec<_>>())
        .filter(|edge| edge[1].starts_with("4.7.4"))
        .map(|edge| match edge[2..] {
            [risks] => format!("{} [{risks}]", edge[0]),
            _ => edge[0].to_owned(),
        })
        .collect();
    let findings = lines(&data.findings);
    match remaining.as_slice() {
        [] => findings,
        remaining => format!("{findings}\nremaining: {}", remaining.join(", ")).trim().to_owned(),
    }
}

fn remaining_edges_of(text: &str) -> String {
    remaining_edges(&data([(BLOCK, text)]))
}

#[test]
fn block_with_versions_only_removes_edge() {
    insta::assert_snapshot!(remaining_edges_of("to: 4.7.4\nfrom: 4[.]6[.]22[+].*\n"), @"remaining: 4.6.23+amd64, 4.6.23+s390x");
}

#[test]
fn block_with_risk_makes_edge_conditional() {
    insta::assert_snapshot!(remaining_edges_of("to: 4.7.4\nfrom: 4[.]6[.]22[+].*\nurl: https://bugs.example/1\nname: Leak\nmessage: It leaks.\nmatchingRules:\n- type: Always\n"), @"remaining: 4.6.22+amd64 [Leak], 4.6.22+s390x [Leak], 4.6.23+amd64, 4.6.23+s390x");
}

#[test]
fn block_with_incomplete_risk_applies_to_all_clusters() {
    let data = data([(
        BLOCK,
        "to: 4.7.4\nfrom: .*\nurl: https://bugs.example/1\nmatchingRules:\n- type: PromQL\n  promql:\n    promql: up\n",
    )]);
    insta::assert_snapshot!(remaining_edges(&data), @"
    blocked-edges/4.7.4-leak.yaml: no `name` and `message`; the update is blocked for all clusters
    remaining: 4.6.22+amd64 [Block474Leak], 4.6.22+s390x [Block474Leak], 4.6.23+amd64 [Block474Leak], 4.6.23+s390x [Block474Leak]
    ");
    let (graph, _) = build(declared(), &data);
    let conditional = graph.edges().iter().find(|edge| edge.is_conditional()).unwrap();
    let risk = graph.risks(*conditional).next().unwrap();
    insta::assert_snapshot!(serde_json::to_string(&**risk).unwrap(), @r#"{"url":"https://bugs.example/1","name":"Block474Leak","message":"blocked-edges/4.7.4-leak.yaml blocks this update without an explanation.","matchingRules":[{"type":"Always"}]}"#);
}

#[test]
fn block_with_invalid_rules_applies_to_all_clusters() {
    let with_rules = |rules: &str| {
        remaining_edges_of(&format!(
            "to: 4.7.4\nfrom: '[+]amd64'\nurl: https://bugs.example/1\nname: Leak\nmessage: It leaks.\nmatchingRules: {rules}\n"
        ))
    };
    let results =
        ["[]", "[{promql: {promql: up}}]", "Always", "[Always]", "[{type: [1]}]"].map(with_rules);
    insta::assert_snapshot!(results.join("\n\n"), @"
    blocked-edges/4.7.4-leak.yaml:6:16: `matchingRules` is empty; the update is blocked for all clusters
    remaining: 4.6.22+amd64 [Leak], 4.6.22+s390x, 4.6.23+amd64 [Leak], 4.6.23+s390x

    blocked-edges/4.7.4-leak.yaml:6:16: a rule in `matchingRules` has no `type`; the update is blocked for all clusters
    remaining: 4.6.22+amd64 [Leak], 4.6.22+s390x, 4.6.23+amd64 [Leak], 4.6.23+s390x

    blocked-edges/4.7.4-leak.yaml:6:16: invalid: field matchingRules: expected sequence start; all updates to 4.7.4 are blocked for all clusters
    remaining: 4.6.22+amd64 [Leak], 4.6.22+s390x, 4.6.23+amd64 [Leak], 4.6.23+s390x

    blocked-edges/4.7.4-leak.yaml:6:17: invalid: field matchingRules[0]: expected mapping start; all updates to 4.7.4 are blocked for all clusters
    remaining: 4.6.22+amd64 [Leak], 4.6.22+s390x, 4.6.23+amd64 [Leak], 4.6.23+s390x

    blocked-edges/4.7.4-leak.yaml:6:24: invalid: field matchingRules[0].type: expected string scalar; all updates to 4.7.4 are blocked for all clusters
    remaining: 4.6.22+amd64 [Leak], 4.6.22+s390x, 4.6.23+amd64 [Leak], 4.6.23+s390x
    ");
}

#[test]
fn block_with_invalid_pattern_blocks_all_sources() {
    let huge = format!("to: 4.7.4\nfrom: '{}'\n", "(a{1000}){1000}");
    let long = format!("to: 4.7.4\nfrom: '{}'\n", "a".repeat(5000));
    let results = [
        remaining_edges_of("to: 4.7.4\nfrom: 4.(6\n"),
        remaining_edges_of("to: 4.7.4\n"),
        remaining_edges_of(&huge),
        remaining_edges_of(&long),
    ];
    insta::assert_snapshot!(results.join("\n\n"), @"
    blocked-edges/4.7.4-leak.yaml:2:7: invalid `from`: unclosed group; all updates to this version are blocked

    blocked-edges/4.7.4-leak.yaml: no `from`; all updates to this version are blocked

    blocked-edges/4.7.4-leak.yaml:2:7: invalid `from`: the compiled pattern is too large; all updates to this version are blocked

    blocked-edges/4.7.4-leak.yaml:2:7: invalid `from`: 5000 bytes exceed the limit of 4096 bytes; all updates to this version are blocked
    ");
}

#[test]
fn block_with_tolerable_target_uses_it() {
    insta::assert_snapshot!(remaining_edges_of("to: v4.7.4\nfrom: .*\n"), @r#"blocked-edges/4.7.4-leak.yaml:1:5: `to` is not a version: "v4.7.4"; assuming 4.7.4"#);
}

#[test]
fn invalid_block_uses_readable_fields() {
    let results = [
        "to: 4.7.4\nfrom: 4[.]6[.]22\nurl: [a, list]\nname: Leak\n",
        "to: 4.7.4\nfrom: 4[.]6[.]22\nname: *nowhere\n",
        "to: 4.7.4\nfrom: 'unfinished\n",
        "to: \"4.7.4\" # said twice\nfrom: .*\nto: 4.7.4\n",
    ]
    .map(remaining_edges_of);
    insta::assert_snapshot!(results.join("\n\n"), @"
    blocked-edges/4.7.4-leak.yaml:3:6: invalid: field url: expected string scalar; all updates to 4.7.4 are blocked for all clusters
    remaining: 4.6.22+amd64 [Leak], 4.6.22+s390x [Leak], 4.6.23+amd64, 4.6.23+s390x

    blocked-edges/4.7.4-leak.yaml:3:7: invalid: reference to unknown value; all updates to 4.7.4 are blocked for all clusters
    remaining: 4.6.22+amd64 [Block474Leak], 4.6.22+s390x [Block474Leak], 4.6.23+amd64 [Block474Leak], 4.6.23+s390x [Block474Leak]

    blocked-edges/4.7.4-leak.yaml:3:1: invalid: invalid indentation in multiline quoted scalar; all updates to 4.7.4 are blocked for all clusters
    remaining: 4.6.22+amd64 [Block474Leak], 4.6.22+s390x [Block474Leak], 4.6.23+amd64 [Block474Leak], 4.6.23+s390x [Block474Leak]

    blocked-edges/4.7.4-leak.yaml:3:1: invalid: duplicate mapping key: to not allowed here; all updates to 4.7.4 are blocked for all clusters
    remaining: 4.6.22+amd64 [Block474Leak], 4.6.22+s390x [Block474Leak], 4.6.23+amd64 [Block474Leak], 4.6.23+s390x [Block474Leak]
    ");
}

#[test]
fn block_without_any_target_has_severity_open() {
    for text in ["_to: 4.7.4\nfrom: .*\n", "to: soon\nfrom: .*\n", "- 4.7.4\n", ""] {
        for (file, severity, blocks) in
            [("blocked-edges/leak.yaml", Severity::Open, 0), (BLOCK, Severity::Error, 1)]
        {
            let data = data([(file, text)]);
            let worst = data.findings.iter().map(|finding| finding.problem.severity()).max();
            assert_eq!(worst, Some(severity), "{file}: {text}");
            assert_eq!(data.blocks.len(), blocks, "{file}: {text}");
        }
    }
}

#[test]
fn block_with_target_in_file_name_reports_it() {
    let texts = ["_to: 4.7.4\nfrom: .*\n", "to: soon\nfrom: .*\n", "- 4.7.4\n", ""];
    let messages = texts.map(|text| data([(BLOCK, text)]).findings[0].to_string());
    insta::assert_snapshot!(messages.join("\n"), @r#"
    blocked-edges/4.7.4-leak.yaml: no `to`; assuming 4.7.4, from the file name
    blocked-edges/4.7.4-leak.yaml:1:5: `to` is not a version: "soon"; assuming 4.7.4
    blocked-edges/4.7.4-leak.yaml:1:1: invalid: expected mapping start; all updates to 4.7.4 are blocked for all clusters
    blocked-edges/4.7.4-leak.yaml: no `to`; assuming 4.7.4, from the file name
    "#);
}

#[test]
fn several_blocks_merge_their_risks() {
    let risk = |name: &str, from: &str| {
        format!(
            "to: 4.7.4\nfrom: {from}\nurl: https://bugs.example/{name}\nname: {name}\nmessage: It is {name}.\nmatchingRules: [{{type: Always}}]\n"
        )
    };
    let texts = [risk("Zebra", ".*"), risk("Leak", "4[.]6[.]22"), risk("Zebra", "4[.]6[.]23")];
    let names = ["blocked-edges/a.yaml", "blocked-edges/b.yaml", "blocked-edges/c.yaml"];
    let data = data(names.into_iter().zip(texts.iter().map(String::as_str)));
    insta::assert_snapshot!(remaining_edges(&data), @"remaining: 4.6.22+amd64 [Leak,Zebra], 4.6.22+s390x [Leak,Zebra], 4.6.23+amd64 [Zebra], 4.6.23+s390x [Zebra]");
}

#[test]
fn risks_with_conflicting_rules_apply_to_all_clusters() {
    let risk = |query: &str, message: &str| {
        format!(
            "to: 4.7.4\nfrom: .*\nurl: https://bugs.example/1\nname: Leak\nmessage: {message}\nmatchingRules: [{{type: PromQL, promql: {{promql: {query}}}}}]\n"
        )
    };
    let (one, other) = (risk("up", "It leaks."), risk("down", "It leaks more."));
    let data =
        data([("blocked-edges/a.yaml", one.as_str()), ("blocked-edges/b.yaml", other.as_str())]);
    let (graph, problems) = build(declared(), &data);
    insta::assert_snapshot!(lines(&problems), @"risk Leak has conflicting rules for one update, so it applies to all clusters for that update");
    let conditional = graph.edges().iter().find(|edge| edge.is_conditional()).unwrap();
    assert_eq!(graph.risks(*conditional).len(), 1);
    insta::assert_snapshot!(serde_json::to_string(&**graph.risks(*conditional).next().unwrap()).unwrap(), @r#"{"url":"https://bugs.example/1","name":"Leak","message":"It leaks more.\nIt leaks.","matchingRules":[{"type":"Always"}]}"#);
}

#[test]
fn removing_block_wins_over_conditional_block() {
    let conditional = "to: 4.7.4\nfrom: .*\nurl: https://bugs.example/1\nname: Leak\nmessage: It leaks.\nmatchingRules: [{type: Always}]\n";
    let plain = "to: 4.7.4\nfrom: 4[.]6[.]22\n";
    for names in [
        ["blocked-edges/a.yaml", "blocked-edges/b.yaml"],
        ["blocked-edges/b.yaml", "blocked-edges/a.yaml"],
    ] {
        let remaining_edges = remaining_edges(&data([(names[0], conditional), (names[1], plain)]));
        assert_eq!(remaining_edges, "remaining: 4.6.23+amd64 [Leak], 4.6.23+s390x [Leak]");
    }
}

#[test]
fn block_with_architecture_keeps_other_architectures() {
    let open = "remaining: 4.6.22+s390x, 4.6.23+s390x";
    assert_eq!(remaining_edges_of("to: 4.7.4+amd64\nfrom: .*\n"), open);
    let conditional = remaining_edges_of(
        "to: 4.7.4+amd64\nfrom: .*\nurl: https://bugs.example/1\nname: Leak\nmessage: It leaks.\nmatchingRules: [{type: Always}]\n",
    );
    let expected =
        "remaining: 4.6.22+amd64 [Leak], 4.6.22+s390x, 4.6.23+amd64 [Leak], 4.6.23+s390x";
    assert_eq!(conditional, expected);
}

#[test]
fn block_with_architecture_matches_graph_without_architectures() {
    let response = br#"{"nodes": [{"version": "4.6.22", "payload": "a"}, {"version": "4.6.23", "payload": "b"}, {"version": "4.7.4", "payload": "c"}], "edges": [[0, 2], [1, 2]]}"#;
    let (graph, problems) = fairway_graph::cincinnati::read("answer", response).unwrap();
    assert_eq!(problems, []);
    let data = data([(BLOCK, "to: 4.7.4+amd64\nfrom: ^4[.]6[.]22[+](amd64|s390x)$\n")]);
    assert_eq!(edges(&build(graph, &data).0), "4.6.23 4.7.4");
}

#[test]
fn unknown_rule_types_are_preserved() {
    let data = data([(
        BLOCK,
        "to: 4.7.4\nfrom: .*\nurl: https://bugs.example/1\nname: Leak\nmessage: It leaks.\nmatchingRules:\n- type: Weather\n  weather: {wind: [12, 1.5], rain: true, of: null}\n- type: PromQL\n  PromQL: {PromQL: up}\n",
    )]);
    assert_eq!(data.findings, []);
    let (graph, _) = build(declared(), &data);
    let response = fairway_graph::cincinnati::GraphSerializer::whole(&graph).json();
    let response: serde_json::Value = serde_json::from_slice(&response).unwrap();
    let rules = response["conditionalEdges"][0]["risks"][0]["matchingRules"].to_string();
    insta::assert_snapshot!(rules, @r#"[{"type":"Weather","weather":{"of":null,"rain":true,"wind":[12,1.5]}},{"promql":{"promql":"up"},"type":"PromQL"}]"#);
}

#[test]
fn block_scalar_at_end_of_file_has_no_added_line_break() {
    let block = |end: &str| {
        let text = format!(
            "to: 4.7.4\nfrom: .*\nurl: https://bugs.example/1\nname: Leak\nmessage: |\n  It leaks.\nmatchingRules:\n- type: PromQL\n  promql:\n    promql: |\n      up\n      or down{end}"
        );
        let data = data([(BLOCK, text.as_str())]);
        let BlockedEdgeEffect::Risks(risk) = &data.blocks[0].effect else { panic!("{data:?}") };
        (risk.message.clone(), risk.matching_rules[0].promql.clone().unwrap().promql)
    };
    let message = "It leaks.\n".to_owned();
    assert_eq!(block(""), (message.clone(), "up\nor down".to_owned()));
    assert_eq!(block("\n"), (message, "up\nor down\n".to_owned()));
}

#[test]
fn files_without_yaml_extension_are_reported() {
    let block = "to: 4.7.4\nfrom: 4[.]6[.]22\n";
    let data = data([
        ("blocked-edges/OWNERS", ""),
        ("blocked-edges/_OWNERS", ""),
        ("blocked-edges/a.json", block),
        ("blocked-edges/b.yml", block),
        ("blocked-edges/c", block),
    ]);
    insta::assert_snapshot!(remaining_edges(&data), @"
    blocked-edges/a.json: skipped: not a .yaml file
    blocked-edges/b.yml: rename the file to .yaml: other tools skip .yml files
    blocked-edges/c: skipped: not a .yaml file
    remaining: 4.6.23+amd64, 4.6.23+s390x
    ");
}
