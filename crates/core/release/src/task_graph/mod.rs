//! Rollout order of the manifests of a release.
//!
//! A graph is built in two steps. Jobs split the list: each waits for everything before it, and
//! everything after it waits for the Job. Then the tasks between Jobs are parallelised, as far as
//! the [`RolloutMode`] allows. The rules are those of the Go operator (`lib/payload/task_graph.go`).

mod buckets;
mod execution;
mod render;
mod steps;

use std::fmt;

use serde::Serialize;

use self::buckets::{Bucket, Group};
pub use self::execution::{GraphExecution, PendingNodes};
pub use self::steps::{ComponentTasks, RolloutStep};
use crate::manifest::{Manifest, ManifestFileName, ObjectId};

/// Purpose of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RolloutMode {
    /// New cluster: everything in parallel, since most components wait for others by themselves.
    Initializing,
    /// Update: level by level.
    Updating,
    /// Reconciliation of the running release: any order, low parallelism.
    Reconciling {
        /// Attempts since the last success.
        attempt: usize,
    },
}

impl RolloutMode {
    /// Maximum number of nodes that run in parallel.
    pub fn max_parallel(self, graph: &TaskGraph) -> usize {
        match self {
            Self::Initializing => graph.nodes.len(),
            // An API server handles as many without delaying other clients.
            Self::Updating => 16,
            // Reconciliation is not urgent, and leaves capacity for other clients.
            Self::Reconciling { .. } => 2,
        }
    }
}

/// A node of the graph: tasks that run one after the other, and their dependencies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskNode {
    /// The tasks in order; empty for a node that only joins others.
    pub tasks: Vec<Task>,
    /// Nodes that must complete before.
    pub after: Vec<usize>,
    /// Nodes that depend on this one.
    pub before: Vec<usize>,
}

/// A manifest to apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Index in the list of manifests.
    pub position: usize,
    /// Number of manifests.
    pub total: usize,
    /// Name of its file.
    pub file: String,
    /// The object.
    #[serde(flatten)]
    pub id: ObjectId,
    /// Whether it is a Job, which waits for all tasks before it and blocks all tasks after it.
    pub is_barrier: bool,
}

impl Task {
    fn new(position: usize, total: usize, manifest: &Manifest) -> Self {
        let Manifest { file, id, version, .. } = manifest;
        let kind = (id.group.as_str(), version.as_str(), id.kind.as_str());
        let is_barrier = kind == ("batch", "v1", "Job");
        Self { position, total, file: file.clone(), id: id.clone(), is_barrier }
    }

    /// Level and component in the file name, if any.
    fn file_name(&self) -> Option<ManifestFileName<'_>> {
        ManifestFileName::parse(&self.file)
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} of {})", self.id, self.position + 1, self.total)
    }
}

/// The rollout order: an acyclic graph of nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskGraph {
    nodes: Vec<TaskNode>,
}

impl TaskGraph {
    /// Orders manifests.
    pub fn new<'a>(manifests: impl IntoIterator<Item = &'a Manifest>, mode: RolloutMode) -> Self {
        let manifests: Vec<&Manifest> = manifests.into_iter().collect();
        let total = manifests.len();
        let tasks = manifests
            .into_iter()
            .enumerate()
            .map(|(position, manifest)| Task::new(position, total, manifest));
        let mut graph =
            Self { nodes: vec![TaskNode { tasks: tasks.collect(), ..TaskNode::default() }] };
        graph.split_at_jobs();
        graph.parallelize(mode);
        graph
    }

    /// The nodes. Dependencies are indexes into this list.
    pub fn nodes(&self) -> &[TaskNode] {
        &self.nodes
    }

    fn split_at_jobs(&mut self) {
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
        self.nodes.push(TaskNode { tasks, after, before: vec![index] });
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
        self.nodes.push(TaskNode { tasks, after: vec![index], before });
    }

    fn parallelize(&mut self, mode: RolloutMode) {
        for index in 0..self.nodes.len() {
            let buckets = buckets::buckets(&self.nodes[index].tasks, mode);
            let stays_as_it_is = match buckets.as_slice() {
                [] => true,
                [bucket] => bucket.len() <= 1,
                _ => false,
            };
            if !stays_as_it_is {
                self.replace_with_buckets(index, buckets);
            }
        }
    }

    /// Replaces a node by buckets. The node stays as their empty start.
    fn replace_with_buckets(&mut self, index: usize, buckets: Vec<Bucket>) {
        self.nodes[index].tasks.clear();
        let before = std::mem::take(&mut self.nodes[index].before);
        let mut ends = vec![index];
        for bucket in buckets {
            // An empty node between two parallel buckets reduces M × N edges to M + N.
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

    /// Adds a node for each group, all with the same dependencies.
    fn append(&mut self, bucket: Bucket, after: &[usize]) -> Vec<usize> {
        let first = self.nodes.len();
        let nodes = bucket.into_iter().map(|tasks| TaskNode {
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
