//! Removal of cycles. No update of a cycle is clearly wrong, so the edges to earlier versions are
//! removed.

use crate::graph::{Graph, NodeId, Parts};
use crate::problem::GraphProblem;

/// Removes the edges that close a cycle.
pub(super) fn cut(graph: Graph, problems: &mut Vec<GraphProblem>) -> Graph {
    // Nodes are ordered by version: without an edge to an earlier node there is no cycle.
    if graph.edges().iter().all(|edge| edge.from < edge.to) {
        return graph;
    }
    let components = components(&graph);
    let leads_back =
        |from: NodeId, to: NodeId| from >= to && components[from.index()] == components[to.index()];
    report(&graph, &components, leads_back, problems);
    let mut parts = Parts::from(graph);
    parts.edges.retain(|edge| !leads_back(edge.from, edge.to));
    parts.assemble()
}

fn report(
    graph: &Graph,
    components: &[usize],
    leads_back: impl Fn(NodeId, NodeId) -> bool,
    problems: &mut Vec<GraphProblem>,
) {
    let name = |id: NodeId| graph.node(id).version.to_string();
    let mut cycles: Vec<usize> = Vec::new();
    for edge in graph.edges().iter().filter(|edge| leads_back(edge.from, edge.to)) {
        if !cycles.contains(&components[edge.from.index()]) {
            cycles.push(components[edge.from.index()]);
        }
    }
    for cycle in cycles {
        let within = |id: NodeId| components[id.index()] == cycle;
        let cut = graph
            .edges()
            .iter()
            .filter(|edge| within(edge.from) && leads_back(edge.from, edge.to))
            .map(|edge| (name(edge.from), name(edge.to)));
        problems.push(GraphProblem::Cycle {
            versions: graph
                .node_ids()
                .map(|(id, _)| id)
                .filter(|id| within(*id))
                .map(name)
                .collect(),
            cut: cut.collect(),
        });
    }
}

/// The strongly connected component of every node, by Tarjan's algorithm. It uses an explicit
/// stack, because the depth of the graph depends on its input.
fn components(graph: &Graph) -> Vec<usize> {
    let count = graph.nodes().len();
    let mut search = Search {
        graph,
        order: vec![None; count],
        lowest: vec![0; count],
        component: vec![None; count],
        open: Vec::new(),
        visited: 0,
    };
    for (id, _) in graph.node_ids() {
        if search.order[id.index()].is_none() {
            search.from(id);
        }
    }
    search.component.into_iter().map(Option::unwrap_or_default).collect()
}

struct Search<'a> {
    graph: &'a Graph,
    /// Visit number of each node.
    order: Vec<Option<usize>>,
    /// Lowest visit number that is reachable from each node.
    lowest: Vec<usize>,
    /// Root of the component of each node.
    component: Vec<Option<usize>>,
    /// Visited nodes without a component.
    open: Vec<usize>,
    visited: usize,
}

impl Search<'_> {
    fn from(&mut self, start: NodeId) {
        let mut path = vec![(start, 0)];
        self.visit(start);
        while let Some((id, next)) = path.last_mut() {
            let (id, edges) = (*id, self.graph.edges_from(*id));
            if let Some(edge) = edges.get(*next) {
                *next += 1;
                let to = edge.to.index();
                match self.order[to] {
                    None => {
                        self.visit(edge.to);
                        path.push((edge.to, 0));
                    }
                    Some(order) if self.component[to].is_none() => {
                        self.lowest[id.index()] = self.lowest[id.index()].min(order);
                    }
                    Some(_) => {}
                }
                continue;
            }
            path.pop();
            self.leave(id);
            if let Some((parent, _)) = path.last() {
                self.lowest[parent.index()] =
                    self.lowest[parent.index()].min(self.lowest[id.index()]);
            }
        }
    }

    fn visit(&mut self, id: NodeId) {
        self.order[id.index()] = Some(self.visited);
        self.lowest[id.index()] = self.visited;
        self.visited += 1;
        self.open.push(id.index());
    }

    fn leave(&mut self, id: NodeId) {
        let root = id.index();
        if self.order[root] != Some(self.lowest[root]) {
            return;
        }
        while let Some(member) = self.open.pop() {
            self.component[member] = Some(root);
            if member == root {
                break;
            }
        }
    }
}
