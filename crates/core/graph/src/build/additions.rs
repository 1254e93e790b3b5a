//! Edges that metadata adds: `previous.add` and `next.add`.

use super::references::references;
use crate::graph::{Edge, Graph, NodeId, Parts, key};
use crate::problem::Problem;
use crate::risk::RiskSetId;

/// Adds them. What names a version that does not exist adds nothing.
pub(super) fn apply(graph: Graph, problems: &mut Vec<Problem>) -> Graph {
    let mut added = Vec::new();
    for (id, node) in graph.node_ids() {
        for from in references(&graph, node, key::PREVIOUS_ADD, problems) {
            added.push((from, id));
        }
        for to in references(&graph, node, key::NEXT_ADD, problems) {
            added.push((id, to));
        }
    }
    added.retain(|(from, to)| graph.edge(*from, *to).is_none());
    if added.is_empty() {
        return graph;
    }
    let mut parts = Parts::from(graph);
    let edge = |(from, to): (NodeId, NodeId)| Edge { from, to, risks: RiskSetId::NONE };
    parts.edges.extend(added.into_iter().map(edge));
    parts.assemble()
}
