//! A task graph as a sequence of rollout steps. Components of a step are applied in parallel.

use serde::Serialize;

use super::{Task, TaskGraph, TaskNode};

/// Manifests of one component on one level, applied one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComponentTasks {
    /// The level, as the file names have it; `None` for files without one.
    pub level: Option<String>,
    /// The component, or the file name for files without one.
    pub component: String,
    /// The number of manifests.
    pub manifests: usize,
    /// Whether it is a Job, which everything after it waits for.
    pub is_barrier: bool,
}

/// Components whose manifests are applied in parallel. Steps are applied one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RolloutStep {
    /// The components, in the order of their manifests.
    pub components: Vec<ComponentTasks>,
}

impl TaskGraph {
    /// The steps of the graph. A component is in the first step in which nothing that it waits for
    /// is left.
    pub fn steps(&self) -> Vec<RolloutStep> {
        let mut steps: Vec<RolloutStep> = Vec::new();
        let mut ends = vec![0; self.nodes().len()];
        for index in self.in_order() {
            let node = &self.nodes()[index];
            let mut step = node.after.iter().map(|other| ends[*other]).max().unwrap_or_default();
            for component in components(node) {
                if steps.len() <= step {
                    steps.resize_with(step + 1, RolloutStep::default);
                }
                steps[step].components.push(component);
                step += 1;
            }
            ends[index] = step;
        }
        steps
    }

    /// The nodes in an order in which each comes after those that it waits for. Nodes are never in a
    /// cycle, so none is left out.
    fn in_order(&self) -> Vec<usize> {
        let mut waiting: Vec<usize> = self.nodes().iter().map(|node| node.after.len()).collect();
        let ready = waiting.iter().enumerate().filter(|(_, count)| **count == 0);
        let mut order: Vec<usize> = ready.map(|(index, _)| index).collect();
        let mut next = 0;
        while let Some(index) = order.get(next).copied() {
            next += 1;
            for other in &self.nodes()[index].before {
                waiting[*other] -= 1;
                if waiting[*other] == 0 {
                    order.push(*other);
                }
            }
        }
        order
    }
}

/// The tasks of a node by level and component.
fn components(node: &TaskNode) -> impl Iterator<Item = ComponentTasks> {
    let is_same = |one: &Task, next: &Task| {
        one.file_name().is_some()
            && one.file_name() == next.file_name()
            && !one.is_barrier
            && !next.is_barrier
    };
    node.tasks.chunk_by(is_same).filter_map(|tasks| {
        let first = tasks.first()?;
        let name = first.file_name();
        Some(ComponentTasks {
            level: name.map(|name| name.level.to_owned()),
            component: name.map_or_else(|| first.file.clone(), |name| name.component.to_owned()),
            manifests: tasks.len(),
            is_barrier: first.is_barrier,
        })
    })
}
