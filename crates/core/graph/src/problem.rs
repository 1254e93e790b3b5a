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
                write!(f, "{release} is left out: {why}")
            }
            Self::UnconfirmedRelease { release, why } => {
                write!(f, "{release} stays as it was: {why}")
            }
            Self::DuplicateVersion { version, images } => {
                write!(f, "{version} is left out: it is claimed by {}", images.join(" and "))
            }
            Self::UnreadableVersion { text } => {
                write!(f, "a node is left out: {text:?} is not a version")
            }
            Self::DanglingEdge { from, to } => {
                write!(f, "the update from {from} to {to} is left out: one of them does not exist")
            }
            Self::NoRisks { from, to } => write!(
                f,
                "the update from {from} to {to} is conditional without saying on what: it is blocked"
            ),
            Self::AmbiguousRisk { name } => write!(
                f,
                "risk {name} has different rules for one update, so it concerns every cluster there"
            ),
            Self::Cycle { versions, cut } => {
                let cut: Vec<String> =
                    cut.iter().map(|(from, to)| format!("{from} to {to}")).collect();
                write!(
                    f,
                    "updates lead in a circle through {}; left out: {}",
                    versions.join(", "),
                    cut.join(", ")
                )
            }
            Self::BadReference { version, key, text } => {
                write!(f, "{version}: {key} has {text:?}, which is not a version")
            }
            Self::UnknownReference { version, key, named } => {
                write!(f, "{version}: {key} has {named}, which does not exist")
            }
            Self::BadExpression { version, why } => write!(
                f,
                "{version}: {} is unreadable, so every update to it is removed: {why}",
                crate::graph::key::PREVIOUS_REMOVE_REGEX
            ),
        }
    }
}
