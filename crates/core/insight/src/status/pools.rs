//! Pools of nodes and their progress.

use std::collections::BTreeMap;

use kube::core::{Selector, SelectorExt as _};
use schemars::JsonSchema;
use serde::Serialize;

use super::control_plane::percent;
use super::nodes::{self, AssessedNode, NodeAssessment, Phase, Release};
use crate::cluster::{ClusterObjects, ObservationTime};
use crate::objects::{MachineConfigPool, Node};

/// Pool of the control plane.
const MASTER: &str = "master";

/// Pool of nodes that are in no other pool.
const WORKER: &str = "worker";

/// Pool of worker nodes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PoolStatus {
    /// Name of the `MachineConfigPool`.
    pub name: String,
    /// Assessment of the progress.
    pub assessment: PoolAssessment,
    /// Percentage of nodes that have the release.
    pub percent: u8,
    /// Numbers of nodes by progress.
    #[serde(flatten)]
    pub nodes: NodeCounts,
    /// Whether updates of the pool are paused.
    pub paused: bool,
}

/// Assessment of the progress of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum PoolAssessment {
    /// The pool has no nodes.
    Empty,
    /// All nodes have the release.
    Completed,
    /// No node has started its update.
    Pending,
    /// The update of a node has failed.
    Degraded,
    /// The pool is paused.
    Excluded,
    /// The update is in progress.
    Progressing,
}

/// Numbers of nodes by progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NodeCounts {
    /// All nodes.
    pub total: usize,
    /// Nodes that have the release.
    pub updated: usize,
    /// Nodes that are available.
    pub available: usize,
    /// Nodes that are updating.
    pub progressing: usize,
    /// Nodes that do not have the release.
    pub outdated: usize,
    /// Nodes that are being drained.
    pub draining: usize,
    /// Nodes that are paused.
    pub excluded: usize,
    /// Nodes whose update has failed.
    pub degraded: usize,
}

/// Pool and the status of its nodes.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub(super) name: String,
    pub(super) paused: bool,
    pub(super) nodes: Vec<AssessedNode>,
}

/// Pool of the control plane, and all others in the order of the API.
pub(super) fn of(
    cluster: &ClusterObjects,
    observation: ObservationTime,
) -> (Option<Pool>, Vec<Pool>) {
    let history = cluster.version.status.as_ref().map_or(&[][..], |status| &status.history);
    let release = Release::of(history, &cluster.configs);
    let mut members = members(&cluster.pools, &cluster.nodes);
    let pool = |pool: &MachineConfigPool| {
        let members = members.remove(pool.metadata.name.as_str()).unwrap_or_default();
        let mut nodes: Vec<AssessedNode> = members
            .into_iter()
            .map(|node| nodes::assess(node, pool, &release, observation))
            .collect();
        nodes.sort_by(|a, b| a.status.urgency().cmp(&b.status.urgency()));
        Pool { name: pool.metadata.name.clone(), paused: pool.spec.paused, nodes }
    };
    let pools: Vec<Pool> = cluster.pools.iter().map(pool).collect();
    let (mut masters, workers): (Vec<_>, Vec<_>) =
        pools.into_iter().partition(|pool| pool.name == MASTER);
    (if masters.is_empty() { None } else { Some(masters.swap_remove(0)) }, workers)
}

/// Nodes of each pool: first of the control plane, then of custom pools by name, then of `worker`.
fn members<'a>(
    pools: &'a [MachineConfigPool],
    nodes: &'a [Node],
) -> BTreeMap<&'a str, Vec<&'a Node>> {
    let mut selectors: Vec<(u8, &str, Selector)> =
        pools.iter().filter_map(|pool| Some((rank(pool), name(pool), selector(pool)?))).collect();
    selectors.sort_by_key(|(rank, name, _)| (*rank, *name));
    let mut members: BTreeMap<&str, Vec<&Node>> = BTreeMap::new();
    for node in nodes {
        let labels = &node.metadata.labels;
        let pool = selectors.iter().find(|(_, _, selector)| selector.matches(labels));
        if let Some((_, pool, _)) = pool {
            members.entry(pool).or_default().push(node);
        }
    }
    members
}

fn name(pool: &MachineConfigPool) -> &str {
    &pool.metadata.name
}

fn rank(pool: &MachineConfigPool) -> u8 {
    match name(pool) {
        MASTER => 0,
        WORKER => 2,
        _ => 1,
    }
}

/// Selector of a pool. A pool without a valid selector has no nodes.
fn selector(pool: &MachineConfigPool) -> Option<Selector> {
    Selector::try_from(pool.spec.node_selector.clone()?).ok()
}

impl Pool {
    /// Whether all nodes have the release.
    pub(super) fn is_done(&self) -> bool {
        let counts = self.counts();
        counts.updated == counts.total
    }

    pub(super) fn counts(&self) -> NodeCounts {
        let mut counts = NodeCounts { total: self.nodes.len(), ..NodeCounts::default() };
        for node in &self.nodes {
            let degraded = node.status.assessment == NodeAssessment::Degraded;
            counts.available += usize::from(!node.unavailable);
            counts.degraded += usize::from(degraded);
            match node.status.phase {
                Phase::Updated => counts.updated += 1,
                Phase::Paused => counts.excluded += 1,
                Phase::Pending => {}
                Phase::Draining | Phase::Updating | Phase::Rebooting => {
                    counts.progressing += usize::from(!degraded);
                }
            }
            counts.draining += usize::from(node.status.phase == Phase::Draining);
        }
        counts.outdated = counts.total - counts.updated;
        counts
    }

    pub(super) fn status(&self) -> PoolStatus {
        let nodes = self.counts();
        PoolStatus {
            name: self.name.clone(),
            assessment: self.assess(nodes),
            percent: percent(nodes.updated, nodes.total),
            nodes,
            paused: self.paused,
        }
    }

    fn assess(&self, counts: NodeCounts) -> PoolAssessment {
        let pending = self.nodes.iter().filter(|node| node.status.phase == Phase::Pending).count();
        match counts {
            _ if counts.total == 0 => PoolAssessment::Empty,
            _ if counts.updated == counts.total => PoolAssessment::Completed,
            _ if pending == counts.total => PoolAssessment::Pending,
            _ if counts.degraded > 0 => PoolAssessment::Degraded,
            _ if counts.excluded > 0 => PoolAssessment::Excluded,
            _ => PoolAssessment::Progressing,
        }
    }
}
