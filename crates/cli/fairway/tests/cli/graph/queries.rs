//! `fairway graph path`, `why`, `channels` and `latest`.

use super::{GRAPH, GraphFiles};

#[test]
fn path_between_two_versions() {
    let files = GraphFiles::new();
    let printed = [
        files.query(&["path", "5.0.1", "5.1.1", "--channel=stable-5.1"]),
        files.query(&["path", "5.0.1", "5.0.2"]),
        files.query(&["path", "5.1.1", "5.0.1"]),
    ];
    insta::assert_snapshot!(printed.join("\n"), @"
    exit code: 0
    ----- stdout -----
    best path: 2 steps, 1 risk
      5.0.1 -> 5.1.0  LeakyProxy
      5.1.0 -> 5.1.1

    LeakyProxy, depends on its PromQL query
      On clusters with a proxy, the gateway loses connections.
      https://bugs.example.com/1

    exit code: 0
    ----- stdout -----
    best path: 1 step, no risks
      5.0.1 -> 5.0.2

    exit code: 3
    ----- stdout -----
    no upgrade path from 5.1.1 to 5.0.1
    ");
}

#[test]
fn documents_of_queries() {
    let files = GraphFiles::new();
    for (question, kind) in [
        (&["path", "5.1.1", "5.0.1"][..], "GraphPaths"),
        (&["path", "5.0.2", "5.1.0"], "GraphPaths"),
        (&["why", "5.0.2", "5.1.0"], "GraphEdge"),
        (&["why", "5.0.1", "5.1.1"], "GraphEdge"),
        // The document of 0.1 had the key `version` twice here: of the envelope, and of the release.
        (&["why", "5.0.9", "5.1.2"], "GraphEdge"),
        (&["why", "5.1.1", "5.1.2", "--channel=stable-5.1"], "GraphEdge"),
        (&["channels", "5.1.0"], "GraphChannels"),
        (&["latest", "stable-5.1"], "GraphLatest"),
    ] {
        let answer = files.json(&[question, &GRAPH, &["-o", "json"]].concat());
        assert_eq!(answer["kind"], kind, "{question:?}");
    }
}

#[test]
fn why_names_the_reason_for_a_missing_update() {
    let files = GraphFiles::new();
    let printed = [
        files.query(&["why", "5.0.1", "5.0.2"]),
        files.query(&["why", "5.0.1", "5.1.0"]),
        files.query(&["why", "5.0.1", "5.1.1"]),
        files.query(&["why", "5.0.1", "5.1.2"]),
        files.query(&["why", "5.0.9", "5.1.2"]),
        files.query(&["why", "5.1.1", "5.1.2", "--channel=stable-5.1"]),
    ];
    insta::assert_snapshot!(printed.join("\n"), @"
    exit code: 0
    ----- stdout -----
    5.0.1+amd64 -> 5.0.2+amd64: recommended for all clusters

    exit code: 0
    ----- stdout -----
    5.0.1+amd64 -> 5.1.0+amd64: conditional: recommended if its risks do not apply
      blocked-edges/5.1.0-LeakyProxy.yaml:2:7: risk LeakyProxy for updates from 5[.]0[.].*

    exit code: 3
    ----- stdout -----
    5.0.1+amd64 -> 5.1.1+amd64: removed
      blocked-edges/5.1.1.yaml:2:7: removes updates from 5[.]0[.]1[+].*

    exit code: 3
    ----- stdout -----
    5.0.1+amd64 -> 5.1.2+amd64: no release declares this update

    exit code: 3
    ----- stdout -----
    5.0.9+amd64 -> 5.1.2+amd64: other releases reference 5.0.9+amd64, but it does not exist

    exit code: 3
    ----- stdout -----
    5.1.1+amd64 -> 5.1.2+amd64: 5.1.2+amd64 is not in stable-5.1; it is in fast-5.1
    ");
    insta::assert_snapshot!(files.query(&["why", "5.0.1", "5.1.1", "-o", "yaml"]), @"
    exit code: 3
    ----- stdout -----
    apiVersion: fairway.dev/v1alpha1
    kind: GraphEdge
    from: 5.0.1+amd64
    to: 5.1.1+amd64
    verdict: removed
    causes:
    - type: block
      file: blocked-edges/5.1.1.yaml
      line: 2
      column: 7
      pattern: 5[.]0[.]1[+].*
      risk: null
    ");
}

#[test]
fn channels_and_latest_list_releases() {
    let files = GraphFiles::new();
    let printed = [
        files.query(&["channels", "5.1.1"]),
        files.query(&["channels", "5.1.2", "-o", "yaml"]),
        files.query(&["latest", "stable-5.1"]),
        files.query(&["latest", "stable-5.1", "--arch=arm64", "-o", "yaml"]),
    ];
    insta::assert_snapshot!(printed.join("\n"), @r#"
    exit code: 0
    ----- stdout -----
    fast-5.1
    stable-5.1

    exit code: 0
    ----- stdout -----
    apiVersion: fairway.dev/v1alpha1
    kind: GraphChannels
    release: "5.1.2"
    channels:
    - fast-5.1

    exit code: 0
    ----- stdout -----
    5.1.1

    exit code: 0
    ----- stdout -----
    apiVersion: fairway.dev/v1alpha1
    kind: GraphLatest
    channel: stable-5.1
    release: "5.1.1"
    image: registry.example.com/release@sha256:5.1.1-arm64
    "#);
    let without = ["channels", "5.1.1", GRAPH[0]];
    insta::assert_snapshot!(files.run(&without), @"
    exit code: 0
    ----- stderr -----
    5.1.1 is in no channel
    ");
}
