//! A whole platform: thousands of releases, and all that its maintainers say about them.

use std::collections::BTreeSet;

use fairway_graph::Scope;
use fairway_graph::question::{Path, channels, latest, paths};
use fairway_graph::wire::{self, View};

use crate::support::platform;

#[test]
fn nothing_is_wrong_with_it() {
    let Some((data, graph)) = platform() else { return };
    assert_eq!(data.findings, []);
    assert!(data.blocks.len() > 1_000 && data.channels.len() > 50);
    let conditional = graph.edges().iter().filter(|edge| edge.is_conditional()).count();
    let recommended = graph.edges().len() - conditional;
    assert!(recommended > 100_000 && conditional > 50_000);
}

#[test]
fn every_answer_is_strict() {
    let Some((_, graph)) = platform() else { return };
    let view = View::architecture(graph, "arm64");
    for channel in view.channels() {
        let answer = view.channel_json(channel);
        let (read, problems) = wire::read(channel, &answer).unwrap();
        assert_eq!(problems, [], "{channel}");
        assert!(View::whole(&read).json() == answer, "{channel}");
        let scope = Scope { architecture: Some("arm64"), channel: Some(channel) };
        assert!(View::whole(&graph.within(scope)).json() == answer, "{channel}");
    }
    assert!(view.channels().count() > 30);
}

#[test]
fn an_unknown_channel_and_an_unknown_architecture_are_empty() {
    let Some((_, graph)) = platform() else { return };
    let empty = br#"{"version":1,"nodes":[],"edges":[],"conditionalEdges":[]}"#;
    assert_eq!(View::architecture(graph, "amd64").channel_json("stable-9.9"), empty);
    assert_eq!(View::architecture(graph, "4").channel_json("stable-4.18"), empty);
}

#[test]
fn people_get_from_an_old_release_to_the_latest() {
    let Some((_, graph)) = platform() else { return };
    let scope = Scope { architecture: Some("amd64"), channel: Some("stable-4.18") };
    let channel = graph.within(scope);
    let last = latest(&channel, Scope::default()).unwrap();
    let (first, last) = (&channel.nodes()[0].version, &channel.node(last).version);
    let paths = paths(&channel, first, last).unwrap();
    let risks = |path: &Path| path.hops.iter().map(|step| step.risks.len()).sum::<usize>();
    assert!(risks(&paths.least_risk) <= risks(&paths.fewest_hops));
    assert!(paths.fewest_hops.hops.len() <= paths.least_risk.hops.len());
    assert!(channels(graph, last).is_superset(&BTreeSet::from(["stable-4.18"])));
}
