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

/// State of an update and its causes.
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

/// State of an update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "verdict")]
pub enum Verdict {
    /// The update is recommended for all clusters.
    Recommended,
    /// It is conditional: recommended if its risks do not apply.
    Conditional {
        /// Causes of its risks.
        causes: Vec<Cause>,
    },
    /// The update is removed for all clusters.
    Removed {
        /// Causes of the removal, and other causes.
        causes: Vec<Cause>,
    },
    /// No release declares the update.
    NotDeclared,
    /// The update was part of a cycle.
    Circle {
        /// Versions of the cycle.
        versions: Vec<String>,
    },
    /// One of the versions has no release; other releases refer to it.
    NoRelease {
        /// The version.
        version: String,
    },
    /// One of the releases is not in the channel.
    NotInChannel {
        /// Version of the release.
        version: String,
        /// The channel.
        channel: String,
        /// Channels that contain the release.
        channels: Vec<String>,
    },
}

/// Cause of the state of an update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "cause")]
pub enum Cause {
    /// A blocked edge of graph-data.
    Block {
        /// Location of its `from` pattern.
        #[serde(flatten)]
        place: Place,
        /// The `from` pattern.
        pattern: String,
        /// Name of its risk; without a risk, it removes the update.
        risk: Option<String>,
    },
    /// Metadata of a release.
    Metadata {
        /// The release.
        release: String,
        /// The key.
        key: String,
    },
    /// The input graph already had the risk.
    Given {
        /// Its name.
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
            let version = node.version.to_string();
            if node.release.is_none() {
                return Verdict::NoRelease { version };
            }
            let Some(channel) = scope.channel else { continue };
            let channels: Vec<String> = node.channels().map(str::to_owned).collect();
            if !channels.iter().any(|known| known == channel) {
                return Verdict::NotInChannel { version, channel: channel.to_owned(), channels };
            }
        }
        self.closed(edge)
    }

    fn absent(&self, from: NodeId, to: NodeId) -> Verdict {
        let name = |id| self.graph().node(id).version.to_string();
        let ends = (name(from), name(to));
        let circle = self.problems().iter().find_map(|problem| match problem {
            Problem::Cycle { versions, cut } if cut.contains(&ends) => Some(versions.clone()),
            _ => None,
        });
        circle.map_or(Verdict::NotDeclared, |versions| Verdict::Circle { versions })
    }

    fn closed(&self, edge: Edge) -> Verdict {
        let graph = self.graph();
        let closing: Vec<&Closure<'_>> = self.closing(edge.from, edge.to).collect();
        let given = graph.risks(edge).map(|risk| Cause::Given { risk: risk.name.clone() });
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
            Verdict::NotDeclared => f.write_str("no release declares this update"),
            Verdict::Circle { versions } => {
                write!(f, "omitted: part of a cycle of {}", versions.join(", "))
            }
            Verdict::NoRelease { version } => {
                write!(f, "{version} does not exist; other releases refer to it")
            }
            Verdict::NotInChannel { version, channel, channels } if channels.is_empty() => {
                write!(f, "{version} is not in {channel} or any other channel")
            }
            Verdict::NotInChannel { version, channel, channels } => {
                write!(f, "{version} is not in {channel}; it is in {}", channels.join(", "))
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
            Self::Given { risk } => write!(f, "risk {risk}, from the input graph"),
        }
    }
}
