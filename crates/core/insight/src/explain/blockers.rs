//! Blockers of an update, besides its risks.

use fairway_api::cluster_version::ConditionalUpdate;
use fairway_api::reason::{retrieved_updates, upgradeable};
use fairway_api::{ClusterVersion, ClusterVersionStatus, ConditionStatus, UpdateDistance, Version};
use schemars::JsonSchema;
use serde::Serialize;

use super::listed::ListedUpdates;
use crate::plan::NotOffered;
use crate::recommend::UpgradeableFalse;

/// Why an update is not offered, or what else blocks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "type")]
pub enum UpdateBlocker {
    /// The cluster has no channel, so the operator retrieves no updates.
    NoChannel,
    /// The operator could not retrieve the updates.
    UpdatesNotRetrieved {
        /// Reason of the condition `RetrievedUpdates`.
        reason: Option<String>,
        /// Message of the condition `RetrievedUpdates`.
        message: Option<String>,
    },
    /// The cluster does not allow updates to later minor versions.
    NotUpgradeable {
        /// Reason of the condition `Upgradeable`.
        reason: Option<String>,
        /// Message of the condition `Upgradeable`.
        message: Option<String>,
    },
    /// The graph has no upgrade path to the version, or the path is blocked.
    NoPath(NotOffered),
    /// The update service offers other versions.
    NotListed {
        /// Offered versions with the same minor version, latest first.
        alternatives: Vec<String>,
    },
}

/// Reasons why a version is not offered. The graph has more details than ClusterVersion.
pub(super) fn of(
    target: &Version,
    version: &ClusterVersion,
    graph: Option<&NotOffered>,
) -> Vec<UpdateBlocker> {
    let listed = ListedUpdates::of(version);
    let current = listed.current().and_then(|current| Version::parse(current).ok());
    let mut blockers: Vec<UpdateBlocker> = unknown(version).into_iter().collect();
    if let Some(current) = &current {
        blockers.extend(not_upgradeable(version, current, target));
    }
    // Until a rollout completes, components have the version of the newest completed release.
    let completed = version.status.as_ref().and_then(ClusterVersionStatus::completed_version);
    let completed = completed.filter(|completed| completed < target);
    let too_far = current.into_iter().chain(completed).find_map(|from| too_far(&from, target));
    let no_path = graph.cloned().or(too_far).map(UpdateBlocker::NoPath);
    blockers.push(no_path.unwrap_or_else(|| not_listed(target, listed)));
    blockers
}

/// Blockers of an offered update, besides its risks.
pub(super) fn of_offered(
    target: &Version,
    update: Option<&ConditionalUpdate>,
    version: &ClusterVersion,
) -> Vec<UpdateBlocker> {
    let upgradeable = version.status.as_ref().and_then(UpgradeableFalse::of);
    let blocking = upgradeable.filter(|upgradeable| upgradeable.blocks(update, target));
    let blocker = |upgradeable: UpgradeableFalse| UpdateBlocker::NotUpgradeable {
        reason: upgradeable.reason().map(str::to_owned),
        message: Some(upgradeable.message().to_owned()).filter(|message| !message.is_empty()),
    };
    blocking.map(blocker).into_iter().collect()
}

/// Why the list of updates is missing.
fn unknown(version: &ClusterVersion) -> Option<UpdateBlocker> {
    if version.spec.channel.as_ref().is_none_or(String::is_empty) {
        return Some(UpdateBlocker::NoChannel);
    }
    let retrieved = ListedUpdates::of(version).condition(retrieved_updates::TYPE);
    if retrieved.is_some_and(|condition| condition.status == ConditionStatus::True) {
        return None;
    }
    let reason = retrieved.and_then(|condition| condition.reason.clone());
    let message = retrieved.and_then(|condition| condition.message.clone());
    Some(UpdateBlocker::UpdatesNotRetrieved { reason, message })
}

fn too_far(current: &Version, target: &Version) -> Option<NotOffered> {
    match UpdateDistance::between(current, target) {
        UpdateDistance::Usual | UpdateDistance::SkipLevel => None,
        UpdateDistance::TooFar { minors } => {
            Some(NotOffered::Guard { minor_distance: Some(minors) })
        }
        UpdateDistance::Major => Some(NotOffered::Guard { minor_distance: None }),
        UpdateDistance::Back => Some(NotOffered::Older),
    }
}

fn not_upgradeable(
    version: &ClusterVersion,
    current: &Version,
    target: &Version,
) -> Option<UpdateBlocker> {
    let condition = ListedUpdates::of(version).condition(upgradeable::TYPE)?;
    let is_later = (target.major(), target.minor()) > (current.major(), current.minor());
    (is_later && condition.status == ConditionStatus::False).then(|| {
        UpdateBlocker::NotUpgradeable {
            reason: condition.reason.clone(),
            message: condition.message.clone(),
        }
    })
}

/// ClusterVersion has no reason for a missing update, so this lists the alternatives.
fn not_listed(target: &Version, listed: ListedUpdates) -> UpdateBlocker {
    let offered = listed.conditional().into_iter().map(|update| &update.release);
    let offered = offered.chain(listed.available());
    let versions = offered.filter_map(|release| Version::parse(&release.version).ok());
    let mut near: Vec<Version> =
        versions.filter(|version| version.stream() == target.stream()).collect();
    near.sort();
    near.dedup();
    let alternatives = near.iter().rev().map(ToString::to_string).collect();
    UpdateBlocker::NotListed { alternatives }
}
