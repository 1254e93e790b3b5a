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
    pub said: Result<Said, Unread>,
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

/// Why nothing is known about a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unread {
    /// What went wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Whether a cluster may update; of several, the worst counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// It may, or need not.
    Yes,
    /// It is not known.
    CannotTell,
    /// It may not.
    No,
}

/// Where the clusters of a fleet may go.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[must_use = "a report has no effect unless it is used"]
pub struct FleetReport {
    /// The versions that were asked about; without any, the best update of each minor version.
    pub targets: Vec<String>,
    /// How many clusters may, and how many may not.
    pub counts: Counts,
    /// Each cluster, in the order in which they were named.
    pub clusters: Vec<ClusterReport>,
    /// What stands against updates, the most common first.
    pub risks: Vec<CommonRisk>,
}

/// How many clusters got which answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Those that may.
    pub yes: usize,
    /// Those that may not.
    pub no: usize,
    /// Those of which it is not known, unread ones among them.
    pub cannot_tell: usize,
    /// Those that could not be read.
    pub unread: usize,
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
    pub fn answer(&self) -> Option<Answer> {
        let is_read = self.counts.unread < self.clusters.len();
        let worst = self.clusters.iter().map(|cluster| cluster.answer).max();
        worst.filter(|_| is_read)
    }
}

impl Counts {
    fn of(clusters: &[ClusterReport]) -> Self {
        let answered = |answer| clusters.iter().filter(|cluster| cluster.answer == answer).count();
        Self {
            yes: answered(Answer::Yes),
            no: answered(Answer::No),
            cannot_tell: answered(Answer::CannotTell),
            unread: clusters.iter().filter(|cluster| cluster.unread.is_some()).count(),
        }
    }
}

#[cfg(test)]
mod tests;
