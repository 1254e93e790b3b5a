//! Explanation of the state of an update: recommended, conditional or removed, and by which file.

use std::fmt;

use fairway_api::Version;
use schemars::JsonSchema;
use serde::Serialize;

use super::paths::{UpgradePathError, single_node};
use crate::build::{EdgeBlocker, GraphBuilder};
use crate::data::{BlockedEdgeEffect, FileLocation};
use crate::graph::{Edge, Graph, NodeId, Scope, with_architecture};
use crate::problem::GraphProblem;

/// State of an update in the graph, and its causes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Why")]
pub struct UpdateExplanation {
    /// Source version.
    pub from: String,
    /// Target version.
    pub to: String,
    /// State of the update.
    #[serde(flatten)]
    pub verdict: UpdateState,
}

/// State of an update in the graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Verdict")]
#[serde(rename_all = "camelCase", tag = "verdict")]
pub enum UpdateState {
    /// The update is recommended to all clusters.
    Recommended,
    /// The update is recommended to clusters to which its risks do not apply.
    Conditional {
        /// Sources of the risks.
        causes: Vec<UpdateCause>,
    },
    /// The update is removed from the graph.
    Removed {
        /// What removes the update, and the sources of its risks.
        causes: Vec<UpdateCause>,
    },
    /// No release declares the update.
    NotDeclared,
    /// The update is removed because it is part of a cycle.
    Cycle {
        /// Versions of the cycle.
        versions: Vec<String>,
    },
    /// Other releases reference one of the versions, but the graph has no release with that
    /// version.
    NoRelease {
        /// Version without a release.
        release: String,
    },
    /// One of the releases is not in the channel.
    NotInChannel {
        /// Version of the release.
        release: String,
        /// Name of the channel.
        channel: String,
        /// Channels that contain the release.
        channels: Vec<String>,
    },
}

/// Cause of a removed or conditional update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Cause")]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum UpdateCause {
    /// A file with blocked edges in graph-data.
    Block {
        /// Location of the pattern.
        #[serde(flatten)]
        place: FileLocation,
        /// Pattern of the source versions.
        pattern: String,
        /// Name of the risk. Without a risk, the file removes the update.
        risk: Option<String>,
    },
    /// Metadata of a release.
    Metadata {
        /// Version of the release.
        release: String,
        /// Key in the metadata.
        key: String,
    },
    /// A risk in the input graph, not from graph-data.
    Graph {
        /// Name of the risk.
        risk: String,
    },
}

/// Reason why an update cannot be explained.
pub type ExplanationError = UpgradePathError;

impl GraphBuilder<'_> {
    /// Explains the state of the update between two versions.
    pub fn explain(
        &self,
        from: &Version,
        to: &Version,
        scope: Scope<'_>,
    ) -> Result<UpdateExplanation, ExplanationError> {
        let graph = self.graph();
        let (start, end) = (node_in_scope(graph, from, scope)?, node_in_scope(graph, to, scope)?);
        Ok(UpdateExplanation {
            from: graph.node(start).version.to_string(),
            to: graph.node(end).version.to_string(),
            verdict: self.verdict(start, end, scope),
        })
    }

    fn verdict(&self, from: NodeId, to: NodeId, scope: Scope<'_>) -> UpdateState {
        let graph = self.graph();
        let Some(edge) = graph.edge(from, to) else { return self.absent(from, to) };
        for node in [graph.node(from), graph.node(to)] {
            let release = node.version.to_string();
            if node.release.is_none() {
                return UpdateState::NoRelease { release };
            }
            let Some(channel) = scope.channel else { continue };
            let channels: Vec<String> = node.channels().map(str::to_owned).collect();
            if !channels.iter().any(|known| known == channel) {
                return UpdateState::NotInChannel {
                    release,
                    channel: channel.to_owned(),
                    channels,
                };
            }
        }
        self.closed(edge)
    }

    fn absent(&self, from: NodeId, to: NodeId) -> UpdateState {
        let name = |id| self.graph().node(id).version.to_string();
        let ends = (name(from), name(to));
        let cycle = self.problems().iter().find_map(|problem| match problem {
            GraphProblem::Cycle { versions, cut } if cut.contains(&ends) => Some(versions.clone()),
            _ => None,
        });
        cycle.map_or(UpdateState::NotDeclared, |versions| UpdateState::Cycle { versions })
    }

    fn closed(&self, edge: Edge) -> UpdateState {
        let graph = self.graph();
        let blockers: Vec<&EdgeBlocker<'_>> = self.blocking(edge.from, edge.to).collect();
        let given = graph.risks(edge).map(|risk| UpdateCause::Graph { risk: risk.name.clone() });
        let causes: Vec<UpdateCause> =
            given.chain(blockers.iter().map(|blocker| cause(graph, blocker))).collect();
        let risks = |blocker: &&EdgeBlocker<'_>| matches!(blocker, EdgeBlocker::Block(block) if block.effect != BlockedEdgeEffect::Removes);
        if !blockers.iter().all(risks) {
            UpdateState::Removed { causes }
        } else if causes.is_empty() {
            UpdateState::Recommended
        } else {
            UpdateState::Conditional { causes }
        }
    }
}

fn node_in_scope(
    graph: &Graph,
    version: &Version,
    scope: Scope<'_>,
) -> Result<NodeId, ExplanationError> {
    match scope.architecture {
        Some(architecture) if version.build().is_empty() => {
            single_node(graph, &with_architecture(version, architecture))
        }
        _ => single_node(graph, version),
    }
}

fn cause(graph: &Graph, blocker: &EdgeBlocker<'_>) -> UpdateCause {
    match blocker {
        EdgeBlocker::Block(block) => UpdateCause::Block {
            place: FileLocation { file: block.file.clone(), position: block.from_at },
            pattern: block.from.text().to_owned(),
            risk: match &block.effect {
                BlockedEdgeEffect::Removes => None,
                BlockedEdgeEffect::Risks(risk) => Some(risk.name.clone()),
            },
        },
        EdgeBlocker::Metadata { release, key, .. } => UpdateCause::Metadata {
            release: graph.node(*release).version.to_string(),
            key: (*key).to_owned(),
        },
    }
}

impl fmt::Display for UpdateExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, verdict } = self;
        write!(f, "{from} -> {to}: ")?;
        match verdict {
            UpdateState::Recommended => f.write_str("recommended for all clusters"),
            UpdateState::Conditional { causes } => {
                f.write_str("conditional: recommended if its risks do not apply")?;
                causes.iter().try_for_each(|cause| write!(f, "\n  {cause}"))
            }
            UpdateState::Removed { causes } => {
                f.write_str("removed")?;
                causes.iter().try_for_each(|cause| write!(f, "\n  {cause}"))
            }
            UpdateState::NotDeclared => f.write_str("no release declares this update"),
            UpdateState::Cycle { versions } => {
                write!(f, "omitted, because it closes a cycle of {}", versions.join(", "))
            }
            UpdateState::NoRelease { release } => {
                write!(f, "other releases reference {release}, but it does not exist")
            }
            UpdateState::NotInChannel { release, channel, channels } if channels.is_empty() => {
                write!(f, "{release} is not in {channel}, nor in any other channel")
            }
            UpdateState::NotInChannel { release, channel, channels } => {
                write!(f, "{release} is not in {channel}; it is in {}", channels.join(", "))
            }
        }
    }
}

impl fmt::Display for UpdateCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block { place, pattern, risk: Some(risk) } => {
                write!(f, "{place}: risk {risk} for updates from {pattern}")
            }
            Self::Block { place, pattern, risk: None } => {
                write!(f, "{place}: removes updates from {pattern}")
            }
            Self::Metadata { release, key } => write!(f, "metadata of {release}: {key}"),
            Self::Graph { risk } => {
                write!(f, "risk {risk}, which the input graph already contains")
            }
        }
    }
}
