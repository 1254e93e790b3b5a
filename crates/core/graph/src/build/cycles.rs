//! Updates that lead in a circle. Nobody can say what a cluster should do about them, so the
//! circle is cut where it leads back to an earlier version.

use crate::graph::{Graph, NodeId, Parts};
use crate::problem::Problem;

/// Cuts every circle.
pub(super) fn cut(graph: Graph, problems: &mut Vec<Problem>) -> Graph {
    // Nodes are in the order of their versions: without a step back there is no circle.
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
    problems: &mut Vec<Problem>,
) {
    let name = |id: NodeId| graph.node(id).version.to_string();
    let mut circles: Vec<usize> = Vec::new();
    for edge in graph.edges().iter().filter(|edge| leads_back(edge.from, edge.to)) {
        if !circles.contains(&components[edge.from.index()]) {
            circles.push(components[edge.from.index()]);
        }
    }
    for circle in circles {
        let within = |id: NodeId| components[id.index()] == circle;
        let cut = graph
            .edges()
            .iter()
            .filter(|edge| within(edge.from) && leads_back(edge.from, edge.to))
            .map(|edge| (name(edge.from), name(edge.to)));
        problems.push(Problem::Cycle {
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

/// For every node a number that it shares with those that it reaches and that reach it, found as
/// Tarjan did, with a stack of our own instead of recursion.
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
    /// When a node was first visited.
    order: Vec<Option<usize>>,
    /// The earliest visited node that it leads back to.
    lowest: Vec<usize>,
    /// The node whose number its component has.
    component: Vec<Option<usize>>,
    /// Visited nodes whose component is not known yet.
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
