//! One way through a task graph: which node may be worked on now.

use std::collections::BTreeSet;
use std::fmt;

use super::{Task, TaskGraph};

/// One way through a task graph. It does nothing by itself: it says what may be begun, and is told
/// what became of it.
#[derive(Clone, Debug)]
pub struct Round<'a> {
    graph: &'a TaskGraph,
    most_at_once: usize,
    /// How many nodes each one still waits for.
    waits_for: Vec<usize>,
    ready: BTreeSet<usize>,
    running: BTreeSet<usize>,
    unreached: BTreeSet<usize>,
    is_cancelled: bool,
}

/// What was never begun, because something before it failed or because the round was ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreached {
    /// The nodes.
    pub nodes: usize,
    /// The first of their tasks.
    pub first: Task,
}

impl fmt::Display for Unreached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nodes, first } = self;
        write!(f, "{nodes} groups of manifests are pending, starting with {first}")
    }
}

impl<'a> Round<'a> {
    /// Begins a round, in which at most that many nodes are worked on at once, and at least one.
    pub fn new(graph: &'a TaskGraph, most_at_once: usize) -> Self {
        let nodes = graph.nodes();
        let mut round = Self {
            graph,
            most_at_once: most_at_once.max(1),
            waits_for: nodes.iter().map(|node| node.after.len()).collect(),
            ready: BTreeSet::new(),
            running: BTreeSet::new(),
            unreached: (0..nodes.len()).collect(),
            is_cancelled: false,
        };
        let roots = (0..nodes.len()).filter(|index| nodes[*index].after.is_empty());
        round.make_ready(roots.collect());
        round
    }

    /// The next node to work on, if there is one now: the first of those that wait for nothing.
    pub fn start(&mut self) -> Option<usize> {
        if self.is_cancelled || self.running.len() >= self.most_at_once {
            return None;
        }
        let node = self.ready.pop_first()?;
        self.unreached.remove(&node);
        self.running.insert(node);
        Some(node)
    }

    /// Every task of a node is done: what waited for it may begin.
    pub fn succeeded(&mut self, node: usize) {
        if self.running.remove(&node) {
            let freed = self.free_those_behind(node);
            self.make_ready(freed);
        }
    }

    /// A task of a node failed: what waits for it is never begun, all else goes on.
    pub fn failed(&mut self, node: usize) {
        self.running.remove(&node);
    }

    /// Nothing more is begun.
    pub fn cancel(&mut self) {
        self.is_cancelled = true;
    }

    /// Whether nothing is being worked on, and nothing can be begun.
    pub fn is_over(&self) -> bool {
        self.running.is_empty() && (self.is_cancelled || self.ready.is_empty())
    }

    /// What has not been begun.
    pub fn unreached(&self) -> Option<Unreached> {
        let tasks = |node: &usize| self.graph.nodes()[*node].tasks.first();
        let first = self.unreached.iter().find_map(tasks)?.clone();
        Some(Unreached { nodes: self.unreached.len(), first })
    }

    /// Nodes without tasks are done as soon as they are ready.
    fn make_ready(&mut self, mut nodes: Vec<usize>) {
        while let Some(node) = nodes.pop() {
            if self.graph.nodes()[node].tasks.is_empty() {
                self.unreached.remove(&node);
                nodes.extend(self.free_those_behind(node));
            } else {
                self.ready.insert(node);
            }
        }
    }

    fn free_those_behind(&mut self, node: usize) -> Vec<usize> {
        let mut freed = Vec::new();
        for next in &self.graph.nodes()[node].before {
            self.waits_for[*next] -= 1;
            if self.waits_for[*next] == 0 {
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
    use crate::task_graph::Node;

    fn task(position: usize, name: &str) -> Task {
        let id = ObjectId { kind: "Test".to_owned(), name: name.to_owned(), ..ObjectId::default() };
        Task { position, total: 9, file: name.to_owned(), id, is_barrier: false }
    }

    /// A graph of nodes with one task each, or none, and what they wait for.
    fn graph(nodes: &[(&str, &[usize])]) -> TaskGraph {
        let behind = |index| (0..nodes.len()).filter(move |other| nodes[*other].1.contains(&index));
        let node = |(index, (name, after)): (usize, &(&str, &[usize]))| Node {
            tasks: (!name.is_empty()).then(|| task(index, name)).into_iter().collect(),
            after: after.to_vec(),
            before: behind(index).collect(),
        };
        TaskGraph { nodes: nodes.iter().enumerate().map(node).collect() }
    }

    /// Begins all that can be begun.
    fn started(round: &mut Round<'_>) -> Vec<usize> {
        std::iter::from_fn(|| round.start()).collect()
    }

    #[test]
    fn the_first_that_waits_for_nothing_begins_and_no_more_than_allowed() {
        let graph = graph(&[("c", &[3]), ("d", &[3]), ("f", &[3]), ("a", &[]), ("g", &[2])]);
        let mut round = Round::new(&graph, 2);
        assert_eq!(started(&mut round), [3]);
        round.succeeded(3);
        assert_eq!(started(&mut round), [0, 1]);
        round.succeeded(1);
        assert_eq!(started(&mut round), [2]);
        round.succeeded(2);
        assert_eq!(started(&mut round), [4]);
        round.succeeded(0);
        assert!(!round.is_over());
        round.succeeded(4);
        assert!(round.is_over());
        assert_eq!(round.unreached(), None);
    }

    #[test]
    fn a_failure_stops_only_what_waits_for_it() {
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
        let mut round = Round::new(&graph, 2);
        let mut done = Vec::new();
        while let Some(node) = round.start() {
            if [2, 8].contains(&node) {
                round.failed(node);
            } else {
                done.push(node);
                round.succeeded(node);
            }
        }
        assert_eq!(done, [0, 1, 4, 5, 6]);
        assert!(round.is_over());
        insta::assert_snapshot!(round.unreached().unwrap(), @r#"2 groups of manifests are pending, starting with test "c2" (4 of 9)"#);
    }

    #[test]
    fn nothing_begins_after_the_end() {
        let graph = graph(&[("a", &[]), ("b", &[]), ("c", &[0])]);
        let mut round = Round::new(&graph, 1);
        assert_eq!(started(&mut round), [0]);
        round.cancel();
        assert!(!round.is_over());
        round.succeeded(0);
        assert_eq!(round.start(), None);
        assert!(round.is_over());
        insta::assert_snapshot!(round.unreached().unwrap(), @r#"2 groups of manifests are pending, starting with test "b" (2 of 9)"#);
    }

    #[test]
    fn nodes_without_tasks_take_no_turn() {
        let graph = graph(&[("", &[]), ("", &[0]), ("a", &[1]), ("", &[2]), ("", &[3, 0])]);
        let mut round = Round::new(&graph, 0);
        assert_eq!(started(&mut round), [2]);
        round.succeeded(2);
        assert!(round.is_over());
        assert_eq!(round.unreached(), None);
    }

    #[test]
    fn what_was_not_begun_cannot_end() {
        let graph = graph(&[("a", &[]), ("b", &[0])]);
        let mut round = Round::new(&graph, 1);
        round.succeeded(0);
        round.succeeded(7);
        assert_eq!(started(&mut round), [0]);
        round.succeeded(0);
        round.succeeded(0);
        assert_eq!(started(&mut round), [1]);
    }
}
