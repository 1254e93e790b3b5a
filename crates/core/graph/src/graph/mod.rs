//! The update graph: releases and the updates between them.

mod node;
mod scope;

pub(crate) use scope::{with_architecture, without_architecture};

pub(crate) use node::ARCHITECTURES;
pub use node::{Node, Release, key};
pub use scope::Scope;

use std::collections::BTreeSet;
use std::sync::Arc;

use fairway_api::{UnknownFields, Version};

use crate::risk::{Risk, RiskSetId, RiskSets};

/// ID of a node: its index in the order of versions and architectures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    /// Index of the node.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("inputs are limited to fewer nodes"))
    }
}

/// An update between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// Source node.
    pub from: NodeId,
    /// Target node.
    pub to: NodeId,
    /// Risks of the update. Without risks, it is recommended to all clusters.
    pub risks: RiskSetId,
}

impl Edge {
    /// Whether the update has risks.
    pub fn is_conditional(self) -> bool {
        self.risks != RiskSetId::NONE
    }
}

/// An update graph.
///
/// Nodes and edges are sorted and unique, and an edge has all its risks. So equal content
/// serializes to equal bytes.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    /// For every node, the index of its first edge in `edges`; the last entry is the number of
    /// edges.
    starts: Vec<usize>,
    pub(crate) risk_sets: RiskSets,
    pub(crate) unknown: UnknownFields,
}

impl Graph {
    /// The nodes, sorted by version and architecture.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The nodes with their IDs.
    pub fn node_ids(&self) -> impl DoubleEndedIterator<Item = (NodeId, &Node)> + Clone {
        self.nodes.iter().enumerate().map(|(index, node)| (NodeId::from_index(index), node))
    }

    /// The node with an ID.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Architectures of all releases.
    pub fn architectures(&self) -> BTreeSet<&str> {
        self.nodes.iter().flat_map(Node::architectures).collect()
    }

    /// Versions that releases reference, but that have no release.
    pub fn without_release(&self) -> impl Iterator<Item = &Version> {
        self.nodes.iter().filter(|node| node.release.is_none()).map(|node| &node.version)
    }

    /// All edges, sorted by source and target.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The edges from a node.
    pub fn edges_from(&self, from: NodeId) -> &[Edge] {
        &self.edges[self.starts[from.index()]..self.starts[from.index() + 1]]
    }

    /// For every node, the sources of the edges to it.
    pub(crate) fn incoming(&self) -> Vec<Vec<NodeId>> {
        let mut incoming = vec![Vec::new(); self.nodes.len()];
        for edge in &self.edges {
            incoming[edge.to.index()].push(edge.from);
        }
        incoming
    }

    /// The edge between two nodes.
    pub fn edge(&self, from: NodeId, to: NodeId) -> Option<Edge> {
        let edges = self.edges_from(from);
        edges.binary_search_by_key(&to, |edge| edge.to).ok().map(|index| edges[index])
    }

    /// The risks of an edge, sorted by name.
    pub fn risks(&self, edge: Edge) -> impl ExactSizeIterator<Item = &Arc<Risk>> {
        self.risk_sets.risks(edge.risks)
    }

    /// The nodes with a version, for all architectures unless it names one.
    pub fn find(&self, version: &Version) -> impl Iterator<Item = NodeId> {
        indexes_of_version(&self.nodes, version).into_iter().map(NodeId::from_index)
    }
}

/// Indexes of the nodes with a version, for all architectures unless it names one. `nodes` must be
/// sorted.
pub(crate) fn indexes_of_version(nodes: &[Node], version: &Version) -> Vec<usize> {
    let start = nodes.partition_point(|node| node.version < *version);
    let same = nodes[start..].partition_point(|node| node.version == *version);
    let concerned = |index: &usize| {
        version.build().is_empty() || nodes[*index].has_architecture(version.build())
    };
    (start..start + same).filter(concerned).collect()
}

/// Nodes and edges of a graph in any order.
///
/// Every version and architecture occurs once. Edges reference nodes by their index, and may occur
/// several times.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) risk_sets: RiskSets,
    pub(crate) unknown: UnknownFields,
}

impl Parts {
    /// Adds an edge without risks.
    pub(crate) fn connect(&mut self, from: usize, to: usize) {
        let (from, to) = (NodeId::from_index(from), NodeId::from_index(to));
        self.edges.push(Edge { from, to, risks: RiskSetId::NONE });
    }

    /// Sorts nodes and edges, and merges the risks of equal edges.
    pub(crate) fn assemble(mut self) -> Graph {
        let (nodes, places) = in_order(self.nodes);
        for edge in &mut self.edges {
            (edge.from, edge.to) = (places[edge.from.index()], places[edge.to.index()]);
        }
        self.edges.sort_unstable();
        self.edges.dedup_by(|again, kept| {
            let same = (again.from, again.to) == (kept.from, kept.to);
            if same {
                kept.risks = self.risk_sets.union(kept.risks, again.risks);
            }
            same
        });
        let starts = starts(nodes.len(), &self.edges);
        let Self { edges, risk_sets, unknown, .. } = self;
        Graph { nodes, edges, starts, risk_sets, unknown }
    }
}

impl From<Graph> for Parts {
    fn from(graph: Graph) -> Self {
        let Graph { nodes, edges, risk_sets, unknown, starts: _ } = graph;
        Self { nodes, edges, risk_sets, unknown }
    }
}

/// The sorted nodes, and the new ID of every old index.
fn in_order(nodes: Vec<Node>) -> (Vec<Node>, Vec<NodeId>) {
    let mut numbered: Vec<(usize, Node)> = nodes.into_iter().enumerate().collect();
    numbered.sort_by(|(_, one), (_, other)| one.order(other));
    let mut places = vec![NodeId::from_index(0); numbered.len()];
    for (place, (number, _)) in numbered.iter().enumerate() {
        places[*number] = NodeId::from_index(place);
    }
    (numbered.into_iter().map(|(_, node)| node).collect(), places)
}

fn starts(nodes: usize, edges: &[Edge]) -> Vec<usize> {
    let mut starts = vec![0; nodes + 1];
    for edge in edges {
        starts[edge.from.index() + 1] += 1;
    }
    for index in 0..nodes {
        starts[index + 1] += starts[index];
    }
    starts
}
