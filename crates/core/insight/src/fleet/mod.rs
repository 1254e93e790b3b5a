//! Updates of several clusters, and the risks that block them.
//!
//! | module | content |
//! | --- | --- |
//! | `cluster` | report on one cluster, and its blockers |
//! | `target` | report on the update of one cluster to one version |
//! | `common` | risks that several clusters have |

mod cluster;
mod common;
mod target;

use fairway_api::{ClusterVersion, Version};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

pub use cluster::{Blocker, ClusterReport, Scope};
pub use common::CommonRisk;
pub use target::{TargetReport, TargetState};

/// Cluster of a fleet.
#[derive(Clone, Debug)]
pub struct FleetMember {
    /// Name of the cluster.
    pub name: String,
    /// State of the cluster, or why it could not be read.
    pub snapshot: Result<ClusterSnapshot, ClusterError>,
}

/// State of one cluster.
#[derive(Clone, Debug)]
pub struct ClusterSnapshot {
    /// ClusterVersion.
    pub version: ClusterVersion,
    /// Preflights, one per release.
    pub preflights: Vec<Preflight>,
    /// Why preflight results are incomplete.
    pub preflights_unread: Option<String>,
    /// Time of the observation.
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

/// Whether a cluster can update. The readiness for several updates is the worst of their readiness
/// values.
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
    /// Requested versions. If empty, the report has one update of each minor version: the latest
    /// recommended one, or else the latest.
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

/// Preflight of one release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Preflight {
    /// Version of the release.
    #[serde(skip)]
    pub version: String,
    /// Result of the preflight.
    pub result: PreflightResult,
    /// Names of unaccepted findings that block the update.
    pub findings: Vec<String>,
    /// Age of the oldest result of a check.
    pub age_seconds: Option<i64>,
}

/// Result of a preflight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PreflightResult {
    /// All checks have a result, and no finding blocks the update.
    NoFindings,
    /// All checks have a result, and all findings are accepted.
    FindingsAccepted,
    /// All checks have a result, and a finding blocks the update.
    Findings,
    /// Some checks have not completed.
    Running,
    /// Some checks completed without a result.
    Incomplete,
    /// All checks have a result, but the cluster has changed and some checks have not run again.
    Stale,
    /// The results are from another version of the cluster.
    Outdated,
    /// The preflight failed.
    Failed,
    /// No preflight was run.
    NotRun,
    /// The operator does not support preflights.
    Unsupported,
}

impl FleetReport {
    /// Reports on clusters and versions.
    pub fn of(members: &[FleetMember], targets: &[Version]) -> Self {
        let clusters: Vec<_> =
            members.iter().map(|member| ClusterReport::of(member, targets)).collect();
        Self {
            targets: targets.iter().map(ToString::to_string).collect(),
            counts: Counts::of(&clusters),
            risks: common::of(members, &clusters),
            clusters,
        }
    }

    /// Worst readiness of all clusters, `None` if no cluster could be read.
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
