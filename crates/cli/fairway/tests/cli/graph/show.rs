//! `fairway graph show`.

use std::fs::File;

use super::{GRAPH, GraphFiles};
use crate::transcript;

#[test]
fn show_prints_text() {
    let files = GraphFiles::new();
    insta::assert_snapshot!(files.query(&["show", "--channel=fast-5.1"]), @"
    exit code: 0
    ----- stdout -----
    fast-5.1, amd64
    releases: 5, recommended updates: 3, conditional updates: 2

    5.0
      5.0.1  no updates to this release
      5.0.2
        <- 5.0.1

    5.1
      5.1.0
        <? 5.0.1, 5.0.2  (LeakyProxy)
      5.1.1
        <- 5.1.0
      5.1.2
        <- 5.1.1
    ");
}

#[test]
fn show_of_another_architecture_lists_channels() {
    let files = GraphFiles::new();
    insta::assert_snapshot!(files.query(&["show", "--arch=arm64"]), @"
    exit code: 0
    ----- stdout -----
    all channels, arm64
    releases: 1, recommended updates: 0, conditional updates: 0

    5.1
      5.1.1  no updates to this release
    ");
}

#[test]
fn show_as_dot_and_svg() {
    let files = GraphFiles::new();
    let dot = files.query(&["show", "--channel=stable-5.1", "-o", "dot"]);
    let title = "exit code: 0\n----- stdout -----\ndigraph \"stable-5.1, amd64\" {\n";
    assert!(dot.starts_with(title) && dot.ends_with("\n}\n"), "{dot}");
    let svg = files.query(&["show", "--channel=stable-5.1", "-o", "svg"]);
    assert!(svg.starts_with("exit code: 0\n----- stdout -----\n<svg xmlns="), "{svg}");
    assert!(svg.contains("stable-5.1, amd64"), "{svg}");
}

#[test]
fn show_reads_a_graph_from_standard_input() {
    let files = GraphFiles::new();
    let answer =
        files.json(&[&["build", "--arch=amd64", "--channel=stable-5.1"], &GRAPH[..]].concat());
    files.write("answer.json", &answer.to_string());
    let mut show = files.fairway(&["show", "--from-graph=-"]);
    let printed = transcript(show.stdin(File::open(files.path().join("answer.json")).unwrap()));
    assert!(printed.contains("\nreleases: 4, recommended updates: 2, conditional updates: 2\n"));
    assert_eq!(printed, files.run(&["show", "--from-graph=answer.json"]));
    assert_eq!(files.json(&["show", "--from-graph=answer.json", "-o", "json"]), answer);
}
