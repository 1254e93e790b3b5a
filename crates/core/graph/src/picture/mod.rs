//! Pictures of a graph: for browsers, for Graphviz, and for terminals.
//!
//! Nearly every release leads to all later ones, so a picture of every update shows nothing.
//! Drawn are the [`essential`] ones: those around which no other updates lead.

mod dot;
mod essential;
mod layout;
mod style;
mod svg;
mod text;

pub use dot::dot;
pub use essential::essential;
pub use svg::svg;
pub use text::text;

use std::fmt;

use crate::graph::Graph;

/// What a graph has in it, in one line.
struct Summary {
    releases: usize,
    recommended: usize,
    conditional: usize,
}

impl Summary {
    fn of(graph: &Graph) -> Self {
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
