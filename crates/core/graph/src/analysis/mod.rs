//! Analysis of a graph: upgrade paths, differences, explanations. Every report can be displayed
//! and serialized.

mod explanation;
mod graph_changes;
mod graph_data_changes;
mod paths;

pub use explanation::{ExplanationError, UpdateCause, UpdateExplanation, UpdateState};
pub use graph_changes::{EdgeChange, EdgeState, GraphChanges};
pub use graph_data_changes::{
    BlockedEdgeChange, BlockedEdgeContent, ChannelChange, GraphDataChanges,
};
pub use paths::{
    CheapestPaths, PathCost, UpgradeHop, UpgradePath, UpgradePathError, UpgradePaths, channels,
    latest, paths,
};

use std::fmt;

/// A number with its noun.
struct Count(usize, &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, noun) = self;
        match count {
            0 => write!(f, "no {noun}s"),
            1 => write!(f, "1 {noun}"),
            _ => write!(f, "{count} {noun}s"),
        }
    }
}
