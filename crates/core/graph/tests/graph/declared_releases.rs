//! Declared releases, and edges that metadata adds and removes.

use fairway_graph::build::build;
use fairway_graph::graph::key;
use fairway_graph::{GraphData, releases};

use crate::support::{data, declare, edges, lines, release};

#[test]
fn declare_adds_edges_from_previous_and_to_next() {
    let mut last = release("4.7.4", "amd64", &["4.7.3"]);
    last.release_metadata.next = vec![fairway_api::Version::new(4, 7, 5)];
    let graph = declare(vec![last, release("4.7.3", "amd64", &[]), release("4.7.3", "arm64", &[])]);
    let nodes: Vec<String> = graph
        .nodes()
        .iter()
        .map(|node| format!("{} {}", node.version, node.release.is_some()))
        .collect();
    insta::assert_snapshot!(lines(&nodes), @"
    4.7.3+amd64 true
    4.7.3+arm64 true
    4.7.4+amd64 true
    4.7.5+amd64 false
    ");
    assert_eq!(
        graph.without_release().map(ToString::to_string).collect::<Vec<_>>(),
        ["4.7.5+amd64"]
    );
    assert_eq!(graph.architectures().into_iter().collect::<Vec<_>>(), ["amd64", "arm64"]);
    insta::assert_snapshot!(edges(&graph), @"
    4.7.3+amd64 4.7.4+amd64
    4.7.4+amd64 4.7.5+amd64
    ");
}

#[test]
fn declare_omits_invalid_and_duplicate_releases() {
    let list = br#"[
        {"image": "r@sha256:1", "arch": "amd64", "release-metadata": {"kind": "cincinnati-metadata-v0", "version": "4.7.3"}},
        {"image": "r@sha256:2", "arch": "amd64", "release-metadata": {"kind": "cincinnati-metadata-v0", "version": "4.7.4", "previous": ["4.7.3"]}},
        {"image": "r@sha256:3", "arch": "amd64", "release-metadata": {"kind": "cincinnati-metadata-v0", "version": "4.7.4"}},
        {"image": "r@sha256:1", "arch": "amd64", "release-metadata": {"kind": "cincinnati-metadata-v0", "version": "4.7.3"}},
        {"image": "r@sha256:4", "arch": "arm64", "release-metadata": {"kind": "cincinnati-metadata-v0", "version": "4.7.4", "metadata": {"release.openshift.io/architecture": "multi"}}},
        {"image": "r@sha256:5", "arch": "amd64", "release-metadata": {"kind": "cincinnati-metadata-v0", "version": "4.7"}},
        {"image": "r@sha256:6", "arch": "amd64"}
    ]"#;
    let (releases, mut problems) = releases::read("list.json", list).unwrap();
    let (graph, more) = releases::declare(releases);
    problems.extend(more);
    insta::assert_snapshot!(lines(&problems), @r#"
    list.json[5] omitted: "4.7" is not a semantic version: unexpected end of input while parsing minor version number at line 1 column 113
    list.json[6] omitted: missing field `release-metadata` at line 1 column 40
    4.7.4+amd64 omitted: several images have this version: r@sha256:2 and r@sha256:3
    "#);
    assert_eq!(graph.nodes().len(), 1);
    insta::assert_snapshot!(releases::read("list.json", b"[{},\n]").unwrap_err(), @"list.json: trailing comma at line 2 column 1");
}

#[test]
fn metadata_removal_wins_over_addition() {
    let chain = || {
        vec![
            release("4.1.0", "amd64", &[]),
            release("4.1.1", "amd64", &["4.1.0"]),
            release("4.1.2", "amd64", &["4.1.1"]),
            release("4.1.3", "amd64", &["4.1.2"]),
        ]
    };
    let remaining_edges = |raw: &str| {
        let (graph, problems) = build(declare(chain()), &data([("raw/metadata.json", raw)]));
        let edges = edges(&graph).replace("+amd64", "");
        [lines(&problems), edges].join("\n").trim().to_owned()
    };
    let metadata = |version: &str, key: &str, value: &str| {
        format!(r#"{{"{version}": {{"{key}": "{value}"}}}}"#)
    };
    let results = [
        metadata("4.1.3", key::PREVIOUS_ADD, "4.1.0, 4.1.1,9.9.9,x"),
        metadata("4.1.0", key::NEXT_ADD, "4.1.3"),
        metadata("4.1.3", key::PREVIOUS_REMOVE, "*"),
        metadata("4.1.3", key::PREVIOUS_REMOVE, "4.1.2"),
        metadata("4.1.3", key::PREVIOUS_REMOVE_REGEX, "4[.]1[.]2"),
        metadata("4.1.3", key::PREVIOUS_REMOVE_REGEX, "4.(1"),
        metadata("4.1.0", key::NEXT_REMOVE, "4.1.1"),
        format!(
            r#"{{"4.1.3": {{"{}": "4.1.0", "{}": "4.1.0"}}}}"#,
            key::PREVIOUS_ADD,
            key::PREVIOUS_REMOVE
        ),
    ]
    .map(|raw| remaining_edges(&raw));
    insta::assert_snapshot!(results.join("\n\n"), @r#"
    4.1.3+amd64: io.openshift.upgrades.graph.previous.add contains 9.9.9, which does not exist
    4.1.3+amd64: io.openshift.upgrades.graph.previous.add contains "x", which is not a version
    4.1.0 4.1.1
    4.1.0 4.1.3
    4.1.1 4.1.2
    4.1.1 4.1.3
    4.1.2 4.1.3

    4.1.0 4.1.1
    4.1.0 4.1.3
    4.1.1 4.1.2
    4.1.2 4.1.3

    4.1.0 4.1.1
    4.1.1 4.1.2

    4.1.0 4.1.1
    4.1.1 4.1.2

    4.1.0 4.1.1
    4.1.1 4.1.2

    removed all updates to 4.1.3+amd64: cannot parse io.openshift.upgrades.graph.previous.remove_regex: unclosed group
    4.1.0 4.1.1
    4.1.1 4.1.2

    4.1.1 4.1.2
    4.1.2 4.1.3

    4.1.0 4.1.1
    4.1.1 4.1.2
    4.1.2 4.1.3
    "#);
}

#[test]
fn cycles_are_cut_at_edges_to_earlier_versions() {
    let (graph, problems) = build(
        declare(vec![
            release("4.7.3", "amd64", &["4.7.5", "4.7.2"]),
            release("4.7.4", "amd64", &["4.7.3"]),
            release("4.7.5", "amd64", &["4.7.4", "4.7.5"]),
            release("4.6.0", "amd64", &["4.7.5"]),
        ]),
        &GraphData::default(),
    );
    insta::assert_snapshot!(lines(&problems), @"cycle of updates through 4.7.3+amd64, 4.7.4+amd64, 4.7.5+amd64; omitted: 4.7.5+amd64 to 4.7.3+amd64, 4.7.5+amd64 to 4.7.5+amd64");
    insta::assert_snapshot!(edges(&graph), @"
    4.7.2+amd64 4.7.3+amd64
    4.7.3+amd64 4.7.4+amd64
    4.7.4+amd64 4.7.5+amd64
    4.7.5+amd64 4.6.0+amd64
    ");
}

#[test]
fn channels_are_sorted_by_stream_and_metadata_is_appended() {
    let mut own = release("4.7.4", "amd64", &[]);
    own.release_metadata.metadata.insert("url".to_owned(), "https://errata.example/1".to_owned());
    let data = data([
        ("channels/1.yaml", "name: stable-4.8\nversions: [4.7.4]\n"),
        ("channels/2.yaml", "name: fast-4.7\nversions: [4.7.4+amd64]\n"),
        ("channels/3.yaml", "name: nightly\nversions: [4.7.4]\n"),
        ("channels/4.yaml", "name: stable-4.10\nversions: [4.7.4]\n"),
        ("channels/5.yaml", "name: arm-only\nversions: [4.7.4+arm64]\n"),
        ("raw/metadata.json", r#"{"4.7.4": {"url": "https://errata.example/2", "note": "new"}}"#),
    ]);
    let (graph, _) = build(declare(vec![own]), &data);
    let metadata = &graph.nodes()[0].release.as_ref().unwrap().metadata;
    insta::assert_snapshot!(serde_json::to_string(metadata).unwrap(), @r#"{"io.openshift.upgrades.graph.release.arch":"amd64","io.openshift.upgrades.graph.release.channels":"nightly,stable-4.10,fast-4.7,stable-4.8","io.openshift.upgrades.graph.release.manifestref":"sha256:4.7.4-amd64","note":"new","url":"https://errata.example/1,https://errata.example/2"}"#);
}
