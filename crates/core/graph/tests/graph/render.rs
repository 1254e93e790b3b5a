//! Drawings of a graph.

use fairway_graph::build::build;
use fairway_graph::render::{dot, essential, svg, text};
use fairway_graph::{Graph, Scope};

use crate::support::{data, declare, openshift_graph, release};

fn graph() -> Graph {
    let declared = declare(vec![
        release("4.6.1", "amd64", &[]),
        release("4.6.2", "amd64", &["4.6.1"]),
        release("4.6.3", "amd64", &["4.6.1", "4.6.2"]),
        release("4.6.4", "amd64", &["4.6.1", "4.6.2", "4.6.3"]),
        release("4.7.0-rc.1", "amd64", &["4.6.3"]),
        release("4.7.0", "amd64", &["4.6.2", "4.6.3", "4.6.4", "4.7.0-rc.1"]),
        release("4.7.1", "amd64", &["4.6.4", "4.7.0"]),
    ]);
    let risk = |name: &str, to: &str, from: &str| {
        format!(
            "to: {to}\nfrom: {from}\nurl: https://bugs.example/1\nname: {name}\nmessage: It may.\nmatchingRules: [{{type: Always}}]\n"
        )
    };
    let (leak, slow) = (risk("Leak", "4.7.0", "4[.]6"), risk("<Slow>", "4.7.0", "4[.]6[.]2"));
    let data = data([
        ("blocked-edges/a.yaml", leak.as_str()),
        ("blocked-edges/b.yaml", slow.as_str()),
        ("blocked-edges/c.yaml", "to: 4.7.1\nfrom: .*\n"),
    ]);
    let scope = Scope { architecture: Some("amd64"), channel: None };
    build(declared, &data).0.within(scope)
}

#[test]
fn text_of_small_graph() {
    insta::assert_snapshot!(text(&graph(), "stable-4.7, amd64"), @"
    stable-4.7, amd64
    releases: 7, recommended updates: 8, conditional updates: 3

    4.6
      4.6.1  no updates to this release
      4.6.2
        <- 4.6.1
      4.6.3
        <- 4.6.1, 4.6.2
      4.6.4
        <- 4.6.1 … 4.6.3

    4.7
      4.7.0-rc.1
        <- 4.6.3
      4.7.0
        <- 4.7.0-rc.1
        <? 4.6.2  (<Slow>, Leak)
        <? 4.6.3, 4.6.4  (Leak)
      4.7.1  no updates to this release
    ");
}

#[test]
fn dot_of_small_graph() {
    insta::assert_snapshot!(dot(&graph(), "stable-4.7, \"amd64\""), @r##"
    digraph "stable-4.7, \"amd64\"" {
      label="stable-4.7, \"amd64\"";
      labelloc=t;
      rankdir=LR;
      node [fontname="sans-serif"];
      subgraph cluster_0 {
        label="4.6";
        "4.6.1" [shape=ellipse color="#0072b2"];
        "4.6.2" [shape=ellipse color="#0072b2"];
        "4.6.3" [shape=ellipse color="#0072b2"];
        "4.6.4" [shape=ellipse color="#0072b2" peripheries=2];
      }
      subgraph cluster_1 {
        label="4.7";
        "4.7.0-rc.1" [shape=ellipse color="#0072b2"];
        "4.7.0" [shape=ellipse color="#0072b2"];
        "4.7.1" [shape=box color="#767676"];
      }
      "4.6.1" -> "4.6.2" [color="#0072b2"];
      "4.6.2" -> "4.6.3" [color="#0072b2"];
      "4.6.3" -> "4.6.4" [color="#0072b2"];
      "4.6.3" -> "4.7.0-rc.1" [color="#0072b2"];
      "4.6.4" -> "4.7.0" [color="#d55e00" style=dashed tooltip="Leak"];
      "4.7.0-rc.1" -> "4.7.0" [color="#0072b2"];
    }
    "##);
}

#[test]
fn svg_of_small_graph_matches_snapshot() {
    insta::assert_snapshot!(svg(&graph(), "stable-4.7 & amd64"));
}

#[test]
fn drawings_of_empty_graph_are_valid() {
    let nothing = declare(Vec::new());
    assert!(svg(&nothing, "nothing").ends_with("</svg>\n"));
    assert!(dot(&nothing, "nothing").ends_with("}\n"));
    assert_eq!(text(&nothing, "nothing").lines().count(), 2);
}

#[test]
fn essential_edges_of_openshift_channel_are_few() {
    let Some((_, graph)) = openshift_graph() else { return };
    let scope = Scope { architecture: Some("amd64"), channel: Some("stable-4.18") };
    let channel = graph.within(scope);
    let (releases, drawn) = (channel.nodes().len(), essential(&channel).len());
    assert!(releases > 150 && drawn < 2 * releases, "{drawn} of {}", channel.edges().len());
}
