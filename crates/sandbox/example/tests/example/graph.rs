//! The graph-data is valid and produces the expected graph.

use fairway_example::graph;
use fairway_graph::data::Severity;
use fairway_graph::{Files, GraphData, ReleaseImage, build, lint, releases, render};

use crate::images::platform;

fn files() -> Files {
    let mut files = Files::default();
    for (path, text) in graph::data() {
        files.insert(path, text.as_bytes().to_vec()).unwrap();
    }
    files
}

fn declared() -> fairway_graph::Graph {
    let list: Vec<_> = platform().releases.iter().map(graph::release_image).collect();
    let list = serde_json::to_vec(&list).unwrap();
    let (images, problems): (Vec<ReleaseImage>, _) = releases::read("releases", &list).unwrap();
    assert_eq!(problems, []);
    releases::declare(images).0
}

#[test]
fn graph_data_lint_reports_notes_only() {
    let report = lint::lint(&files(), Some(&declared()));
    // Some updates have risks on purpose.
    assert_eq!(report.worst(), Some(Severity::Note), "{:#?}", report.findings);
}

#[test]
fn graph_has_expected_updates() {
    let (files, declared) = (files(), declared());
    let data = GraphData::read(&files).unwrap();
    let (graph, problems) = build::build(declared, &data);
    assert_eq!(problems, []);
    let picture = render::text(&graph, "the example platform");
    let architecture = fairway_release::architecture::of_machine(std::env::consts::ARCH);
    insta::assert_snapshot!(picture.replace(architecture, "ARCH"), @"
    the example platform
    releases: 6, recommended updates: 5, conditional updates: 2

    4.9 ARCH
      4.9.0+ARCH  no updates to this release

    5.0 ARCH
      5.0.0+ARCH
        <- 4.9.0+ARCH
      5.0.1+ARCH
        <- 5.0.0+ARCH

    5.1 ARCH
      5.1.0+ARCH
        <- 5.0.0+ARCH, 5.0.1+ARCH

    5.2 ARCH
      5.2.0+ARCH
        <- 5.0.1+ARCH
        <? 5.1.0+ARCH  (StorageMigrationStalls)

    5.3 ARCH
      5.3.0+ARCH
        <? 5.2.0+ARCH  (NodesRestart)
    ");
}
