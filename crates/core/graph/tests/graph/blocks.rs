//! Blocks fail closed: whatever names its versions blocks, and what is missing makes it wider.

use fairway_graph::build::build;
use fairway_graph::data::{Effect, Severity};
use fairway_graph::{Graph, GraphData};

use crate::support::{data, declare, edges, lines, release};

const BLOCK: &str = "blocked-edges/4.7.4-leak.yaml";

/// Two versions that lead to a third, on two architectures.
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

/// What is said about graph-data, and which edges into 4.7.4 are left.
fn outcome(data: &GraphData) -> String {
    let (graph, problems) = build(declared(), data);
    assert_eq!(problems, []);
    let left = edges(&graph);
    let left: Vec<&str> = left.lines().filter(|edge| edge.contains(" 4.7.4")).collect();
    [lines(&data.findings), left.join("\n")].join("\n").trim().to_owned()
}

fn blocked(text: &str) -> String {
    outcome(&data([(BLOCK, text)]))
}

#[test]
fn nothing_but_versions_removes_the_edge() {
    insta::assert_snapshot!(blocked("to: 4.7.4\nfrom: 4[.]6[.]22[+].*\n"), @"
    4.6.23+amd64 4.7.4+amd64
    4.6.23+s390x 4.7.4+s390x
    ");
}

#[test]
fn everything_makes_it_conditional() {
    insta::assert_snapshot!(blocked("to: 4.7.4\nfrom: 4[.]6[.]22[+].*\nurl: https://bugs.example/1\nname: Leak\nmessage: It leaks.\nmatchingRules:\n- type: Always\n"), @"
    4.6.22+amd64 4.7.4+amd64 Leak
    4.6.22+s390x 4.7.4+s390x Leak
    4.6.23+amd64 4.7.4+amd64
    4.6.23+s390x 4.7.4+s390x
    ");
}

#[test]
fn some_of_the_properties_concern_everybody() {
    let data = data([(
        BLOCK,
        "to: 4.7.4\nfrom: .*\nurl: https://bugs.example/1\nmatchingRules:\n- type: PromQL\n  promql:\n    promql: up\n",
    )]);
    insta::assert_snapshot!(outcome(&data), @"
    blocked-edges/4.7.4-leak.yaml: no `name` and `message`, the update is blocked for all clusters
    4.6.22+amd64 4.7.4+amd64 Block474Leak
    4.6.22+s390x 4.7.4+s390x Block474Leak
    4.6.23+amd64 4.7.4+amd64 Block474Leak
    4.6.23+s390x 4.7.4+s390x Block474Leak
    ");
    let (graph, _) = build(declared(), &data);
    let conditional = graph.edges().iter().find(|edge| edge.is_conditional()).unwrap();
    let risk = graph.risks(*conditional).next().unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&**risk).unwrap(), @r#"
    {
      "url": "https://bugs.example/1",
      "name": "Block474Leak",
      "message": "blocked-edges/4.7.4-leak.yaml blocks this update without an explanation.",
      "matchingRules": [
        {
          "type": "Always"
        }
      ]
    }
    "#);
}

#[test]
fn empty_or_senseless_rules_concern_everybody() {
    let with_rules = |rules: &str| {
        blocked(&format!(
            "to: 4.7.4\nfrom: '[+]amd64'\nurl: https://bugs.example/1\nname: Leak\nmessage: It leaks.\nmatchingRules: {rules}\n"
        ))
    };
    let outcomes =
        ["[]", "[{promql: {promql: up}}]", "Always", "[Always]", "[{type: [1]}]"].map(with_rules);
    insta::assert_snapshot!(outcomes.join("\n\n"), @"
    blocked-edges/4.7.4-leak.yaml:6:16: `matchingRules` is empty, the update is blocked for all clusters
    4.6.22+amd64 4.7.4+amd64 Leak
    4.6.22+s390x 4.7.4+s390x
    4.6.23+amd64 4.7.4+amd64 Leak
    4.6.23+s390x 4.7.4+s390x

    blocked-edges/4.7.4-leak.yaml:6:16: a rule in `matchingRules` has no `type`, the update is blocked for all clusters
    4.6.22+amd64 4.7.4+amd64 Leak
    4.6.22+s390x 4.7.4+s390x
    4.6.23+amd64 4.7.4+amd64 Leak
    4.6.23+s390x 4.7.4+s390x

    blocked-edges/4.7.4-leak.yaml:6:16: invalid, all updates to 4.7.4 are blocked for all clusters: field matchingRules: expected sequence start
    4.6.22+amd64 4.7.4+amd64 Leak
    4.6.22+s390x 4.7.4+s390x
    4.6.23+amd64 4.7.4+amd64 Leak
    4.6.23+s390x 4.7.4+s390x

    blocked-edges/4.7.4-leak.yaml:6:17: invalid, all updates to 4.7.4 are blocked for all clusters: field matchingRules[0]: expected mapping start
    4.6.22+amd64 4.7.4+amd64 Leak
    4.6.22+s390x 4.7.4+s390x
    4.6.23+amd64 4.7.4+amd64 Leak
    4.6.23+s390x 4.7.4+s390x

    blocked-edges/4.7.4-leak.yaml:6:24: invalid, all updates to 4.7.4 are blocked for all clusters: field matchingRules[0].type: expected string scalar
    4.6.22+amd64 4.7.4+amd64 Leak
    4.6.22+s390x 4.7.4+s390x
    4.6.23+amd64 4.7.4+amd64 Leak
    4.6.23+s390x 4.7.4+s390x
    ");
}

#[test]
fn an_unreadable_expression_blocks_everything_into_the_target() {
    let huge = format!("to: 4.7.4\nfrom: '{}'\n", "(a{1000}){1000}");
    let long = format!("to: 4.7.4\nfrom: '{}'\n", "a".repeat(5000));
    let outcomes = [
        blocked("to: 4.7.4\nfrom: 4.(6\n"),
        blocked("to: 4.7.4\n"),
        blocked(&huge),
        blocked(&long),
    ];
    insta::assert_snapshot!(outcomes.join("\n\n"), @"
    blocked-edges/4.7.4-leak.yaml:2:7: invalid `from`, all updates to this version are blocked: unclosed group

    blocked-edges/4.7.4-leak.yaml: no `from`, all updates to this version are blocked

    blocked-edges/4.7.4-leak.yaml:2:7: invalid `from`, all updates to this version are blocked: the compiled pattern is too large

    blocked-edges/4.7.4-leak.yaml:2:7: invalid `from`, all updates to this version are blocked: 5000 bytes exceed the limit of 4096 bytes
    ");
}

#[test]
fn a_target_that_is_almost_a_version_is_blocked() {
    insta::assert_snapshot!(blocked("to: v4.7.4\nfrom: .*\n"), @r#"blocked-edges/4.7.4-leak.yaml:1:5: `to` is not a version: "v4.7.4"; assuming 4.7.4"#);
}

#[test]
fn an_unreadable_file_blocks_what_can_be_read_of_it() {
    let outcomes = [
        "to: 4.7.4\nfrom: 4[.]6[.]22\nurl: [a, list]\nname: Leak\n",
        "to: 4.7.4\nfrom: 4[.]6[.]22\nname: *nowhere\n",
        "to: 4.7.4\nfrom: 'unfinished\n",
        "to: \"4.7.4\" # said twice\nfrom: .*\nto: 4.7.4\n",
    ]
    .map(blocked);
    insta::assert_snapshot!(outcomes.join("\n\n"), @"
    blocked-edges/4.7.4-leak.yaml:3:6: invalid, all updates to 4.7.4 are blocked for all clusters: field url: expected string scalar
    4.6.22+amd64 4.7.4+amd64 Leak
    4.6.22+s390x 4.7.4+s390x Leak
    4.6.23+amd64 4.7.4+amd64
    4.6.23+s390x 4.7.4+s390x

    blocked-edges/4.7.4-leak.yaml:3:7: invalid, all updates to 4.7.4 are blocked for all clusters: reference to unknown value
    4.6.22+amd64 4.7.4+amd64 Block474Leak
    4.6.22+s390x 4.7.4+s390x Block474Leak
    4.6.23+amd64 4.7.4+amd64 Block474Leak
    4.6.23+s390x 4.7.4+s390x Block474Leak

    blocked-edges/4.7.4-leak.yaml:3:1: invalid, all updates to 4.7.4 are blocked for all clusters: invalid indentation in multiline quoted scalar
    4.6.22+amd64 4.7.4+amd64 Block474Leak
    4.6.22+s390x 4.7.4+s390x Block474Leak
    4.6.23+amd64 4.7.4+amd64 Block474Leak
    4.6.23+s390x 4.7.4+s390x Block474Leak

    blocked-edges/4.7.4-leak.yaml:3:1: invalid, all updates to 4.7.4 are blocked for all clusters: duplicate mapping key: to not allowed here
    4.6.22+amd64 4.7.4+amd64 Block474Leak
    4.6.22+s390x 4.7.4+s390x Block474Leak
    4.6.23+amd64 4.7.4+amd64 Block474Leak
    4.6.23+s390x 4.7.4+s390x Block474Leak
    ");
}

#[test]
fn what_names_no_target_not_even_by_its_file_is_said_to_leave_edges_open() {
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
fn a_target_that_only_the_file_s_name_says_is_told() {
    let texts = ["_to: 4.7.4\nfrom: .*\n", "to: soon\nfrom: .*\n", "- 4.7.4\n", ""];
    let told = texts.map(|text| data([(BLOCK, text)]).findings[0].to_string());
    insta::assert_snapshot!(told.join("\n"), @r#"
    blocked-edges/4.7.4-leak.yaml: no `to`; assuming 4.7.4, from the file name
    blocked-edges/4.7.4-leak.yaml:1:5: `to` is not a version: "soon"; assuming 4.7.4
    blocked-edges/4.7.4-leak.yaml:1:1: invalid, all updates to 4.7.4 are blocked for all clusters: expected mapping start
    blocked-edges/4.7.4-leak.yaml: no `to`; assuming 4.7.4, from the file name
    "#);
}

#[test]
fn several_blocks_accumulate() {
    let risk = |name: &str, from: &str| {
        format!(
            "to: 4.7.4\nfrom: {from}\nurl: https://bugs.example/{name}\nname: {name}\nmessage: It is {name}.\nmatchingRules: [{{type: Always}}]\n"
        )
    };
    let texts = [risk("Zebra", ".*"), risk("Leak", "4[.]6[.]22"), risk("Zebra", "4[.]6[.]23")];
    let names = ["blocked-edges/a.yaml", "blocked-edges/b.yaml", "blocked-edges/c.yaml"];
    let data = data(names.into_iter().zip(texts.iter().map(String::as_str)));
    insta::assert_snapshot!(outcome(&data), @"
    4.6.22+amd64 4.7.4+amd64 Leak,Zebra
    4.6.22+s390x 4.7.4+s390x Leak,Zebra
    4.6.23+amd64 4.7.4+amd64 Zebra
    4.6.23+s390x 4.7.4+s390x Zebra
    ");
}

#[test]
fn one_name_with_two_meanings_concerns_everybody() {
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
    insta::assert_snapshot!(serde_json::to_string_pretty(&**graph.risks(*conditional).next().unwrap()).unwrap(), @r#"
    {
      "url": "https://bugs.example/1",
      "name": "Leak",
      "message": "It leaks more.\nIt leaks.",
      "matchingRules": [
        {
          "type": "Always"
        }
      ]
    }
    "#);
}

#[test]
fn a_plain_block_beats_a_conditional_one() {
    let conditional = "to: 4.7.4\nfrom: .*\nurl: https://bugs.example/1\nname: Leak\nmessage: It leaks.\nmatchingRules: [{type: Always}]\n";
    let plain = "to: 4.7.4\nfrom: 4[.]6[.]22\n";
    for names in [
        ["blocked-edges/a.yaml", "blocked-edges/b.yaml"],
        ["blocked-edges/b.yaml", "blocked-edges/a.yaml"],
    ] {
        let outcome = outcome(&data([(names[0], conditional), (names[1], plain)]));
        assert_eq!(outcome, "4.6.23+amd64 4.7.4+amd64 Leak\n4.6.23+s390x 4.7.4+s390x Leak");
    }
}

#[test]
fn an_architecture_in_the_target_concerns_it_alone() {
    let open = "4.6.22+s390x 4.7.4+s390x\n4.6.23+s390x 4.7.4+s390x";
    assert_eq!(blocked("to: 4.7.4+amd64\nfrom: .*\n"), open);
    let conditional = blocked(
        "to: 4.7.4+amd64\nfrom: .*\nurl: https://bugs.example/1\nname: Leak\nmessage: It leaks.\nmatchingRules: [{type: Always}]\n",
    );
    insta::assert_snapshot!(conditional, @"
    4.6.22+amd64 4.7.4+amd64 Leak
    4.6.22+s390x 4.7.4+s390x
    4.6.23+amd64 4.7.4+amd64 Leak
    4.6.23+s390x 4.7.4+s390x
    ");
}

#[test]
fn a_graph_without_architectures_is_blocked_by_what_names_one() {
    let answer = br#"{"nodes": [{"version": "4.6.22", "payload": "a"}, {"version": "4.6.23", "payload": "b"}, {"version": "4.7.4", "payload": "c"}], "edges": [[0, 2], [1, 2]]}"#;
    let (graph, problems) = fairway_graph::wire::read("answer", answer).unwrap();
    assert_eq!(problems, []);
    let data = data([(BLOCK, "to: 4.7.4+amd64\nfrom: ^4[.]6[.]22[+](amd64|s390x)$\n")]);
    assert_eq!(edges(&build(graph, &data).0), "4.6.23 4.7.4");
}

#[test]
fn unknown_kinds_of_rules_travel_untouched() {
    let data = data([(
        BLOCK,
        "to: 4.7.4\nfrom: .*\nurl: https://bugs.example/1\nname: Leak\nmessage: It leaks.\nmatchingRules:\n- type: Weather\n  weather: {wind: [12, 1.5], rain: true, of: null}\n- type: PromQL\n  PromQL: {PromQL: up}\n",
    )]);
    assert_eq!(data.findings, []);
    let (graph, _) = build(declared(), &data);
    let answer = fairway_graph::wire::View::whole(&graph).json();
    let answer: serde_json::Value = serde_json::from_slice(&answer).unwrap();
    let rules = answer["conditionalEdges"][0]["risks"][0]["matchingRules"].to_string();
    insta::assert_snapshot!(rules, @r#"[{"type":"Weather","weather":{"of":null,"rain":true,"wind":[12,1.5]}},{"promql":{"promql":"up"},"type":"PromQL"}]"#);
}

#[test]
fn a_text_that_ends_with_its_file_has_no_line_break() {
    let block = |end: &str| {
        let text = format!(
            "to: 4.7.4\nfrom: .*\nurl: https://bugs.example/1\nname: Leak\nmessage: |\n  It leaks.\nmatchingRules:\n- type: PromQL\n  promql:\n    promql: |\n      up\n      or down{end}"
        );
        let data = data([(BLOCK, text.as_str())]);
        let Effect::Risks(risk) = &data.blocks[0].effect else { panic!("{data:?}") };
        (risk.message.clone(), risk.matching_rules[0].promql.clone().unwrap().promql)
    };
    let message = "It leaks.\n".to_owned();
    assert_eq!(block(""), (message.clone(), "up\nor down".to_owned()));
    assert_eq!(block("\n"), (message, "up\nor down\n".to_owned()));
}

#[test]
fn files_that_are_not_yaml_are_named() {
    let block = "to: 4.7.4\nfrom: 4[.]6[.]22\n";
    let data = data([
        ("blocked-edges/OWNERS", ""),
        ("blocked-edges/_OWNERS", ""),
        ("blocked-edges/a.json", block),
        ("blocked-edges/b.yml", block),
        ("blocked-edges/c", block),
    ]);
    insta::assert_snapshot!(outcome(&data), @"
    blocked-edges/a.json: skipped: not a .yaml file
    blocked-edges/b.yml: other tools skip .yml files; rename it to .yaml
    blocked-edges/c: skipped: not a .yaml file
    4.6.23+amd64 4.7.4+amd64
    4.6.23+s390x 4.7.4+s390x
    ");
}
