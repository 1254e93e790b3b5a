//! Available updates, and the issues before an update.
//!
//! | module | content |
//! | --- | --- |
//! | `targets` | the updates of a cluster, and whether they are recommended |
//! | `prechecks` | checks of the alerts before an update |
//! | `issues` | issues before an update, with the names by which they are accepted |

mod issues;
mod prechecks;
mod targets;

use std::collections::BTreeSet;

use fairway_api::reason::retrieved_updates;
use fairway_api::{ClusterVersion, ClusterVersionStatus, Conditions as _, Version};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

pub use issues::{
    CANNOT_RETRIEVE_UPDATES, CONDITIONAL_UPDATE_RISK, FAILED_TO_COMPLETE_PRECHECK, Issue,
};
pub use prechecks::Precheck;
pub use targets::Target;

pub(crate) use targets::{UPGRADEABLE_FALSE, UpgradeableFalse};

use crate::Verdict;
use crate::alerts::{AlertAvailability, Alerts};

/// Updates of a cluster, and the issues before an update.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recommendation {
    /// Time at which the cluster was observed.
    #[schemars(with = "String")]
    pub observation_time: Timestamp,
    /// URL of the update service, `null` if the operator uses its default.
    pub upstream: Option<String>,
    /// Channel of the cluster.
    pub channel: Option<String>,
    /// Channels that contain the current release.
    pub channels: Vec<String>,
    /// Checks before an update, and their results.
    pub prechecks: Vec<Precheck>,
    /// Whether the alerts of the cluster are available.
    pub alerts: AlertAvailability,
    /// Issues with all updates, or with the requested one.
    pub issues: Vec<Issue>,
    /// Names of unaccepted issues.
    pub unaccepted: Vec<String>,
    /// Invalid versions of updates, which are left out.
    pub invalid_versions: Vec<String>,
    /// All updates, or the requested one.
    #[serde(flatten)]
    pub result: RecommendResult,
    /// Whether alerts are missing in the recording of a cluster that has some.
    #[serde(skip)]
    alerts_missing: bool,
}

/// All updates, or the requested one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum RecommendResult {
    /// All updates.
    #[serde(rename_all = "camelCase")]
    All {
        /// Updates, latest first.
        updates: Vec<Target>,
        /// Whether the operator has retrieved updates.
        updates_retrieved: bool,
    },
    /// The requested update.
    #[serde(rename_all = "camelCase")]
    One {
        /// Update, `null` if it is not offered.
        target: Option<Target>,
        /// Why the update is not offered, and which updates are.
        not_offered_message: Option<String>,
    },
}

/// Update that a recommendation is about.
#[derive(Clone, Debug, Default)]
pub struct RecommendQuery {
    /// Target version, `None` for all updates.
    pub version: Option<Version>,
    /// Names of accepted issues or risks.
    pub accept: BTreeSet<String>,
}

impl Recommendation {
    /// Recommends updates of a cluster.
    pub fn of(
        cluster_version: &ClusterVersion,
        alerts: &Alerts,
        query: &RecommendQuery,
        now: Timestamp,
    ) -> Self {
        let nothing = ClusterVersionStatus::default();
        let status = cluster_version.status.as_ref().unwrap_or(&nothing);
        let (updates, invalid_versions) = targets::of(status);
        let prechecks = prechecks::of(alerts);
        let mut issues = issues::of_cluster(status, alerts, &prechecks);
        let updates_retrieved = updates_retrieved(status, &updates);
        let result = match &query.version {
            None => RecommendResult::All { updates, updates_retrieved },
            Some(version) => one(updates, version, updates_retrieved),
        };
        if let RecommendResult::One { target: Some(target), .. } = &result {
            issues.extend(issues::of_target(target));
        }
        for issue in &mut issues {
            issue.accepted = issue.is_accepted(&query.accept);
        }
        let open = issues.iter().filter(|issue| !issue.accepted);
        let unaccepted: BTreeSet<String> = open.map(|issue| issue.name.clone()).collect();
        let spec = &cluster_version.spec;
        Self {
            observation_time: now,
            upstream: spec.upstream.clone().filter(|upstream| !upstream.is_empty()),
            channel: spec.channel.clone().filter(|channel| !channel.is_empty()),
            channels: status.desired.channels.clone(),
            prechecks,
            alerts: alerts.known(),
            unaccepted: unaccepted.into_iter().collect(),
            issues,
            invalid_versions,
            result,
            alerts_missing: matches!(alerts, Alerts::NotRecorded),
        }
    }

    /// Whether the requested update has unaccepted issues. A list of updates is always `Yes`.
    pub fn verdict(&self) -> Verdict {
        let mut open = self.issues.iter().filter(|issue| !issue.accepted).peekable();
        match &self.result {
            RecommendResult::All { updates_retrieved: true, .. } => Verdict::Yes,
            RecommendResult::All { updates_retrieved: false, .. }
            | RecommendResult::One { target: None, .. } => Verdict::Unknown,
            _ if open.peek().is_none() && !self.alerts_missing => Verdict::Yes,
            _ if open.any(|issue| issue.certain) => Verdict::No,
            _ => Verdict::Unknown,
        }
    }
}

/// Whether the operator has retrieved updates.
fn updates_retrieved(status: &ClusterVersionStatus, updates: &[Target]) -> bool {
    !updates.is_empty() || status.conditions.is_true(retrieved_updates::TYPE)
}

/// The update to a version, or why it is not offered.
fn one(updates: Vec<Target>, version: &Version, updates_retrieved: bool) -> RecommendResult {
    let parsed = |target: &Target| Version::parse(&target.version).ok();
    let same_major =
        |target: &Target| parsed(target).is_some_and(|one| one.major() == version.major());
    let same_stream =
        |target: &Target| parsed(target).is_some_and(|one| one.stream() == version.stream());
    let not_offered = if !updates_retrieved {
        "the available updates are unknown".to_owned()
    } else if updates.is_empty() {
        "no updates are available".to_owned()
    } else if !updates.iter().any(same_major) {
        format!("no updates to {} are available", version.major())
    } else if !updates.iter().any(same_stream) {
        format!("no updates to {} are available", version.stream())
    } else {
        format!("no update to {version} is available")
    };
    let text = version.to_string();
    let target = updates.into_iter().find(|target| target.version == text);
    let not_offered = target.is_none().then_some(not_offered);
    RecommendResult::One { target, not_offered_message: not_offered }
}

#[cfg(test)]
mod tests;
