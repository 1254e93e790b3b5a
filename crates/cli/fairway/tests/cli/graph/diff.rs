//! `fairway graph diff`

use super::{Desk, GRAPH};

/// Graph-data in which the leak concerns fewer updates, and one update is back.
fn newer(desk: &Desk) {
    let leak = super::FILES[3].1.replace("5[.]0[.].*", "5[.]0[.]1[+].*");
    let stable = "name: stable-5.1\nversions: [5.0.1, 5.0.2, 5.1.0, 5.1.1, 5.1.2]\n";
    desk.graph_data("newer", &[(super::FILES[3].0, &leak), ("channels/stable-5.1.yaml", stable)]);
    std::fs::remove_file(desk.path().join("newer/blocked-edges/5.1.1.yaml")).unwrap();
}

#[test]
fn two_states_of_graph_data() {
    let desk = Desk::new();
    newer(&desk);
    let said = [
        desk.run(&["diff", "graph-data", "newer"]),
        desk.run(&["diff", "graph-data", "newer", "--channel=stable-5.1", GRAPH[0]]),
        desk.run(&["diff", "graph-data", "graph-data", "--exit-code"]),
    ];
    insta::assert_snapshot!(said.join("\n"), @"
    exit code: 0
    ----- stdout -----
    ~ blocked-edges/5.1.0-LeakyProxy.yaml
        from: 5[.]0[.].* => 5[.]0[.]1[+].*
    - blocked-edges/5.1.1.yaml: removes updates to 5.1.1 from 5[.]0[.]1[+].*
    + stable-5.1: 5.1.2

    exit code: 0
    ----- stdout -----
    changes of graph-data:
    ~ blocked-edges/5.1.0-LeakyProxy.yaml
        from: 5[.]0[.].* => 5[.]0[.]1[+].*
    - blocked-edges/5.1.1.yaml: removes updates to 5.1.1 from 5[.]0[.]1[+].*
    + stable-5.1: 5.1.2

    changes of the graph:
    + 5.1.2
    5.0.2 -> 5.1.0: LeakyProxy => recommended
    5.0.1 -> 5.1.1: not there => recommended
    5.1.1 -> 5.1.2: not there => recommended

    exit code: 0
    ----- stdout -----
    no difference
    ");
    let document = desk.json(&["diff", "graph-data", "newer", GRAPH[0], "-o", "json"]);
    assert_eq!(document["kind"], "GraphDifference");
    insta::assert_snapshot!(desk.run(&["diff", "graph-data", "newer", "-o", "yaml", "--exit-code"]), @r#"
    exit code: 3
    ----- stdout -----
    apiVersion: fairway.dev/v1alpha1
    kind: GraphDifference
    graphData:
      blocks:
        blocked-edges/5.1.0-LeakyProxy.yaml:
          old:
            to: "5.1.0"
            from: 5[.]0[.].*
            risk:
              url: https://bugs.example.com/1
              name: LeakyProxy
              message: On clusters with a proxy, the gateway loses connections.
              matchingRules:
              - type: PromQL
                promql:
                  promql: |
                    max(gateway_uses_proxy)
                    or
                    0 * group(gateway_info)
          new:
            to: "5.1.0"
            from: 5[.]0[.]1[+].*
            risk:
              url: https://bugs.example.com/1
              name: LeakyProxy
              message: On clusters with a proxy, the gateway loses connections.
              matchingRules:
              - type: PromQL
                promql:
                  promql: |
                    max(gateway_uses_proxy)
                    or
                    0 * group(gateway_info)
        blocked-edges/5.1.1.yaml:
          old:
            to: "5.1.1"
            from: 5[.]0[.]1[+].*
      channels:
        stable-5.1:
          added:
          - "5.1.2"
          removed: []
    "#);
}

#[test]
fn two_graphs() {
    let desk = Desk::new();
    newer(&desk);
    for (file, data) in [("old.json", "graph-data"), ("new.json", "newer")] {
        let graph = desk.json(&["build", GRAPH[0], "--graph-data", data]);
        desk.write(file, &graph.to_string());
    }
    let said = desk.run(&["diff", "old.json", "new.json", "--exit-code"]);
    insta::assert_snapshot!(said, @"
    exit code: 3
    ----- stdout -----
    ~ 5.1.2
    5.0.2 -> 5.1.0: LeakyProxy => recommended
    5.0.1 -> 5.1.1: not there => recommended
    ");
    insta::assert_snapshot!(desk.run(&["diff", "old.json", "newer"]), @"
    exit code: 1
    ----- stderr -----
    error: cannot compare old.json with newer
    hint: specify two graph-data directories, or two files with graphs
    ");
}
