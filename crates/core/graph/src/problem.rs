//! What is wrong with releases and graphs, by name, and what came of it.

use std::fmt;

use serde::Serialize;

/// Something wrong with a release or a graph. What it concerns is left out; the rest goes on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase", tag = "problem")]
pub enum Problem {
    /// A release could not be read.
    UnreadableRelease {
        /// What people call it: its image, or its place in a list.
        release: String,
        /// Why.
        why: String,
    },
    /// A release cannot be looked at now; it is used as it was.
    UnconfirmedRelease {
        /// What people call it.
        release: String,
        /// Why.
        why: String,
    },
    /// Different images say that they are the same version.
    DuplicateVersion {
        /// The version.
        version: String,
        /// The images.
        images: Vec<String>,
    },
    /// A node has something that is not a version.
    UnreadableVersion {
        /// What is there.
        text: String,
    },
    /// An edge leads from or to a node that does not exist.
    DanglingEdge {
        /// Where it begins: a version, or a place in the list of nodes.
        from: String,
        /// Where it leads.
        to: String,
    },
    /// An update has a group, but no risk in it.
    NoRisks {
        /// Where it begins.
        from: String,
        /// Where it leads.
        to: String,
    },
    /// One name stands for several risks of one update, which concern different clusters.
    AmbiguousRisk {
        /// The name.
        name: String,
    },
    /// Updates lead in a circle.
    Cycle {
        /// The versions that are part of it.
        versions: Vec<String>,
        /// The updates that were left out, because they lead back.
        cut: Vec<(String, String)>,
    },
    /// Metadata of a release names something that is not a version.
    BadReference {
        /// The release.
        version: String,
        /// The key.
        key: String,
        /// What is there.
        text: String,
    },
    /// Metadata of a release names a version that does not exist.
    UnknownReference {
        /// The release.
        version: String,
        /// The key.
        key: String,
        /// The version.
        named: String,
    },
    /// Metadata of a release has an unreadable expression.
    BadExpression {
        /// The release.
        version: String,
        /// Why it is unreadable.
        why: String,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnreadableRelease { release, why } => {
                write!(f, "{release} omitted: {why}")
            }
            Self::UnconfirmedRelease { release, why } => {
                write!(f, "{release} not refreshed: {why}")
            }
            Self::DuplicateVersion { version, images } => {
                write!(f, "{version} omitted: several images have it: {}", images.join(" and "))
            }
            Self::UnreadableVersion { text } => {
                write!(f, "node omitted: {text:?} is not a version")
            }
            Self::DanglingEdge { from, to } => {
                write!(f, "update from {from} to {to} omitted: one of the releases does not exist")
            }
            Self::NoRisks { from, to } => write!(
                f,
                "conditional update from {from} to {to} blocked for all clusters: it has no risks"
            ),
            Self::AmbiguousRisk { name } => write!(
                f,
                "risk {name} has conflicting rules for one update, so it applies to all clusters \
                for that update"
            ),
            Self::Cycle { versions, cut } => {
                let cut: Vec<String> =
                    cut.iter().map(|(from, to)| format!("{from} to {to}")).collect();
                write!(
                    f,
                    "cycle of updates through {}; omitted: {}",
                    versions.join(", "),
                    cut.join(", ")
                )
            }
            Self::BadReference { version, key, text } => {
                write!(f, "{version}: {key} contains {text:?}, which is not a version")
            }
            Self::UnknownReference { version, key, named } => {
                write!(f, "{version}: {key} contains {named}, which does not exist")
            }
            Self::BadExpression { version, why } => write!(
                f,
                "{version}: all updates to it removed: cannot parse {}: {why}",
                crate::graph::key::PREVIOUS_REMOVE_REGEX
            ),
        }
    }
}
