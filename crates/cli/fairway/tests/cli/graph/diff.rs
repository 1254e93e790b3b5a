//! `fairway graph diff`.

use super::{GRAPH, GraphFiles};

/// Graph-data in which a risk affects fewer updates, and one update is no longer blocked.
fn write_newer_graph_data(files: &GraphFiles) {
    let leak = super::FILES[3].1.replace("5[.]0[.].*", "5[.]0[.]1[+].*");
    let stable = "name: stable-5.1\nversions: [5.0.1, 5.0.2, 5.1.0, 5.1.1, 5.1.2]\n";
    files.graph_data(
        "write_newer_graph_data",
        &[(super::FILES[3].0, &leak), ("channels/stable-5.1.yaml", stable)],
    );
    std::fs::remove_file(files.path().join("write_newer_graph_data/blocked-edges/5.1.1.yaml"))
        .unwrap();
}

#[test]
fn diff_of_graph_data() {
    let files = GraphFiles::new();
    write_newer_graph_data(&files);
    let printed = [
        files.run(&["diff", "graph-data", "write_newer_graph_data"]),
        files.run(&[
            "diff",
            "graph-data",
            "write_newer_graph_data",
            "--channel=stable-5.1",
            GRAPH[0],
        ]),
        files.run(&["diff", "graph-data", "graph-data", "--exit-code"]),
    ];
    insta::assert_snapshot!(printed.join("\n"), @"
    exit code: 0
    ----- stdout -----
    ~ blocked-edges/5.1.0-LeakyProxy.yaml
        from: 5[.]0[.].* => 5[.]0[.]1[+].*
    - blocked-edges/5.1.1.yaml: removes updates to 5.1.1 from 5[.]0[.]1[+].*
    + stable-5.1: 5.1.2

    exit code: 0
    ----- stdout -----
    changes in graph-data:
    ~ blocked-edges/5.1.0-LeakyProxy.yaml
        from: 5[.]0[.].* => 5[.]0[.]1[+].*
    - blocked-edges/5.1.1.yaml: removes updates to 5.1.1 from 5[.]0[.]1[+].*
    + stable-5.1: 5.1.2

    changes in the graph:
    + 5.1.2
    5.0.2 -> 5.1.0: LeakyProxy => recommended
    5.0.1 -> 5.1.1: not there => recommended
    5.1.1 -> 5.1.2: not there => recommended

    exit code: 0
    ----- stdout -----
    no difference
    ");
    let document =
        files.json(&["diff", "graph-data", "write_newer_graph_data", GRAPH[0], "-o", "json"]);
    assert_eq!(document["kind"], "GraphDifference");
    let changed = files.run(&["diff", "graph-data", "write_newer_graph_data", "--exit-code"]);
    assert!(changed.starts_with("exit code: 3\n"), "{changed}");
}

#[test]
fn diff_of_graphs() {
    let files = GraphFiles::new();
    write_newer_graph_data(&files);
    for (file, data) in [("old.json", "graph-data"), ("new.json", "write_newer_graph_data")] {
        let graph = files.json(&["build", GRAPH[0], "--graph-data", data]);
        files.write(file, &graph.to_string());
    }
    let printed = files.run(&["diff", "old.json", "new.json", "--exit-code"]);
    insta::assert_snapshot!(printed, @"
    exit code: 3
    ----- stdout -----
    ~ 5.1.2
    5.0.2 -> 5.1.0: LeakyProxy => recommended
    5.0.1 -> 5.1.1: not there => recommended
    ");
    insta::assert_snapshot!(files.run(&["diff", "old.json", "write_newer_graph_data"]), @"
    exit code: 1
    ----- stderr -----
    error: cannot compare old.json with write_newer_graph_data
    hint: specify two graph-data directories, or two files with graphs
    ");
}
