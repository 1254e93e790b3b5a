//! `fairway release info --graph`.

use super::{NETWORK, PROGRAM, ReleaseFiles, STORAGE};

fn graph(format: &str) -> String {
    let files = ReleaseFiles::new();
    let crd = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: a\n  annotations:\n    \
               include.release.openshift.io/self-managed-high-availability: \"true\"\n";
    files.write("network/0000_10_config_01.yaml", crd);
    let operators = ["--manifests=network", "--manifests=storage"];
    let usual = ["new", "--version=5.1.0", PROGRAM, NETWORK, STORAGE, "--to=releases"];
    files.json(&[&usual, &operators[..]].concat());
    let format = format!("--graph={format}");
    files.run(&["info", "releases", &format])
}

#[test]
fn info_with_graph_text_prints_steps() {
    insta::assert_snapshot!(graph("text"), @"
    exit code: 0
    ----- stdout -----
    release 5.1.0: 24 manifests in 3 steps
    step 1
      00 cluster-version-operator: 21 manifests
    step 2
      10 config: 1 manifest
    step 3
      50 network: 1 manifest
      50 storage: 1 manifest
    ");
}

#[test]
fn info_with_graph_dot_prints_nodes_and_edges() {
    insta::assert_snapshot!(graph("dot"), @r#"
    exit code: 0
    ----- stdout -----
    digraph tasks {
      node [shape=box fontname="sans-serif"];
      0 [shape=point];
      1 [label="00 cluster-version-operator\n10 config\n22 manifests" peripheries=1];
      2 [label="50 network\n1 manifest" peripheries=1];
      3 [label="50 storage\n1 manifest" peripheries=1];
      0 -> 1;
      1 -> 2;
      1 -> 3;
    }
    "#);
}

#[test]
fn info_with_graph_svg_prints_a_picture() {
    let picture = graph("svg");
    assert!(picture.starts_with("exit code: 0\n----- stdout -----\n<svg xmlns="), "{picture}");
    assert!(picture.contains("<title>10 config: 1 manifest</title>"), "{picture}");
    assert!(picture.ends_with("</svg>\n"), "{picture}");
}

#[test]
fn info_with_graph_and_output_is_refused() {
    let files = ReleaseFiles::new();
    insta::assert_snapshot!(files.run(&["info", "releases", "--graph=dot", "-o=json"]), @"
    exit code: 2
    ----- stderr -----
    error: the argument '--graph <FORMAT>' cannot be used with '--output <FORMAT>'

    Usage: fairway release info --graph <FORMAT> <IMAGE|DIR>

    For more information, try '--help'.
    ");
}
