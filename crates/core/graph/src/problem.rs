//! Problems of releases and graphs, and their effect.

use std::fmt;

use serde::Serialize;

/// A problem of a release or a graph. The affected part is omitted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase", tag = "problem")]
pub enum GraphProblem {
    /// The metadata of a release is invalid.
    UnreadableRelease {
        /// Image, or index in a list.
        release: String,
        /// Parse error.
        why: String,
    },
    /// A release cannot be refreshed; its previous metadata stays in use.
    UnconfirmedRelease {
        /// Image of the release.
        release: String,
        /// The error.
        why: String,
    },
    /// Several images have the same version.
    DuplicateVersion {
        /// The version.
        version: String,
        /// The images.
        images: Vec<String>,
    },
    /// The version of a node is invalid.
    UnreadableVersion {
        /// The invalid version.
        text: String,
    },
    /// An edge references a node that does not exist.
    DanglingEdge {
        /// Source: a version, or an index in the list of nodes.
        from: String,
        /// Target.
        to: String,
    },
    /// A conditional update has no risks.
    NoRisks {
        /// Source version.
        from: String,
        /// Target version.
        to: String,
    },
    /// Several risks of one update have the same name and different matching rules.
    AmbiguousRisk {
        /// Name of the risks.
        name: String,
    },
    /// Updates form a cycle.
    Cycle {
        /// Versions of the cycle.
        versions: Vec<String>,
        /// Removed updates, as source and target.
        cut: Vec<(String, String)>,
    },
    /// Release metadata references an invalid version.
    BadReference {
        /// Version of the release.
        version: String,
        /// Key in the metadata.
        key: String,
        /// The invalid version.
        text: String,
    },
    /// Release metadata references a version that does not exist.
    UnknownReference {
        /// Version of the release.
        version: String,
        /// Key in the metadata.
        key: String,
        /// The unknown version.
        named: String,
    },
    /// Release metadata contains an invalid regular expression.
    BadExpression {
        /// Version of the release.
        version: String,
        /// Parse error.
        why: String,
    },
}

impl fmt::Display for GraphProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnreadableRelease { release, why } => {
                write!(f, "{release} omitted: {why}")
            }
            Self::UnconfirmedRelease { release, why } => {
                write!(f, "{release} not refreshed: {why}")
            }
            Self::DuplicateVersion { version, images } => {
                write!(
                    f,
                    "{version} omitted: several images have this version: {}",
                    images.join(" and ")
                )
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
                "removed all updates to {version}: cannot parse {}: {why}",
                crate::graph::key::PREVIOUS_REMOVE_REGEX
            ),
        }
    }
}
