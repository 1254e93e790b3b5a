//! Which updates there are, and what speaks against them.

mod blanket;
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

pub(crate) use blanket::Blanket;
pub(crate) use targets::UPGRADEABLE_FALSE;

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
    pub answer: Answer,
    /// Whether alerts are missing in the recording of a cluster that has some.
    #[serde(skip)]
    alerts_missing: bool,
}

/// All updates, or the requested one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Answer {
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

/// What a question about one update is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing that is not accepted speaks against it.
    Yes,
    /// Something does.
    No,
    /// It cannot be told.
    CannotTell,
}

/// What is asked about.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// One version; else all.
    pub version: Option<Version>,
    /// Names of issues, or of risks, that somebody accepts.
    pub accept: BTreeSet<String>,
}

impl Recommendation {
    /// What is known about updates of a cluster.
    pub fn of(
        cluster_version: &ClusterVersion,
        alerts: &Alerts,
        question: &Question,
        now: Timestamp,
    ) -> Self {
        let nothing = ClusterVersionStatus::default();
        let status = cluster_version.status.as_ref().unwrap_or(&nothing);
        let (updates, invalid_versions) = targets::of(status);
        let prechecks = prechecks::of(alerts);
        let mut issues = issues::of_cluster(status, alerts, &prechecks);
        let answer = match &question.version {
            None => {
                let updates_retrieved = updates_retrieved(status, &updates);
                Answer::All { updates, updates_retrieved }
            }
            Some(version) => {
                let updates_retrieved = updates_retrieved(status, &updates);
                one(updates, version, updates_retrieved)
            }
        };
        if let Answer::One { target: Some(target), .. } = &answer {
            issues.extend(issues::of_target(target));
        }
        for issue in &mut issues {
            issue.accepted = issue.is_accepted(&question.accept);
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
            answer,
            alerts_missing: matches!(alerts, Alerts::NotRecorded),
        }
    }

    /// The answer in one word. A list is an answer, whatever is in it.
    pub fn verdict(&self) -> Verdict {
        let mut open = self.issues.iter().filter(|issue| !issue.accepted).peekable();
        match &self.answer {
            Answer::All { updates_retrieved: true, .. } => Verdict::Yes,
            Answer::All { updates_retrieved: false, .. } | Answer::One { target: None, .. } => {
                Verdict::CannotTell
            }
            _ if open.peek().is_none() && !self.alerts_missing => Verdict::Yes,
            _ if open.any(|issue| issue.certain) => Verdict::No,
            _ => Verdict::CannotTell,
        }
    }
}

/// Whether somebody has looked which updates there are.
fn updates_retrieved(status: &ClusterVersionStatus, updates: &[Target]) -> bool {
    !updates.is_empty() || status.conditions.is_true(retrieved_updates::TYPE)
}

/// The update to a version; else the nearest thing that can be said.
fn one(updates: Vec<Target>, version: &Version, updates_retrieved: bool) -> Answer {
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
    Answer::One { target, not_offered_message: not_offered }
}

#[cfg(test)]
mod tests;
