//! Drawings of a graph: SVG, Graphviz and text.
//!
//! Nearly every release has updates to all later ones, so a drawing of all edges is useless.
//! Drawings contain the [`essential`] updates: those that no path of other updates replaces.

mod layout;
mod svg;
mod text;

pub use svg::svg;
pub use text::{dot, text};

use std::fmt;

use crate::graph::{Edge, Graph, NodeId};

/// Numbers of releases and updates, in one line.
struct Summary {
    releases: usize,
    recommended: usize,
    conditional: usize,
}

impl Summary {
    fn new(graph: &Graph) -> Self {
        let conditional = graph.edges().iter().filter(|edge| edge.is_conditional()).count();
        let recommended = graph.edges().len() - conditional;
        Self { releases: graph.nodes().len(), recommended, conditional }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { releases, recommended, conditional } = self;
        write!(
            f,
            "releases: {releases}, recommended updates: {recommended}, conditional updates: {conditional}"
        )
    }
}

/// The transitive reduction of all updates, and that of the recommended updates. Together they show
/// every upgrade path, and every path without risks.
pub fn essential(graph: &Graph) -> Vec<Edge> {
    let mut edges = reduced(graph, |_| true);
    edges.extend(reduced(graph, |edge| !edge.is_conditional()));
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// The transitive reduction of the edges that `counts` selects. Edges to earlier versions are
/// always included.
fn reduced(graph: &Graph, counts: impl Fn(Edge) -> bool) -> Vec<Edge> {
    let count = graph.nodes().len();
    let mut reached = vec![NodeSet::new(0); count];
    let mut kept = Vec::new();
    // Nodes are sorted by version, so in reverse order the targets of a node are complete before
    // the node.
    for (from, _) in graph.node_ids().rev() {
        let mut reach = NodeSet::new(count);
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

/// A bit set of node indexes.
#[derive(Clone)]
struct NodeSet(Vec<u64>);

impl NodeSet {
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

/// Colour of recommended updates. The colours are safe for readers with colour vision deficiency.
pub(super) const RECOMMENDED_COLOUR: &str = "#0072b2";

/// Colour of conditional updates.
pub(super) const CONDITIONAL_COLOUR: &str = "#d55e00";

/// Colour of unreachable releases.
pub(super) const UNREACHABLE_COLOUR: &str = "#767676";

/// Whether updates lead to a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reachability {
    /// A recommended update leads to the release, or it is the first one.
    Recommended,
    /// Only conditional updates lead to the release.
    Conditional,
    /// No update leads to the release.
    Unreachable,
}

/// The reachability of every release.
pub(super) fn reachability(graph: &Graph) -> Vec<Reachability> {
    let mut reachability = vec![Reachability::Unreachable; graph.nodes().len()];
    if let Some(first) = reachability.first_mut() {
        *first = Reachability::Recommended;
    }
    for edge in graph.edges() {
        let reachability = &mut reachability[edge.to.index()];
        if !edge.is_conditional() {
            *reachability = Reachability::Recommended;
        } else if *reachability == Reachability::Unreachable {
            *reachability = Reachability::Conditional;
        }
    }
    reachability
}

/// Whether all updates from a release are conditional.
pub(super) fn is_stranded(graph: &Graph, id: NodeId) -> bool {
    let edges = graph.edges_from(id);
    !edges.is_empty() && edges.iter().all(|edge| edge.is_conditional())
}
