//! Putting a graph together from parts in any order, and taking it apart.

use fairway_api::UnknownFields;

use super::{Edge, Graph, Node, NodeId};
use crate::risk::{RiskSetId, RiskSets};

/// Nodes and edges in any order; no two nodes have the same version and architecture. An edge
/// names its ends by their places in `nodes`, and may occur several times.
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

    /// The graph of these parts.
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

/// The nodes in order, and where each one went.
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
