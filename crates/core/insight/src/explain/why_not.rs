//! Why an update is not offered, or may not be begun with in spite of that.

use fairway_api::cluster_version::ConditionalUpdate;
use fairway_api::reason::{retrieved_updates, upgradeable};
use fairway_api::{ClusterVersion, ConditionStatus, Leap, Version};
use schemars::JsonSchema;
use serde::Serialize;

use super::listed::Listed;
use crate::plan::NotOffered;
use crate::recommend::Blanket;

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

/// Everything that keeps a version from being offered. The graph may say more than ClusterVersion.
pub(super) fn of(
    target: &Version,
    version: &ClusterVersion,
    graph: Option<&NotOffered>,
) -> Vec<UpdateBlocker> {
    let listed = Listed::of(version);
    let current = listed.current().and_then(|current| Version::parse(current).ok());
    let mut because: Vec<UpdateBlocker> = unknown(version).into_iter().collect();
    if let Some(current) = &current {
        because.extend(not_upgradeable(version, current, target));
    }
    let too_far = current.and_then(|current| too_far(&current, target));
    let no_way = graph.cloned().or(too_far).map(UpdateBlocker::NoPath);
    because.push(no_way.unwrap_or_else(|| not_listed(target, listed)));
    because
}

/// What stands against an update that is offered, besides its risks.
pub(super) fn in_spite_of_the_offer(
    target: &Version,
    update: Option<&ConditionalUpdate>,
    version: &ClusterVersion,
) -> Vec<UpdateBlocker> {
    let blanket = version.status.as_ref().and_then(Blanket::of);
    let blanket = blanket.filter(|blanket| blanket.is_against(update, target));
    let not_upgradeable = |blanket: Blanket| UpdateBlocker::NotUpgradeable {
        reason: blanket.reason().map(str::to_owned),
        message: Some(blanket.message().to_owned()).filter(|message| !message.is_empty()),
    };
    blanket.map(not_upgradeable).into_iter().collect()
}

/// Nobody looks for updates, or nobody has found them.
fn unknown(version: &ClusterVersion) -> Option<UpdateBlocker> {
    if version.spec.channel.as_ref().is_none_or(String::is_empty) {
        return Some(UpdateBlocker::NoChannel);
    }
    let retrieved = Listed::of(version).condition(retrieved_updates::TYPE);
    if retrieved.is_some_and(|condition| condition.status == ConditionStatus::True) {
        return None;
    }
    let reason = retrieved.and_then(|condition| condition.reason.clone());
    let message = retrieved.and_then(|condition| condition.message.clone());
    Some(UpdateBlocker::UpdatesNotRetrieved { reason, message })
}

fn too_far(current: &Version, target: &Version) -> Option<NotOffered> {
    match Leap::between(current, target) {
        Leap::Usual | Leap::SkipLevel => None,
        Leap::TooFar { minors } => Some(NotOffered::Guard { minor_distance: Some(minors) }),
        Leap::Major => Some(NotOffered::Guard { minor_distance: None }),
        Leap::Back => Some(NotOffered::Older),
    }
}

fn not_upgradeable(
    version: &ClusterVersion,
    current: &Version,
    target: &Version,
) -> Option<UpdateBlocker> {
    let condition = Listed::of(version).condition(upgradeable::TYPE)?;
    let is_later = (target.major(), target.minor()) > (current.major(), current.minor());
    (is_later && condition.status == ConditionStatus::False).then(|| {
        UpdateBlocker::NotUpgradeable {
            reason: condition.reason.clone(),
            message: condition.message.clone(),
        }
    })
}

/// ClusterVersion has no word about what is not offered, but about what is.
fn not_listed(target: &Version, listed: Listed) -> UpdateBlocker {
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
