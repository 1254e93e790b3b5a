//! `fairway graph build`.

use super::{GRAPH, GraphFiles};

#[test]
fn build_for_channel_prints_the_response_of_an_update_service() {
    let files = GraphFiles::new();
    let printed = files.query(&["build", "--channel=stable-5.1", "--arch=amd64"]);
    insta::assert_snapshot!(printed, @r#"
    exit code: 0
    ----- stdout -----
    {"version":1,"nodes":[{"version":"5.0.1","payload":"registry.example.com/release@sha256:5.0.1-amd64","metadata":{"io.openshift.upgrades.graph.release.channels":"fast-5.1,stable-5.1","io.openshift.upgrades.graph.release.manifestref":"sha256:5.0.1-amd64"}},{"version":"5.0.2","payload":"registry.example.com/release@sha256:5.0.2-amd64","metadata":{"io.openshift.upgrades.graph.release.channels":"fast-5.1,stable-5.1","io.openshift.upgrades.graph.release.manifestref":"sha256:5.0.2-amd64"}},{"version":"5.1.0","payload":"registry.example.com/release@sha256:5.1.0-amd64","metadata":{"io.openshift.upgrades.graph.release.channels":"fast-5.1,stable-5.1","io.openshift.upgrades.graph.release.manifestref":"sha256:5.1.0-amd64"}},{"version":"5.1.1","payload":"registry.example.com/release@sha256:5.1.1-amd64","metadata":{"io.openshift.upgrades.graph.release.channels":"fast-5.1,stable-5.1","io.openshift.upgrades.graph.release.manifestref":"sha256:5.1.1-amd64"}}],"edges":[[0,1],[2,3]],"conditionalEdges":[{"edges":[{"from":"5.0.1","to":"5.1.0"},{"from":"5.0.2","to":"5.1.0"}],"risks":[{"url":"https://bugs.example.com/1","name":"LeakyProxy","message":"On clusters with a proxy, the gateway loses connections.","matchingRules":[{"type":"PromQL","promql":{"promql":"max(gateway_uses_proxy)\nor\n0 * group(gateway_info)\n"}}]}]}]}
    "#);
}

#[test]
fn build_without_channel_prints_everything() {
    let files = GraphFiles::new();
    let graph = files.json(&[&["build", "-o", "json"][..], &GRAPH].concat());
    let nodes = graph["nodes"].as_array().unwrap().iter();
    let versions: Vec<&str> = nodes.map(|node| node["version"].as_str().unwrap()).collect();
    assert_eq!(
        versions,
        [
            "5.0.1+amd64",
            "5.0.2+amd64",
            "5.0.9+amd64",
            "5.1.0+amd64",
            "5.1.1+amd64",
            "5.1.1+arm64",
            "5.1.2+amd64"
        ]
    );
}

#[test]
fn build_from_graph_accepts_additional_graph_data() {
    let files = GraphFiles::new();
    let raw = files.json(&["build", "--releases=releases.json"]);
    files.write("raw.json", &raw.to_string());
    assert_eq!(files.json(&["build", "--from-graph=raw.json"]), raw);
    let built = files.json(&["build", "--from-graph=raw.json", "--graph-data=graph-data"]);
    assert_eq!(built, files.json(&[&["build"][..], &GRAPH].concat()));
}
