//! Whether the pods of each node find room on the others.

use std::collections::BTreeMap;

use fairway_findings::{Finding, Severity};
use k8s_openapi::api::core::v1::{Container, Node, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::ResourceExt as _;

use super::{is_ready, is_schedulable};
use crate::pods;
use crate::quantity::amount;

/// Less than that comes of adding fractions.
const DUST: f64 = 1e-6;

/// An amount of each resource that pods are placed by.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Room {
    cpu: f64,
    memory: f64,
}

/// What a node has, and what its pods take of it.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    has: Room,
    taken: Room,
    /// What of that has to move when the node is drained.
    moves: Room,
}

/// The nodes that take any pod, and how full they are.
pub(super) struct Rooms(BTreeMap<String, Use>);

impl Rooms {
    pub(super) fn of(nodes: &[Node]) -> Self {
        let open = nodes
            .iter()
            .filter(|node| is_ready(node) && is_schedulable(node) && !turns_pods_away(node));
        let room = |node: &Node| {
            let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
            let has = allocatable.map(Room::read).unwrap_or_default();
            (node.name_any(), Use { has, ..Use::default() })
        };
        Self(open.map(room).collect())
    }

    /// Counts a pod where it is.
    pub(super) fn add(&mut self, pod: &Pod) {
        let Some(spec) = pod.spec.as_ref().filter(|_| !pods::has_ended(pod)) else { return };
        let Some(node) = spec.node_name.as_ref().and_then(|name| self.0.get_mut(name)) else {
            return;
        };
        let asked = Room::asked_for(spec);
        node.taken = node.taken.plus(asked);
        if pods::is_drained(pod) {
            node.moves = node.moves.plus(asked);
        }
    }

    /// The node whose pods fit worst on the others, if they do not fit.
    pub(super) fn short(&self) -> Option<Finding> {
        if self.0.len() < 2 {
            return None;
        }
        let missing = self.0.iter().map(|(name, one)| (name, one.moves.minus(self.beside(name))));
        let short = missing.filter(|(_, missing)| *missing != Room::default());
        let (name, missing) = short.max_by(|(_, a), (_, b)| {
            (a.cpu, a.memory).partial_cmp(&(b.cpu, b.memory)).unwrap_or(std::cmp::Ordering::Equal)
        })?;
        Some(Finding {
            name: "NodesShortOfRoom".to_owned(),
            message: format!(
                "The pods of node {name} do not fit on the other nodes while it is drained. \
                 According to resource requests, the other nodes lack {}.",
                missing.told(),
            ),
            severity: Severity::Warning,
            remediation: "Add a node or run fewer pods. `kubectl describe nodes` shows the usage \
                          of each node under \"Allocated resources\"."
                .to_owned(),
            ..Finding::default()
        })
    }

    /// What is free on all other nodes together.
    fn beside(&self, name: &str) -> Room {
        let others = self.0.iter().filter(|(other, _)| *other != name);
        others.fold(Room::default(), |sum, (_, one)| sum.plus(one.has.minus(one.taken)))
    }
}

/// Whether pods that say nothing about it are not placed there.
fn turns_pods_away(node: &Node) -> bool {
    let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    taints.into_iter().any(|taint| matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute"))
}

impl Room {
    /// What is not said, or not understood, is nothing.
    fn read(amounts: &BTreeMap<String, Quantity>) -> Self {
        let read = |name: &str| amounts.get(name).and_then(|it| amount(&it.0)).unwrap_or_default();
        Self { cpu: read("cpu"), memory: read("memory") }
    }

    /// What a pod asks for: its containers together, or, if that is more, one that runs before them.
    fn asked_for(pod: &PodSpec) -> Self {
        let of = |container: &Container| {
            let requests = container.resources.as_ref().and_then(|it| it.requests.as_ref());
            requests.map(Self::read).unwrap_or_default()
        };
        let (stay, first): (Vec<&Container>, Vec<&Container>) = pod
            .init_containers
            .iter()
            .flatten()
            .partition(|container| container.restart_policy.as_deref() == Some("Always"));
        let together = pod.containers.iter().chain(stay);
        let together = together.fold(Self::default(), |sum, container| sum.plus(of(container)));
        let most = first.into_iter().fold(together, |most, container| most.max(of(container)));
        most.plus(pod.overhead.as_ref().map(Self::read).unwrap_or_default())
    }

    fn plus(self, other: Self) -> Self {
        Self { cpu: self.cpu + other.cpu, memory: self.memory + other.memory }
    }

    /// What is left; never less than nothing.
    fn minus(self, other: Self) -> Self {
        let left = |a: f64, b: f64| if a - b > DUST { a - b } else { 0.0 };
        Self { cpu: left(self.cpu, other.cpu), memory: left(self.memory, other.memory) }
    }

    fn max(self, other: Self) -> Self {
        Self { cpu: self.cpu.max(other.cpu), memory: self.memory.max(other.memory) }
    }

    /// Such as `1.5 cpu and 512 MiB of memory`.
    fn told(self) -> String {
        let cpu = (self.cpu > 0.0).then(|| format!("{:.2} cpu", self.cpu));
        let mebibytes = (self.memory / 1_048_576.0).ceil();
        let memory = (self.memory > 0.0).then(|| format!("{mebibytes} MiB of memory"));
        cpu.into_iter().chain(memory).collect::<Vec<_>>().join(" and ")
    }
}
