//! Subgraphs for an architecture and channel, and unions of graphs.

use std::collections::HashMap;
use std::sync::Arc;

use fairway_api::Version;

use super::{Edge, Graph, Node, NodeId, Parts, key};
use crate::risk::{Risk, RiskSetId};

/// Selects the part of a graph for some clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope<'a> {
    /// Architecture of the clusters; `None` selects all.
    pub architecture: Option<&'a str>,
    /// Channel of the clusters; `None` selects all.
    pub channel: Option<&'a str>,
}

impl Scope<'_> {
    /// Whether the scope contains a node. A node without a release has no channel and no
    /// architecture.
    pub fn contains(&self, node: &Node) -> bool {
        let of_architecture = |wanted| node.architectures().any(|known| known == wanted);
        let in_channel = |wanted| node.channels().any(|known| known == wanted);
        self.architecture.is_none_or(of_architecture) && self.channel.is_none_or(in_channel)
    }
}

impl Graph {
    /// The part of the graph in a scope. For one architecture, versions do not contain it.
    pub fn within(&self, scope: Scope<'_>) -> Self {
        let (risk_sets, unknown) = (self.risk_sets.clone(), self.unknown.clone());
        let mut parts = Parts { risk_sets, unknown, ..Parts::default() };
        let mut places: Vec<Option<NodeId>> = vec![None; self.nodes.len()];
        for (id, node) in self.node_ids().filter(|(_, node)| scope.contains(node)) {
            places[id.index()] = Some(NodeId::from_index(parts.nodes.len()));
            parts.nodes.push(match scope.architecture {
                Some(architecture) => for_architecture(node, architecture),
                None => node.clone(),
            });
        }
        parts.edges = self
            .edges
            .iter()
            .filter_map(|edge| {
                let (from, to) = (places[edge.from.index()]?, places[edge.to.index()]?);
                Some(Edge { from, to, risks: edge.risks })
            })
            .collect();
        parts.assemble()
    }
}

fn for_architecture(node: &Node, architecture: &str) -> Node {
    let mut node =
        Node { version: without_architecture(&node.version, architecture), ..node.clone() };
    if let Some(release) = &mut node.release {
        release.metadata.remove(key::ARCHITECTURE);
    }
    node
}

/// The version with an architecture as build metadata. An invalid architecture is ignored.
pub(crate) fn with_architecture(version: &Version, architecture: &str) -> Version {
    let version = version.without_build();
    Version::parse(&format!("{version}+{architecture}")).unwrap_or(version)
}

/// The version without an architecture in its build metadata.
pub(crate) fn without_architecture(version: &Version, architecture: &str) -> Version {
    let others: Vec<&str> =
        version.build().split_terminator('.').filter(|part| *part != architecture).collect();
    if others.is_empty() {
        return version.without_build();
    }
    with_architecture(version, &others.join("."))
}

impl Graph {
    /// Merges graphs, such as the responses for several channels. An update has the risks of all
    /// graphs, and a release is the first one with its version.
    pub fn union(graphs: impl IntoIterator<Item = Self>) -> Self {
        let mut parts = Parts::default();
        let mut places: HashMap<String, NodeId> = HashMap::new();
        for graph in graphs {
            let here: Vec<NodeId> =
                graph.nodes.iter().map(|node| place(&mut parts, &mut places, node)).collect();
            let mut sets: HashMap<RiskSetId, RiskSetId> = HashMap::new();
            for edge in &graph.edges {
                let risks = *sets.entry(edge.risks).or_insert_with(|| {
                    let risks: Vec<Arc<Risk>> = graph.risks(*edge).cloned().collect();
                    risk_set(&mut parts, &risks)
                });
                let (from, to) = (here[edge.from.index()], here[edge.to.index()]);
                parts.edges.push(Edge { from, to, risks });
            }
            parts.unknown.extend(graph.unknown);
        }
        parts.assemble()
    }

    /// The graph of one version and its updates, as a ClusterVersion lists them.
    pub fn from_updates(
        here: &Node,
        updates: impl IntoIterator<Item = (Node, Vec<Arc<Risk>>)>,
    ) -> Self {
        let mut parts = Parts::default();
        let mut places = HashMap::new();
        let from = place(&mut parts, &mut places, here);
        for (node, risks) in updates {
            let to = place(&mut parts, &mut places, &node);
            let risks = risk_set(&mut parts, &risks);
            parts.edges.push(Edge { from, to, risks });
        }
        parts.assemble()
    }
}

fn place(parts: &mut Parts, places: &mut HashMap<String, NodeId>, node: &Node) -> NodeId {
    *places.entry(node.version.to_string()).or_insert_with(|| {
        parts.nodes.push(node.clone());
        NodeId::from_index(parts.nodes.len() - 1)
    })
}

fn risk_set(parts: &mut Parts, risks: &[Arc<Risk>]) -> RiskSetId {
    let mut members = risks.iter().map(|risk| parts.risk_sets.risk(risk)).collect();
    parts.risk_sets.set(&mut members)
}
