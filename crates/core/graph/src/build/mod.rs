//! From what releases declare and what graph-data says to the graph that clusters get.
//!
//! The order matters: metadata and channels are written to the nodes, edges are added, circles are
//! cut, and only then is closed what is closed. So nothing that closes an edge can be undone by
//! what adds one.

mod additions;
mod annotate;
mod closures;
mod cycles;
mod references;

pub use closures::{Closure, Sources};

use crate::data::GraphData;
use crate::graph::{Graph, NodeId, Parts};
use crate::problem::Problem;
use closures::Closures;

/// A graph with everything that graph-data says about it, before edges are closed.
#[derive(Debug)]
pub struct Draft<'a> {
    graph: Graph,
    closures: Closures<'a>,
    problems: Vec<Problem>,
}

/// The graph that clusters get.
pub fn build(declared: Graph, data: &GraphData) -> (Graph, Vec<Problem>) {
    Draft::new(declared, data).finish()
}

impl<'a> Draft<'a> {
    /// Brings together what releases declare and what graph-data says.
    pub fn new(declared: Graph, data: &'a GraphData) -> Self {
        let mut problems = Vec::new();
        let mut parts = Parts::from(declared);
        annotate::raw_metadata(&mut parts.nodes, &data.raw);
        annotate::channels(&mut parts.nodes, &data.channels);
        let graph = additions::apply(parts.assemble(), &mut problems);
        let graph = cycles::cut(graph, &mut problems);
        let closures = Closures::new(&graph, data, &mut problems);
        Self { graph, closures, problems }
    }

    /// The graph in which nothing is closed yet.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// What is wrong so far.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// What closes an edge.
    pub fn closing(&self, from: NodeId, to: NodeId) -> impl Iterator<Item = &Closure<'a>> {
        self.closures.of(from, to)
    }

    /// Closes what is closed.
    pub fn finish(self) -> (Graph, Vec<Problem>) {
        let Self { graph, closures, mut problems } = self;
        let graph = closures.close(graph);
        problems.extend(graph.risk_sets.problems());
        (graph, problems)
    }
}
