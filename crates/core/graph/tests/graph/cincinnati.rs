//! Cincinnati JSON: lenient reader, strict writer.

use fairway_graph::cincinnati::{GraphSerializer, read};

use crate::support::{edges, lines};

#[test]
fn read_and_write_preserve_unknown_fields() {
    let text = r#"{"version":1,"nodes":[{"version":"4.7.3","payload":"r@sha256:1","metadata":{"url":"u"},"later":[1]},{"version":"4.7.4","payload":"r@sha256:2","metadata":{}},{"version":"4.7.5"}],"edges":[[0,1]],"conditionalEdges":[{"edges":[{"from":"4.7.3","to":"4.7.5"}],"risks":[{"url":"u","name":"Leak","message":"It leaks.","matchingRules":[{"type":"PromQL","promql":{"promql":"up"}},{"type":"Weather","wind":12}],"since":"4.7.5"}]}],"later":{"kept":true}}"#;
    let (graph, problems) = read("graph", text.as_bytes()).unwrap();
    assert_eq!(problems, []);
    assert_eq!(String::from_utf8(GraphSerializer::whole(&graph).json()).unwrap(), text);
}

#[test]
fn read_accepts_go_spellings_and_nulls() {
    let text = br#"{"later": {}, "nodes": [{"version": "1.0.0", "payload": "a", "metadata": null}, {"version": "1.0.1", "payload": "b"}],
        "edges": null, "conditionalEdges": [{"later": 1, "edges": [{"from": "1.0.0", "to": "1.0.1"}],
        "risks": [{"name": "Leak", "matchingRules": [{"type": "PromQL", "PromQL": {"PromQL": "up"}}]}]}]}"#;
    let (graph, problems) = read("graph", text).unwrap();
    assert_eq!(problems, []);
    insta::assert_snapshot!(String::from_utf8(GraphSerializer::whole(&graph).json()).unwrap(), @r#"{"version":1,"nodes":[{"version":"1.0.0","payload":"a","metadata":{}},{"version":"1.0.1","payload":"b","metadata":{}}],"edges":[],"conditionalEdges":[{"edges":[{"from":"1.0.0","to":"1.0.1"}],"risks":[{"url":"","name":"Leak","message":"","matchingRules":[{"type":"PromQL","promql":{"promql":"up"}}]}]}],"later":{}}"#);
}

#[test]
fn read_omits_and_reports_invalid_nodes_and_edges() {
    let text = br#"{"nodes": [{"version": "1.0.0", "payload": "a"}, {"version": "1.0.1", "payload": "b"}, {"version": "1.0.1", "payload": "b"},
        {"version": "1.0.2", "payload": "c"}, {"version": "1.0.2", "payload": "d"}, {"version": "one"}],
        "edges": [[0, 1], [0, 2], [0, 3], [0, 5], [0, 9], [18446744073709551615, 0]],
        "conditionalEdges": [{"edges": [{"from": "1.0.0", "to": "7.7.7"}], "risks": []}]}"#;
    let (graph, problems) = read("graph", text).unwrap();
    insta::assert_snapshot!(lines(&problems), @r#"
    node omitted: "one" is not a version
    1.0.2 omitted: several images have this version: c and d
    update from node 0 to node 3 omitted: one of the releases does not exist
    update from node 0 to node 5 omitted: one of the releases does not exist
    update from node 0 to node 9 omitted: one of the releases does not exist
    update from node 18446744073709551615 to node 0 omitted: one of the releases does not exist
    update from 1.0.0 to 7.7.7 omitted: one of the releases does not exist
    "#);
    insta::assert_snapshot!(edges(&graph), @"1.0.0 1.0.1");
}

#[test]
fn read_merges_risks_of_repeated_edges() {
    let text = br#"{"nodes": [{"version": "1.0.0", "payload": "a"}, {"version": "1.0.1", "payload": "b"}, {"version": "1.0.2", "payload": "c"}],
        "edges": [[0, 1]], "conditionalEdges": [
        {"edges": [{"from": "1.0.0", "to": "1.0.1"}], "risks": [{"name": "One", "matchingRules": [{"type": "Always"}]}]},
        {"edges": [{"from": "1.0.0", "to": "1.0.1"}], "risks": [{"name": "Two", "matchingRules": [{"type": "Always"}]}]},
        {"edges": [{"from": "1.0.0", "to": "1.0.2"}], "risks": []}]}"#;
    let (graph, problems) = read("graph", text).unwrap();
    insta::assert_snapshot!(lines(&problems), @"conditional update from 1.0.0 to 1.0.2 blocked for all clusters: it has no risks");
    insta::assert_snapshot!(edges(&graph), @"
    1.0.0 1.0.1 One,Two
    1.0.0 1.0.2 UnnamedRisk
    ");
}

#[test]
fn read_merges_repeated_keys() {
    let text = br#"{"Nodes": [{"version": "1.0.0", "payload": "a"}, {"version": "1.0.1", "payload": "b"}], "EDGES": [[0, 1]],
        "ConditionalEdges": [{"Edges": [{"From": "1.0.0", "To": "1.0.1"}], "Risks": [{"name": "One", "matchingRules": [{"type": "Always"}]}]}],
        "conditionalEdges": [{"edges": [{"from": "1.0.0", "to": "1.0.1"}], "risks": [{"name": "Two", "matchingRules": [{"type": "Always"}]}]}],
        "conditionalEdges": []}"#;
    let (graph, problems) = read("graph", text).unwrap();
    assert_eq!(problems, []);
    insta::assert_snapshot!(edges(&graph), @"1.0.0 1.0.1 One,Two");
}

#[test]
fn read_of_invalid_json_reports_position() {
    let refused =
        ["", "[]", "{\"nodes\": [\n{}]}", "{\"nodes\": [], \"edges\": [[1]]}", "{\"nodes\": [] "]
            .map(|text| read("graph.json", text.as_bytes()).unwrap_err().to_string());
    insta::assert_snapshot!(refused.join("\n"), @"
    graph.json: EOF while parsing a value at line 1 column 0
    graph.json: invalid type: sequence, expected an update graph at line 1 column 0
    graph.json: missing field `version` at line 2 column 2
    graph.json: invalid length 1, expected a tuple of size 2 at line 1 column 27
    graph.json: EOF while parsing an object at line 1 column 13
    ");
}
