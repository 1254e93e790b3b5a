//! The updates around which no other updates lead.

use crate::graph::{Edge, Graph};

/// The essential updates among all of them, and those that are essential among the recommended
/// ones: with these, every way that there is can be seen, and every way without risks.
pub fn essential(graph: &Graph) -> Vec<Edge> {
    let mut edges = reduced(graph, |_| true);
    edges.extend(reduced(graph, |edge| !edge.is_conditional()));
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// The edges among some that are not the same as several of the others in a row. Steps back to an
/// earlier version are always among them.
fn reduced(graph: &Graph, counts: impl Fn(Edge) -> bool) -> Vec<Edge> {
    let count = graph.nodes().len();
    let mut reached = vec![Set::new(0); count];
    let mut kept = Vec::new();
    // Nodes are in the order of their versions: what a node leads to is known before the node.
    for (from, _) in graph.node_ids().rev() {
        let mut reach = Set::new(count);
        for edge in graph.edges_from(from).iter().filter(|edge| counts(**edge)) {
            let to = edge.to.index();
            if edge.to <= from {
                kept.push(*edge);
            } else if !reach.contains(to) {
                kept.push(*edge);
                reach.insert(to);
                reach.extend(&reached[to]);
            }
        }
        reached[from.index()] = reach;
    }
    kept
}

/// A set of small numbers.
#[derive(Clone)]
struct Set(Vec<u64>);

impl Set {
    fn new(size: usize) -> Self {
        Self(vec![0; size.div_ceil(64)])
    }

    fn contains(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 == 1
    }

    fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    fn extend(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine |= theirs;
        }
    }
}
