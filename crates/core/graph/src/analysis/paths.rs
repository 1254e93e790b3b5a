//! Upgrade paths between two versions, and their risks.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::fmt;

use fairway_api::Version;
use schemars::JsonSchema;
use serde::Serialize;

use super::Count;
use crate::graph::{Edge, Graph, NodeId, Scope};

/// Best upgrade paths between two versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Paths")]
#[serde(rename_all = "camelCase")]
pub struct UpgradePaths {
    /// Path with the fewest hops, and among those the fewest risks.
    pub fewest_hops: UpgradePath,
    /// Path with the fewest risks, and among those the fewest hops.
    pub least_risk: UpgradePath,
}

/// Upgrade path between two versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Path")]
pub struct UpgradePath {
    /// Updates of the path, in order.
    pub hops: Vec<UpgradeHop>,
}

/// One update of an upgrade path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Step")]
pub struct UpgradeHop {
    /// Source version.
    pub from: String,
    /// Target version.
    pub to: String,
    /// Names of the risks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub risks: Vec<String>,
}

/// Reason why no upgrade path exists.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpgradePathError {
    /// The graph does not have that version.
    #[error("version {0} does not exist")]
    Unknown(String),
    /// The graph has that version for several architectures.
    #[error("version {0} exists for several architectures")]
    Ambiguous(String),
    /// No path exists between the versions.
    #[error("no upgrade path from {from} to {to}")]
    None {
        /// Source version.
        from: String,
        /// Target version.
        to: String,
    },
}

/// Finds the best upgrade paths between two versions.
pub fn paths(
    graph: &Graph,
    from: &Version,
    to: &Version,
) -> Result<UpgradePaths, UpgradePathError> {
    let (start, end) = (single_node(graph, from)?, single_node(graph, to)?);
    let by_hops = |hops: usize, risks: usize| [hops, risks];
    let by_risks = |hops: usize, risks: usize| [risks, hops];
    let none = || UpgradePathError::None { from: from.to_string(), to: to.to_string() };
    Ok(UpgradePaths {
        fewest_hops: cheapest_path(graph, start, end, by_hops).ok_or_else(none)?,
        least_risk: cheapest_path(graph, start, end, by_risks).ok_or_else(none)?,
    })
}

/// The single node of a version.
pub(super) fn single_node(graph: &Graph, version: &Version) -> Result<NodeId, UpgradePathError> {
    let mut found = graph.find(version);
    match (found.next(), found.next()) {
        (Some(id), None) => Ok(id),
        (Some(_), Some(_)) => Err(UpgradePathError::Ambiguous(version.to_string())),
        (None, _) => Err(UpgradePathError::Unknown(version.to_string())),
    }
}

/// The cheapest path. A risk counts on every hop that has it.
fn cheapest_path(
    graph: &Graph,
    start: NodeId,
    end: NodeId,
    cost: impl Fn(usize, usize) -> PathCost<2>,
) -> Option<UpgradePath> {
    let paths = CheapestPaths::find(graph, start, |edge| Some(cost(1, graph.risks(edge).len())));
    let hops = paths.path(end)?;
    Some(UpgradePath { hops: hops.into_iter().map(|edge| hop(graph, edge)).collect() })
}

fn hop(graph: &Graph, edge: Edge) -> UpgradeHop {
    UpgradeHop {
        from: graph.node(edge.from).version.to_string(),
        to: graph.node(edge.to).version.to_string(),
        risks: graph.risks(edge).map(|risk| risk.name.clone()).collect(),
    }
}

impl UpgradePath {
    /// Names of all risks of the path.
    pub fn risks(&self) -> BTreeSet<&str> {
        self.hops.iter().flat_map(|hop| &hop.risks).map(String::as_str).collect()
    }
}

impl fmt::Display for UpgradePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let risks = self.risks().len();
        write!(f, "{}, {}", Count(self.hops.len(), "step"), Count(risks, "risk"))?;
        for UpgradeHop { from, to, risks } in &self.hops {
            write!(f, "\n  {from} -> {to}")?;
            if !risks.is_empty() {
                write!(f, "  {}", risks.join(", "))?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for UpgradePaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.fewest_hops == self.least_risk {
            return write!(f, "best path: {}", self.fewest_hops);
        }
        writeln!(f, "shortest path: {}", self.fewest_hops)?;
        write!(f, "path with the fewest risks: {}", self.least_risk)
    }
}

/// Cost of a hop or a path, compared lexicographically.
pub type PathCost<const N: usize> = [usize; N];

/// The cheapest paths from one version to all others.
#[derive(Clone, Debug)]
pub struct CheapestPaths<const N: usize> {
    /// For every reachable node, the cost and the last edge of its path.
    best: Vec<Option<(PathCost<N>, Option<Edge>)>>,
}

impl<const N: usize> CheapestPaths<N> {
    /// Finds the paths with Dijkstra's algorithm. `cost` returns the cost of an edge, which must
    /// not be zero, or `None` to exclude it. Of paths with equal cost, the one through later
    /// versions wins.
    pub fn find(
        graph: &Graph,
        start: NodeId,
        mut cost: impl FnMut(Edge) -> Option<PathCost<N>>,
    ) -> Self {
        let mut best: Vec<Option<(PathCost<N>, Option<Edge>)>> = vec![None; graph.nodes().len()];
        best[start.index()] = Some(([0; N], None));
        let mut open = BinaryHeap::from([(Reverse([0; N]), start)]);
        while let Some((Reverse(spent), node)) = open.pop() {
            if best[node.index()].is_none_or(|(known, _)| known < spent) {
                continue;
            }
            for edge in graph.edges_from(node) {
                let Some(hop) = cost(*edge) else { continue };
                let total = sum(spent, hop);
                let known = &mut best[edge.to.index()];
                let better = known.is_none_or(|(known, by)| {
                    total < known || total == known && by.is_some_and(|by| by.from < node)
                });
                if better {
                    *known = Some((total, Some(*edge)));
                    open.push((Reverse(total), edge.to));
                }
            }
        }
        Self { best }
    }

    /// The cost of the path to a node, if it is reachable.
    pub fn cost(&self, node: NodeId) -> Option<PathCost<N>> {
        self.best[node.index()].map(|(cost, _)| cost)
    }

    /// The edges of the path to a node, in order.
    pub fn path(&self, node: NodeId) -> Option<Vec<Edge>> {
        self.best[node.index()]?;
        let mut hops = Vec::new();
        let mut here = node;
        while let Some((_, Some(edge))) = self.best[here.index()] {
            hops.push(edge);
            here = edge.from;
        }
        hops.reverse();
        Some(hops)
    }
}

fn sum<const N: usize>(one: PathCost<N>, other: PathCost<N>) -> PathCost<N> {
    std::array::from_fn(|place| one[place].saturating_add(other[place]))
}

/// Channels of a version, for all architectures unless it names one.
pub fn channels<'a>(graph: &'a Graph, version: &Version) -> BTreeSet<&'a str> {
    graph.find(version).flat_map(|id| graph.node(id).channels()).collect()
}

/// The latest release in a scope.
pub fn latest(graph: &Graph, scope: Scope<'_>) -> Option<NodeId> {
    let mut releases = graph.node_ids().filter(|(_, node)| node.release.is_some());
    releases.rfind(|(_, node)| scope.contains(node)).map(|(id, _)| id)
}
