//! The cheapest ways through a graph, whatever a step costs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::graph::{Edge, Graph, NodeId};

/// What a step or a way costs: what comes first matters most.
pub type Cost<const N: usize> = [usize; N];

/// The cheapest ways from one version to all others.
#[derive(Clone, Debug)]
pub struct Cheapest<const N: usize> {
    /// For every node that can be reached, what that costs and the last step.
    best: Vec<Option<(Cost<N>, Option<Edge>)>>,
}

impl<const N: usize> Cheapest<N> {
    /// Finds them as Dijkstra did. `cost` says what a step costs, or that it cannot be taken; no
    /// step is free. Of ways that cost the same, the one through later versions is taken.
    pub fn find(
        graph: &Graph,
        start: NodeId,
        mut cost: impl FnMut(Edge) -> Option<Cost<N>>,
    ) -> Self {
        let mut best: Vec<Option<(Cost<N>, Option<Edge>)>> = vec![None; graph.nodes().len()];
        best[start.index()] = Some(([0; N], None));
        let mut open = BinaryHeap::from([(Reverse([0; N]), start)]);
        while let Some((Reverse(spent), node)) = open.pop() {
            if best[node.index()].is_none_or(|(known, _)| known < spent) {
                continue;
            }
            for edge in graph.edges_from(node) {
                let Some(step) = cost(*edge) else { continue };
                let total = sum(spent, step);
                let known = &mut best[edge.to.index()];
                let better = known.is_none_or(|(known, by)| {
                    total < known || total == known && by.is_some_and(|by| by.from < node)
                });
                if better {
                    *known = Some((total, Some(*edge)));
                    open.push((Reverse(total), edge.to));
                }
            }
        }
        Self { best }
    }

    /// What it costs to get to a node; none where no way leads there.
    pub fn cost(&self, node: NodeId) -> Option<Cost<N>> {
        self.best[node.index()].map(|(cost, _)| cost)
    }

    /// The steps of the way to a node, in order.
    pub fn way(&self, node: NodeId) -> Option<Vec<Edge>> {
        self.best[node.index()]?;
        let mut steps = Vec::new();
        let mut here = node;
        while let Some((_, Some(edge))) = self.best[here.index()] {
            steps.push(edge);
            here = edge.from;
        }
        steps.reverse();
        Some(steps)
    }
}

fn sum<const N: usize>(one: Cost<N>, other: Cost<N>) -> Cost<N> {
    std::array::from_fn(|place| one[place].saturating_add(other[place]))
}
