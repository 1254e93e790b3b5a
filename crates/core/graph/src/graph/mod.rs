//! The update graph: releases, and the updates that lead from one to another.

mod assemble;
mod combine;
mod node;
mod scope;

pub(crate) use assemble::Parts;
pub use node::{Node, Release, key};
pub use scope::Scope;
pub(crate) use scope::{with_architecture, without_architecture};

use std::collections::BTreeSet;
use std::sync::Arc;

use fairway_api::{UnknownFields, Version};

use crate::risk::{Risk, RiskSetId, RiskSets};

/// A node of a [`Graph`]: its place in the order of versions, then architectures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    /// Its place among the nodes.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("inputs are limited to fewer nodes"))
    }
}

/// An update that leads from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// Where it begins.
    pub from: NodeId,
    /// Where it leads.
    pub to: NodeId,
    /// Its risks: without any, it is recommended for all clusters.
    pub risks: RiskSetId,
}

impl Edge {
    /// Whether it is recommended only where its risks do not apply.
    pub fn is_conditional(self) -> bool {
        self.risks != RiskSetId::NONE
    }
}

/// An update graph.
///
/// By construction an edge occurs once, with all its risks, and both its ends exist. Everything is
/// in order: the same content is the same graph, and gives the same bytes.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    /// For every node, where its edges begin in `edges`, and where the last one's end.
    starts: Vec<usize>,
    pub(crate) risk_sets: RiskSets,
    pub(crate) unknown: UnknownFields,
}

impl Graph {
    /// The nodes, ordered by version and architecture.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The nodes with their identities.
    pub fn node_ids(&self) -> impl DoubleEndedIterator<Item = (NodeId, &Node)> + Clone {
        self.nodes.iter().enumerate().map(|(index, node)| (NodeId::from_index(index), node))
    }

    /// One node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The architectures that have a release.
    pub fn architectures(&self) -> BTreeSet<&str> {
        self.nodes.iter().flat_map(Node::architectures).collect()
    }

    /// The versions that releases name, and of which there is no release.
    pub fn without_release(&self) -> impl Iterator<Item = &Version> {
        self.nodes.iter().filter(|node| node.release.is_none()).map(|node| &node.version)
    }

    /// All edges, ordered by where they begin, then by where they lead.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The edges that begin at a node.
    pub fn edges_from(&self, from: NodeId) -> &[Edge] {
        &self.edges[self.starts[from.index()]..self.starts[from.index() + 1]]
    }

    /// The edge between two nodes.
    pub fn edge(&self, from: NodeId, to: NodeId) -> Option<Edge> {
        let edges = self.edges_from(from);
        edges.binary_search_by_key(&to, |edge| edge.to).ok().map(|index| edges[index])
    }

    /// The risks of an edge, ordered by name.
    pub fn risks(&self, edge: Edge) -> impl ExactSizeIterator<Item = &Arc<Risk>> {
        self.risk_sets.risks(edge.risks)
    }

    /// The nodes of a version: those of all its architectures, or of the one that it names.
    pub fn find(&self, version: &Version) -> impl Iterator<Item = NodeId> {
        of_version(&self.nodes, version).into_iter().map(NodeId::from_index)
    }
}

/// The places of a version among nodes in order: those of all its architectures, or of the one
/// that it names.
pub(crate) fn of_version(nodes: &[Node], version: &Version) -> Vec<usize> {
    let start = nodes.partition_point(|node| node.version < *version);
    let same = nodes[start..].partition_point(|node| node.version == *version);
    let concerned =
        |index: &usize| version.build().is_empty() || nodes[*index].is_of(version.build());
    (start..start + same).filter(concerned).collect()
}
