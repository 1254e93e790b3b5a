//! Many clusters at once: where each of them may go, and what stands in the way of several.

mod blockers;
mod cluster;
mod common;
mod preflight;
mod target;

use fairway_api::{ClusterVersion, Version};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

pub use blockers::{Blocker, Scope};
pub use cluster::ClusterReport;
pub use common::CommonRisk;
pub use preflight::{Preflight, PreflightResult};
pub use target::{TargetReport, Verdict};

/// A cluster of a fleet.
#[derive(Clone, Debug)]
pub struct Member {
    /// How people call it.
    pub name: String,
    /// What it said, or why that is not known.
    pub said: Result<Said, ClusterError>,
}

/// What a cluster said about itself.
#[derive(Clone, Debug)]
pub struct Said {
    /// Its version, and the updates that it lists.
    pub version: ClusterVersion,
    /// What is known about preflights, each of another release.
    pub preflights: Vec<Preflight>,
    /// Why something of that is not at hand.
    pub preflights_unread: Option<String>,
    /// The time that all of it is about.
    pub now: Timestamp,
}

/// Why a cluster could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClusterError {
    /// Error message.
    pub message: String,
    /// Next step, with a command.
    pub hint: Option<String>,
}

/// Whether a cluster can update. The readiness of several updates is the worst of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Readiness {
    /// The cluster can update, or already has the release.
    Ready,
    /// The data is incomplete.
    Unknown,
    /// The update is blocked.
    Blocked,
}

/// Updates of the clusters of a fleet.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[must_use = "a report has no effect unless it is used"]
pub struct FleetReport {
    /// Requested versions. If empty, the report has the best update of each minor version.
    pub targets: Vec<String>,
    /// Numbers of clusters by readiness.
    pub counts: Counts,
    /// Clusters, in the order of the arguments.
    pub clusters: Vec<ClusterReport>,
    /// Unaccepted risks, the most common first.
    pub risks: Vec<CommonRisk>,
}

/// Numbers of clusters by readiness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Clusters that can update.
    pub ready: usize,
    /// Clusters with a blocked update.
    pub blocked: usize,
    /// Clusters with incomplete data, including those with errors.
    pub unknown: usize,
    /// Clusters that could not be read.
    pub errors: usize,
}

impl FleetReport {
    /// What is known about these clusters and versions.
    pub fn of(members: &[Member], targets: &[Version]) -> Self {
        let clusters: Vec<_> =
            members.iter().map(|member| ClusterReport::of(member, targets)).collect();
        Self {
            targets: targets.iter().map(ToString::to_string).collect(),
            counts: Counts::of(&clusters),
            risks: common::of(members, &clusters),
            clusters,
        }
    }

    /// Whether all of them may; none where nothing is known about any.
    pub fn readiness(&self) -> Option<Readiness> {
        let is_read = self.counts.errors < self.clusters.len();
        let worst = self.clusters.iter().map(|cluster| cluster.readiness).max();
        worst.filter(|_| is_read)
    }
}

impl Counts {
    fn of(clusters: &[ClusterReport]) -> Self {
        let count =
            |readiness| clusters.iter().filter(|cluster| cluster.readiness == readiness).count();
        Self {
            ready: count(Readiness::Ready),
            blocked: count(Readiness::Blocked),
            unknown: count(Readiness::Unknown),
            errors: clusters.iter().filter(|cluster| cluster.error.is_some()).count(),
        }
    }
}

#[cfg(test)]
mod tests;
