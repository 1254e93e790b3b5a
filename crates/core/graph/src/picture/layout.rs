//! Where releases stand in a picture: one lane for each minor version, and in it one column after
//! the other, so that no update leads to the left.

use fairway_api::Version;

use crate::graph::{Graph, NodeId};

/// Where everything stands.
pub(super) struct Layout {
    /// The lanes, from the earliest minor version to the latest.
    pub(super) lanes: Vec<Lane>,
    /// The lane and the column of every node.
    places: Vec<(usize, usize)>,
    /// How many columns there are.
    pub(super) columns: usize,
}

/// The releases of one minor version, with architectures apart.
pub(super) struct Lane {
    /// What it is called, such as `5.1`.
    pub(super) name: String,
    /// Its releases.
    pub(super) nodes: Vec<NodeId>,
}

impl Layout {
    pub(super) fn new(graph: &Graph) -> Self {
        let mut layout = Self { lanes: Vec::new(), places: Vec::new(), columns: 0 };
        let incoming = incoming(graph);
        for (id, node) in graph.node_ids() {
            let lane = layout.lane(name(&node.version));
            let in_lane = layout.lanes[lane].nodes.last().map(|last| layout.place(*last).1 + 1);
            let earlier = incoming[id.index()].iter().filter(|from| **from < id);
            let column =
                earlier.map(|from| layout.place(*from).1).chain(in_lane).max().unwrap_or(0);
            layout.lanes[lane].nodes.push(id);
            layout.places.push((lane, column));
            layout.columns = layout.columns.max(column + 1);
        }
        layout
    }

    /// The lane and the column of a node.
    pub(super) fn place(&self, id: NodeId) -> (usize, usize) {
        self.places[id.index()]
    }

    fn lane(&mut self, name: String) -> usize {
        if let Some(known) = self.lanes.iter().position(|lane| lane.name == name) {
            return known;
        }
        self.lanes.push(Lane { name, nodes: Vec::new() });
        self.lanes.len() - 1
    }
}

fn name(version: &Version) -> String {
    match version.build() {
        "" => version.stream(),
        architecture => format!("{} {architecture}", version.stream()),
    }
}

/// For every node, where its updates come from.
pub(super) fn incoming(graph: &Graph) -> Vec<Vec<NodeId>> {
    let mut incoming = vec![Vec::new(); graph.nodes().len()];
    for edge in graph.edges() {
        incoming[edge.to.index()].push(edge.from);
    }
    incoming
}
