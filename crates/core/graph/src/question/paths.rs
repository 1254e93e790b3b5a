//! How to get from one version to another, and what may go wrong on the way.

use std::collections::BTreeSet;
use std::fmt;

use fairway_api::Version;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Cheapest, Cost, Count};
use crate::graph::{Edge, Graph, NodeId};

/// Best upgrade paths between two versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Paths {
    /// Path with the fewest hops, and among those the fewest risks.
    pub fewest_hops: Path,
    /// Path with the fewest risks, and among those the fewest hops.
    pub least_risk: Path,
}

/// Upgrade path between two versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Path {
    /// Updates of the path, in order.
    pub hops: Vec<Step>,
}

/// One update of an upgrade path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Step {
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
pub enum PathsError {
    /// The graph does not have that version.
    #[error("version {0} does not exist")]
    Unknown(String),
    /// The graph has that version for several architectures.
    #[error("version {0} exists for several architectures")]
    Ambiguous(String),
    /// Nothing leads from one to the other.
    #[error("no upgrade path from {from} to {to}")]
    None {
        /// Where it should begin.
        from: String,
        /// Where it should lead.
        to: String,
    },
}

/// Finds the ways from one version to another.
pub fn paths(graph: &Graph, from: &Version, to: &Version) -> Result<Paths, PathsError> {
    let (start, end) = (one(graph, from)?, one(graph, to)?);
    let by_steps = |steps: usize, risks: usize| [steps, risks];
    let by_risks = |steps: usize, risks: usize| [risks, steps];
    let none = || PathsError::None { from: from.to_string(), to: to.to_string() };
    Ok(Paths {
        fewest_hops: search(graph, start, end, by_steps).ok_or_else(none)?,
        least_risk: search(graph, start, end, by_risks).ok_or_else(none)?,
    })
}

/// The node that a version means.
pub(super) fn one(graph: &Graph, version: &Version) -> Result<NodeId, PathsError> {
    let mut found = graph.find(version);
    match (found.next(), found.next()) {
        (Some(id), None) => Ok(id),
        (Some(_), Some(_)) => Err(PathsError::Ambiguous(version.to_string())),
        (None, _) => Err(PathsError::Unknown(version.to_string())),
    }
}

/// The cheapest way. A risk counts at every step that has it.
fn search(
    graph: &Graph,
    start: NodeId,
    end: NodeId,
    cost: impl Fn(usize, usize) -> Cost<2>,
) -> Option<Path> {
    let ways = Cheapest::find(graph, start, |edge| Some(cost(1, graph.risks(edge).len())));
    let hops = ways.way(end)?;
    Some(Path { hops: hops.into_iter().map(|edge| step(graph, edge)).collect() })
}

fn step(graph: &Graph, edge: Edge) -> Step {
    Step {
        from: graph.node(edge.from).version.to_string(),
        to: graph.node(edge.to).version.to_string(),
        risks: graph.risks(edge).map(|risk| risk.name.clone()).collect(),
    }
}

impl Path {
    /// The names of all risks on the way.
    pub fn risks(&self) -> BTreeSet<&str> {
        self.hops.iter().flat_map(|step| &step.risks).map(String::as_str).collect()
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let risks = self.risks().len();
        write!(f, "{}, {}", Count(self.hops.len(), "step"), Count(risks, "risk"))?;
        for Step { from, to, risks } in &self.hops {
            write!(f, "\n  {from} -> {to}")?;
            if !risks.is_empty() {
                write!(f, "  {}", risks.join(", "))?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Paths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.fewest_hops == self.least_risk {
            return write!(f, "the best way: {}", self.fewest_hops);
        }
        writeln!(f, "the shortest way: {}", self.fewest_hops)?;
        write!(f, "the way with the fewest risks: {}", self.least_risk)
    }
}
