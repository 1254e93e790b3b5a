//! How releases and updates look, in every kind of picture.

use crate::graph::{Graph, NodeId};

/// Recommended to everybody. The colours are told apart by people who see few of them.
pub(super) const RECOMMENDED: &str = "#0072b2";

/// Recommended to some.
pub(super) const CONDITIONAL: &str = "#d55e00";

/// Not to be reached.
pub(super) const CLOSED: &str = "#767676";

/// What is special about a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// At least one update leads to it for everybody, or none is needed: it is the first.
    Open,
    /// All updates that lead to it have risks.
    Conditional,
    /// No update leads to it.
    Closed,
}

/// The standing of every release.
pub(super) fn standings(graph: &Graph) -> Vec<Standing> {
    let mut standings = vec![Standing::Closed; graph.nodes().len()];
    if let Some(first) = standings.first_mut() {
        *first = Standing::Open;
    }
    for edge in graph.edges() {
        let standing = &mut standings[edge.to.index()];
        if !edge.is_conditional() {
            *standing = Standing::Open;
        } else if *standing == Standing::Closed {
            *standing = Standing::Conditional;
        }
    }
    standings
}

/// Whether every way out of a release has risks.
pub(super) fn is_stranded(graph: &Graph, id: NodeId) -> bool {
    let edges = graph.edges_from(id);
    !edges.is_empty() && edges.iter().all(|edge| edge.is_conditional())
}
