//! Why an update is not offered, or only to some clusters: which file, which rule.

use std::fmt;

use fairway_api::Version;
use schemars::JsonSchema;
use serde::Serialize;

use super::paths::{PathsError, one};
use crate::build::{Closure, Draft};
use crate::data::{Effect, Place};
use crate::graph::{Edge, Graph, NodeId, Scope, with_architecture};
use crate::problem::Problem;

/// State of an update in the graph, and its causes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Why {
    /// Source version.
    pub from: String,
    /// Target version.
    pub to: String,
    /// State of the update.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// State of an update in the graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "verdict")]
pub enum Verdict {
    /// The update is recommended to all clusters.
    Recommended,
    /// The update is recommended to clusters to which its risks do not apply.
    Conditional {
        /// Sources of the risks.
        causes: Vec<Cause>,
    },
    /// The update is removed from the graph.
    Removed {
        /// What removes the update, and the sources of its risks.
        causes: Vec<Cause>,
    },
    /// No release declares the update.
    NotDeclared,
    /// The update is removed because it is part of a cycle.
    Cycle {
        /// Versions of the cycle.
        versions: Vec<String>,
    },
    /// Other releases reference one of the versions, but the graph has no release with it.
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
#[serde(rename_all = "camelCase", tag = "type")]
pub enum Cause {
    /// A file with blocked edges in graph-data.
    Block {
        /// Location of the pattern.
        #[serde(flatten)]
        place: Place,
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
    /// A risk that the graph has without graph-data.
    Graph {
        /// Name of the risk.
        risk: String,
    },
}

/// Why there is no telling.
pub type WhyError = PathsError;

impl Draft<'_> {
    /// Explains what becomes of the update from one version to another.
    pub fn why(&self, from: &Version, to: &Version, scope: Scope<'_>) -> Result<Why, WhyError> {
        let graph = self.graph();
        let (start, end) = (of_scope(graph, from, scope)?, of_scope(graph, to, scope)?);
        Ok(Why {
            from: graph.node(start).version.to_string(),
            to: graph.node(end).version.to_string(),
            verdict: self.verdict(start, end, scope),
        })
    }

    fn verdict(&self, from: NodeId, to: NodeId, scope: Scope<'_>) -> Verdict {
        let graph = self.graph();
        let Some(edge) = graph.edge(from, to) else { return self.absent(from, to) };
        for node in [graph.node(from), graph.node(to)] {
            let release = node.version.to_string();
            if node.release.is_none() {
                return Verdict::NoRelease { release };
            }
            let Some(channel) = scope.channel else { continue };
            let channels: Vec<String> = node.channels().map(str::to_owned).collect();
            if !channels.iter().any(|known| known == channel) {
                return Verdict::NotInChannel { release, channel: channel.to_owned(), channels };
            }
        }
        self.closed(edge)
    }

    fn absent(&self, from: NodeId, to: NodeId) -> Verdict {
        let name = |id| self.graph().node(id).version.to_string();
        let ends = (name(from), name(to));
        let cycle = self.problems().iter().find_map(|problem| match problem {
            Problem::Cycle { versions, cut } if cut.contains(&ends) => Some(versions.clone()),
            _ => None,
        });
        cycle.map_or(Verdict::NotDeclared, |versions| Verdict::Cycle { versions })
    }

    fn closed(&self, edge: Edge) -> Verdict {
        let graph = self.graph();
        let closing: Vec<&Closure<'_>> = self.closing(edge.from, edge.to).collect();
        let given = graph.risks(edge).map(|risk| Cause::Graph { risk: risk.name.clone() });
        let causes: Vec<Cause> =
            given.chain(closing.iter().map(|closure| cause(graph, closure))).collect();
        let risks = |closure: &&Closure<'_>| matches!(closure, Closure::Block(block) if block.effect != Effect::Removes);
        if !closing.iter().all(risks) {
            Verdict::Removed { causes }
        } else if causes.is_empty() {
            Verdict::Recommended
        } else {
            Verdict::Conditional { causes }
        }
    }
}

fn of_scope(graph: &Graph, version: &Version, scope: Scope<'_>) -> Result<NodeId, WhyError> {
    match scope.architecture {
        Some(architecture) if version.build().is_empty() => {
            one(graph, &with_architecture(version, architecture))
        }
        _ => one(graph, version),
    }
}

fn cause(graph: &Graph, closure: &Closure<'_>) -> Cause {
    match closure {
        Closure::Block(block) => Cause::Block {
            place: Place { file: block.file.clone(), position: block.from_at },
            pattern: block.from.text().to_owned(),
            risk: match &block.effect {
                Effect::Removes => None,
                Effect::Risks(risk) => Some(risk.name.clone()),
            },
        },
        Closure::Metadata { release, key, .. } => Cause::Metadata {
            release: graph.node(*release).version.to_string(),
            key: (*key).to_owned(),
        },
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, verdict } = self;
        write!(f, "{from} -> {to}: ")?;
        match verdict {
            Verdict::Recommended => f.write_str("recommended for all clusters"),
            Verdict::Conditional { causes } => {
                f.write_str("conditional: recommended if its risks do not apply")?;
                causes.iter().try_for_each(|cause| write!(f, "\n  {cause}"))
            }
            Verdict::Removed { causes } => {
                f.write_str("removed")?;
                causes.iter().try_for_each(|cause| write!(f, "\n  {cause}"))
            }
            Verdict::NotDeclared => f.write_str("no release says that this update is possible"),
            Verdict::Cycle { versions } => {
                write!(f, "left out, because it led back in a circle of {}", versions.join(", "))
            }
            Verdict::NoRelease { release } => {
                write!(f, "{release} is named by other releases, but there is no release of it")
            }
            Verdict::NotInChannel { release, channel, channels } if channels.is_empty() => {
                write!(f, "{release} is not in {channel}, nor in any other channel")
            }
            Verdict::NotInChannel { release, channel, channels } => {
                write!(f, "{release} is not in {channel}; it is in {}", channels.join(", "))
            }
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block { place, pattern, risk: Some(risk) } => {
                write!(f, "{place}: risk {risk} for updates from {pattern}")
            }
            Self::Block { place, pattern, risk: None } => {
                write!(f, "{place}: removes updates from {pattern}")
            }
            Self::Metadata { release, key } => write!(f, "metadata of {release}: {key}"),
            Self::Graph { risk } => write!(f, "risk {risk}, which the graph had before"),
        }
    }
}
