//! In which order the manifests of a release are applied, and which side by side.
//!
//! A graph is made in two steps. Jobs split the list: each waits for everything before it, and
//! everything behind waits for it. Then what is between them is put side by side, as far as the
//! [`Mode`] allows.

mod buckets;
mod picture;
mod round;
mod steps;
mod svg;
mod task;

use serde::Serialize;

use self::buckets::{Bucket, Group};
pub use self::round::{Round, Unreached};
pub use self::steps::{ComponentTasks, Step};
pub use self::task::Task;
use crate::manifest::Manifest;

/// What a release is applied for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A new cluster: everything at once, since most things wait for others by themselves.
    Initializing,
    /// Another release: level by level.
    Updating,
    /// The release that the cluster has: in any order, and not in a hurry.
    Reconciling {
        /// How often it was tried since it last went well.
        attempt: usize,
    },
}

impl Mode {
    /// How many nodes of a graph may be worked on at once.
    pub fn most_at_once(self, graph: &TaskGraph) -> usize {
        match self {
            Self::Initializing => graph.nodes.len(),
            // As many as an API server answers without making others wait.
            Self::Updating => 16,
            // Reconciling has time, and the cluster has other things to do.
            Self::Reconciling { .. } => 2,
        }
    }
}

/// Tasks that are done one after the other, and what they wait for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Node {
    /// The tasks, in order; none where a node only joins others.
    pub tasks: Vec<Task>,
    /// The nodes that have to be done before.
    pub after: Vec<usize>,
    /// The nodes that wait for it.
    pub before: Vec<usize>,
}

/// The order of tasks: nodes that wait for each other, never in a circle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskGraph {
    nodes: Vec<Node>,
}

impl TaskGraph {
    /// Puts manifests in order.
    pub fn new<'a>(manifests: impl IntoIterator<Item = &'a Manifest>, mode: Mode) -> Self {
        let manifests: Vec<&Manifest> = manifests.into_iter().collect();
        let total = manifests.len();
        let tasks = manifests
            .into_iter()
            .enumerate()
            .map(|(position, manifest)| Task::new(position, total, manifest));
        let mut graph = Self { nodes: vec![Node { tasks: tasks.collect(), ..Node::default() }] };
        graph.split_on_barriers();
        graph.put_side_by_side(mode);
        graph
    }

    /// The nodes. Others are named by their places in this list.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    fn split_on_barriers(&mut self) {
        let mut index = 0;
        while let Some(node) = self.nodes.get_mut(index) {
            if let Some(barrier) = node.tasks.iter().position(|task| task.is_barrier) {
                let behind = node.tasks.split_off(barrier + 1);
                let ahead: Group = node.tasks.drain(..barrier).collect();
                self.insert_ahead(index, ahead);
                self.insert_behind(index, behind);
            }
            index += 1;
        }
    }

    fn insert_ahead(&mut self, index: usize, tasks: Group) {
        if tasks.is_empty() {
            return;
        }
        let new = self.nodes.len();
        let after = std::mem::replace(&mut self.nodes[index].after, vec![new]);
        for other in &after {
            rename(&mut self.nodes[*other].before, index, new);
        }
        self.nodes.push(Node { tasks, after, before: vec![index] });
    }

    fn insert_behind(&mut self, index: usize, tasks: Group) {
        if tasks.is_empty() {
            return;
        }
        let new = self.nodes.len();
        let before = std::mem::replace(&mut self.nodes[index].before, vec![new]);
        for other in &before {
            rename(&mut self.nodes[*other].after, index, new);
        }
        self.nodes.push(Node { tasks, after: vec![index], before });
    }

    fn put_side_by_side(&mut self, mode: Mode) {
        for index in 0..self.nodes.len() {
            let buckets = buckets::buckets(&self.nodes[index].tasks, mode);
            let stays_as_it_is = match buckets.as_slice() {
                [] => true,
                [bucket] => bucket.len() <= 1,
                _ => false,
            };
            if !stays_as_it_is {
                self.replace_by(index, buckets);
            }
        }
    }

    /// Puts buckets in place of a node, which stays as the empty node where they begin.
    fn replace_by(&mut self, index: usize, buckets: Vec<Bucket>) {
        self.nodes[index].tasks.clear();
        let before = std::mem::take(&mut self.nodes[index].before);
        let mut ends = vec![index];
        for bucket in buckets {
            // An empty node between two wide buckets takes their edges: M + N instead of M × N.
            if ends.len() > 1 && bucket.len() > 1 {
                ends = self.append(vec![Group::new()], &ends);
            }
            ends = self.append(bucket, &ends);
        }
        if before.is_empty() {
            return;
        }
        for end in self.append(vec![Group::new()], &ends) {
            for other in &before {
                rename(&mut self.nodes[*other].after, index, end);
            }
            self.nodes[end].before.clone_from(&before);
        }
    }

    /// Adds a node for each group, all of them behind the same nodes.
    fn append(&mut self, bucket: Bucket, after: &[usize]) -> Vec<usize> {
        let first = self.nodes.len();
        let nodes = bucket.into_iter().map(|tasks| Node {
            tasks,
            after: after.to_vec(),
            before: Vec::new(),
        });
        self.nodes.extend(nodes);
        let added: Vec<usize> = (first..self.nodes.len()).collect();
        for index in after {
            self.nodes[*index].before.extend(&added);
        }
        added
    }
}

fn rename(nodes: &mut [usize], old: usize, new: usize) {
    for node in nodes.iter_mut().filter(|node| **node == old) {
        *node = new;
    }
}
