//! Graphs made of other graphs, and of what a cluster lists.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Edge, Graph, Node, NodeId, Parts};
use crate::risk::{Risk, RiskSetId};

impl Graph {
    /// What several graphs say together, such as the answers for several channels. An update has
    /// the risks that any of them gives it, and a release is the first that has its version.
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

    /// A version, and the updates that begin there.
    pub fn around(here: &Node, updates: impl IntoIterator<Item = (Node, Vec<Arc<Risk>>)>) -> Self {
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
