//! OpenShift's graph-data with thousands of releases, from `FAIRWAY_DATA`.

use std::collections::BTreeSet;

use fairway_graph::Scope;
use fairway_graph::analysis::{UpgradePath, channels, latest, paths};
use fairway_graph::cincinnati::{self, GraphSerializer};

use crate::support::openshift_graph;

#[test]
fn openshift_graph_data_has_no_findings() {
    let Some((data, graph)) = openshift_graph() else { return };
    assert_eq!(data.findings, []);
    assert!(data.blocks.len() > 1_000 && data.channels.len() > 50);
    let conditional = graph.edges().iter().filter(|edge| edge.is_conditional()).count();
    let recommended = graph.edges().len() - conditional;
    assert!(recommended > 100_000 && conditional > 50_000);
}

#[test]
fn channel_responses_round_trip() {
    let Some((_, graph)) = openshift_graph() else { return };
    let view = GraphSerializer::architecture(graph, "arm64");
    for channel in view.channels() {
        let response = view.channel_json(channel);
        let (read, problems) = cincinnati::read(channel, &response).unwrap();
        assert_eq!(problems, [], "{channel}");
        assert!(GraphSerializer::whole(&read).json() == response, "{channel}");
        let scope = Scope { architecture: Some("arm64"), channel: Some(channel) };
        assert!(GraphSerializer::whole(&graph.within(scope)).json() == response, "{channel}");
    }
    assert!(view.channels().count() > 30);
}

#[test]
fn response_for_unknown_channel_or_architecture_is_empty() {
    let Some((_, graph)) = openshift_graph() else { return };
    let empty = br#"{"version":1,"nodes":[],"edges":[],"conditionalEdges":[]}"#;
    assert_eq!(GraphSerializer::architecture(graph, "amd64").channel_json("stable-9.9"), empty);
    assert_eq!(GraphSerializer::architecture(graph, "4").channel_json("stable-4.18"), empty);
}

#[test]
fn paths_from_oldest_to_latest_release_exist() {
    let Some((_, graph)) = openshift_graph() else { return };
    let scope = Scope { architecture: Some("amd64"), channel: Some("stable-4.18") };
    let channel = graph.within(scope);
    let last = latest(&channel, Scope::default()).unwrap();
    let (first, last) = (&channel.nodes()[0].version, &channel.node(last).version);
    let paths = paths(&channel, first, last).unwrap();
    let risks = |path: &UpgradePath| path.hops.iter().map(|step| step.risks.len()).sum::<usize>();
    assert!(risks(&paths.least_risk) <= risks(&paths.fewest_hops));
    assert!(paths.fewest_hops.hops.len() <= paths.least_risk.hops.len());
    assert!(channels(graph, last).is_superset(&BTreeSet::from(["stable-4.18"])));
}
