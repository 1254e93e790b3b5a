//! Layout of a drawing: a row for each minor version, and columns so that no update leads to the
//! left.

use fairway_api::Version;

use crate::graph::{Graph, NodeId};

/// Rows and columns of all nodes.
pub(super) struct Layout {
    /// Rows, from the earliest to the latest minor version.
    pub(super) rows: Vec<Row>,
    /// Row and column of every node.
    positions: Vec<(usize, usize)>,
    /// Number of columns.
    pub(super) columns: usize,
}

/// The releases of one minor version and architecture.
pub(super) struct Row {
    /// Name, such as `5.1`.
    pub(super) name: String,
    /// Releases of the row.
    pub(super) nodes: Vec<NodeId>,
}

impl Layout {
    pub(super) fn new(graph: &Graph) -> Self {
        let mut layout = Self { rows: Vec::new(), positions: Vec::new(), columns: 0 };
        let incoming = graph.incoming();
        for (id, node) in graph.node_ids() {
            let row = layout.row(name(&node.version));
            let in_lane = layout.rows[row].nodes.last().map(|last| layout.position(*last).1 + 1);
            let earlier = incoming[id.index()].iter().filter(|from| **from < id);
            let column =
                earlier.map(|from| layout.position(*from).1).chain(in_lane).max().unwrap_or(0);
            layout.rows[row].nodes.push(id);
            layout.positions.push((row, column));
            layout.columns = layout.columns.max(column + 1);
        }
        layout
    }

    /// Row and column of a node.
    pub(super) fn position(&self, id: NodeId) -> (usize, usize) {
        self.positions[id.index()]
    }

    fn row(&mut self, name: String) -> usize {
        if let Some(known) = self.rows.iter().position(|row| row.name == name) {
            return known;
        }
        self.rows.push(Row { name, nodes: Vec::new() });
        self.rows.len() - 1
    }
}

fn name(version: &Version) -> String {
    match version.build() {
        "" => version.stream(),
        architecture => format!("{} {architecture}", version.stream()),
    }
}
