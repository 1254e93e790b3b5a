//! Which releases have no way out if every conditional update is closed.

use std::fmt;

use serde::Serialize;

use super::Count;
use crate::graph::{Graph, NodeId};

/// Releases from which some or all clusters cannot update.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stranding {
    /// Releases with conditional updates only: a cluster to which all risks apply cannot update.
    pub stranded: Vec<Stranded>,
    /// Releases without updates, except the latest.
    pub dead_ends: Vec<String>,
}

/// A release with conditional updates only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stranded {
    /// Version of the release.
    pub version: String,
    /// Updates from the release.
    pub closed: Vec<Closed>,
}

/// A conditional update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Closed {
    /// Target version.
    pub to: String,
    /// Names of the risks of the update.
    pub risks: Vec<String>,
}

/// Finds them among the releases of a graph.
pub fn stranded(graph: &Graph) -> Stranding {
    let mut stranding = Stranding::default();
    let releases = graph.node_ids().filter(|(_, node)| node.release.is_some());
    let Some((_, latest)) = releases.clone().next_back() else { return stranding };
    for (id, node) in releases {
        let edges = graph.edges_from(id);
        if edges.is_empty() && node.version < latest.version {
            stranding.dead_ends.push(node.version.to_string());
        } else if !edges.is_empty() && edges.iter().all(|edge| edge.is_conditional()) {
            stranding
                .stranded
                .push(Stranded { version: node.version.to_string(), closed: closed(graph, id) });
        }
    }
    stranding
}

fn closed(graph: &Graph, from: NodeId) -> Vec<Closed> {
    let edges = graph.edges_from(from).iter();
    edges
        .map(|edge| Closed {
            to: graph.node(edge.to).version.to_string(),
            risks: graph.risks(*edge).map(|risk| risk.name.clone()).collect(),
        })
        .collect()
}

impl fmt::Display for Stranding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (stranded, dead_ends) = (self.stranded.len(), self.dead_ends.len());
        write!(f, "{} with conditional updates only", Count(stranded, "release"))?;
        for Stranded { version, closed } in &self.stranded {
            write!(f, "\n  {version}: {}", Count(closed.len(), "update"))?;
            if let Some(Closed { to, risks }) = closed.last() {
                write!(f, ", the latest to {to} ({})", risks.join(", "))?;
            }
        }
        write!(f, "\n{} without updates, except the latest", Count(dead_ends, "release"))?;
        for version in &self.dead_ends {
            write!(f, "\n  {version}")?;
        }
        Ok(())
    }
}
