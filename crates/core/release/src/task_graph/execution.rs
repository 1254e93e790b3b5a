//! Execution of a task graph: which nodes can start now.

use std::collections::BTreeSet;
use std::fmt;

use super::{Task, TaskGraph};

/// Execution state of a task graph. It runs nothing by itself: it returns the nodes that can start,
/// and the caller reports their results.
#[derive(Clone, Debug)]
pub struct GraphExecution<'a> {
    graph: &'a TaskGraph,
    max_parallel: usize,
    /// Number of incomplete dependencies of each node.
    incomplete: Vec<usize>,
    ready: BTreeSet<usize>,
    running: BTreeSet<usize>,
    pending: BTreeSet<usize>,
    is_cancelled: bool,
}

/// Nodes that never started, because a dependency failed or the execution was cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingNodes {
    /// Number of nodes.
    pub nodes: usize,
    /// First task of these nodes.
    pub first: Task,
}

impl fmt::Display for PendingNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nodes, first } = self;
        write!(f, "{nodes} groups of manifests are pending, starting with {first}")
    }
}

impl<'a> GraphExecution<'a> {
    /// Starts an execution with at most that many parallel nodes, and at least one.
    pub fn new(graph: &'a TaskGraph, max_parallel: usize) -> Self {
        let nodes = graph.nodes();
        let mut execution = Self {
            graph,
            max_parallel: max_parallel.max(1),
            incomplete: nodes.iter().map(|node| node.after.len()).collect(),
            ready: BTreeSet::new(),
            running: BTreeSet::new(),
            pending: (0..nodes.len()).collect(),
            is_cancelled: false,
        };
        let roots = (0..nodes.len()).filter(|index| nodes[*index].after.is_empty());
        execution.mark_ready(roots.collect());
        execution
    }

    /// Starts the next node, if one can start now: the first without incomplete dependencies.
    pub fn start(&mut self) -> Option<usize> {
        if self.is_cancelled || self.running.len() >= self.max_parallel {
            return None;
        }
        let node = self.ready.pop_first()?;
        self.pending.remove(&node);
        self.running.insert(node);
        Some(node)
    }

    /// Records that all tasks of a node succeeded. Its dependents may start.
    pub fn succeeded(&mut self, node: usize) {
        if self.running.remove(&node) {
            let freed = self.release_dependents(node);
            self.mark_ready(freed);
        }
    }

    /// Records that a task of a node failed. Its dependents never start; other nodes continue.
    pub fn failed(&mut self, node: usize) {
        self.running.remove(&node);
    }

    /// Cancels the execution: no more nodes start.
    pub fn cancel(&mut self) {
        self.is_cancelled = true;
    }

    /// Whether no node runs and none can start.
    pub fn is_over(&self) -> bool {
        self.running.is_empty() && (self.is_cancelled || self.ready.is_empty())
    }

    /// The nodes that have not started.
    pub fn pending(&self) -> Option<PendingNodes> {
        let tasks = |node: &usize| self.graph.nodes()[*node].tasks.first();
        let first = self.pending.iter().find_map(tasks)?.clone();
        Some(PendingNodes { nodes: self.pending.len(), first })
    }

    /// Marks nodes as ready. Nodes without tasks complete at once.
    fn mark_ready(&mut self, mut nodes: Vec<usize>) {
        while let Some(node) = nodes.pop() {
            if self.graph.nodes()[node].tasks.is_empty() {
                self.pending.remove(&node);
                nodes.extend(self.release_dependents(node));
            } else {
                self.ready.insert(node);
            }
        }
    }

    fn release_dependents(&mut self, node: usize) -> Vec<usize> {
        let mut freed = Vec::new();
        for next in &self.graph.nodes()[node].before {
            self.incomplete[*next] -= 1;
            if self.incomplete[*next] == 0 {
                freed.push(*next);
            }
        }
        freed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::ObjectId;
    use crate::task_graph::TaskNode;

    fn task(position: usize, name: &str) -> Task {
        let id = ObjectId { kind: "Test".to_owned(), name: name.to_owned(), ..ObjectId::default() };
        Task { position, total: 9, file: name.to_owned(), id, is_barrier: false }
    }

    /// A graph of nodes with one task or none, and their dependencies.
    fn graph(nodes: &[(&str, &[usize])]) -> TaskGraph {
        let behind = |index| (0..nodes.len()).filter(move |other| nodes[*other].1.contains(&index));
        let node = |(index, (name, after)): (usize, &(&str, &[usize]))| TaskNode {
            tasks: (!name.is_empty()).then(|| task(index, name)).into_iter().collect(),
            after: after.to_vec(),
            before: behind(index).collect(),
        };
        TaskGraph { nodes: nodes.iter().enumerate().map(node).collect() }
    }

    /// Starts all nodes that can start.
    fn started(execution: &mut GraphExecution<'_>) -> Vec<usize> {
        std::iter::from_fn(|| execution.start()).collect()
    }

    #[test]
    fn start_respects_dependencies_and_parallelism() {
        let graph = graph(&[("c", &[3]), ("d", &[3]), ("f", &[3]), ("a", &[]), ("g", &[2])]);
        let mut execution = GraphExecution::new(&graph, 2);
        assert_eq!(started(&mut execution), [3]);
        execution.succeeded(3);
        assert_eq!(started(&mut execution), [0, 1]);
        execution.succeeded(1);
        assert_eq!(started(&mut execution), [2]);
        execution.succeeded(2);
        assert_eq!(started(&mut execution), [4]);
        execution.succeeded(0);
        assert!(!execution.is_over());
        execution.succeeded(4);
        assert!(execution.is_over());
        assert_eq!(execution.pending(), None);
    }

    #[test]
    fn failed_node_blocks_only_its_dependents() {
        let graph = graph(&[
            ("a", &[]),
            ("b", &[0]),
            ("c1", &[1]),
            ("c2", &[2]),
            ("d1", &[1]),
            ("d2", &[4]),
            ("d3", &[5]),
            ("e", &[3, 6]),
            ("f", &[1]),
        ]);
        let mut execution = GraphExecution::new(&graph, 2);
        let mut done = Vec::new();
        while let Some(node) = execution.start() {
            if [2, 8].contains(&node) {
                execution.failed(node);
            } else {
                done.push(node);
                execution.succeeded(node);
            }
        }
        assert_eq!(done, [0, 1, 4, 5, 6]);
        assert!(execution.is_over());
        insta::assert_snapshot!(execution.pending().unwrap(), @r#"2 groups of manifests are pending, starting with test "c2" (4 of 9)"#);
    }

    #[test]
    fn start_after_cancel_returns_none() {
        let graph = graph(&[("a", &[]), ("b", &[]), ("c", &[0])]);
        let mut execution = GraphExecution::new(&graph, 1);
        assert_eq!(started(&mut execution), [0]);
        execution.cancel();
        assert!(!execution.is_over());
        execution.succeeded(0);
        assert_eq!(execution.start(), None);
        assert!(execution.is_over());
        insta::assert_snapshot!(execution.pending().unwrap(), @r#"2 groups of manifests are pending, starting with test "b" (2 of 9)"#);
    }

    #[test]
    fn nodes_without_tasks_complete_at_once() {
        let graph = graph(&[("", &[]), ("", &[0]), ("a", &[1]), ("", &[2]), ("", &[3, 0])]);
        let mut execution = GraphExecution::new(&graph, 0);
        assert_eq!(started(&mut execution), [2]);
        execution.succeeded(2);
        assert!(execution.is_over());
        assert_eq!(execution.pending(), None);
    }

    #[test]
    fn succeeded_of_node_that_is_not_running_is_ignored() {
        let graph = graph(&[("a", &[]), ("b", &[0])]);
        let mut execution = GraphExecution::new(&graph, 1);
        execution.succeeded(0);
        execution.succeeded(7);
        assert_eq!(started(&mut execution), [0]);
        execution.succeeded(0);
        execution.succeeded(0);
        assert_eq!(started(&mut execution), [1]);
    }
}
