//! Which channels a version is in, and which version a channel leads to.

use std::collections::BTreeSet;

use fairway_api::Version;

use crate::graph::{Graph, NodeId, Scope};

/// The channels of a version: of all its architectures, or of the one that it names.
pub fn channels<'a>(graph: &'a Graph, version: &Version) -> BTreeSet<&'a str> {
    graph.find(version).flat_map(|id| graph.node(id).channels()).collect()
}

/// The latest release that some clusters see.
pub fn latest(graph: &Graph, scope: Scope<'_>) -> Option<NodeId> {
    let mut releases = graph.node_ids().filter(|(_, node)| node.release.is_some());
    releases.rfind(|(_, node)| scope.shows(node)).map(|(id, _)| id)
}
