//! Why an update is not offered.

use fairway_api::reason::{retrieved_updates, upgradeable};
use fairway_api::{ClusterVersion, ConditionStatus, Version};
use serde::Serialize;

use super::listed::Listed;

/// What the update graph says about the update, whoever has looked at it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphFacts {
    /// The channels that the release is in; none where the graph has no such release.
    pub channels: Option<Vec<String>>,
    /// Whether it has an update from the present version to that release, in whichever channel.
    pub edge: bool,
    /// The versions on a way there, with both ends; empty where there is none.
    pub way: Vec<String>,
}

/// Why an update is not offered, or what else stands in its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "because")]
pub enum WhyNot {
    /// No channel is chosen, so nobody looks for updates.
    NoChannel,
    /// Nobody knows which updates there are now.
    UpdatesUnknown {
        /// One word for why.
        reason: Option<String>,
        /// Why, for people.
        message: Option<String>,
    },
    /// It is earlier than the version from which updates begin.
    Earlier,
    /// It is of another major version, or leaves out more than one minor version: no update service
    /// leads that far at once.
    TooFar,
    /// There is no such release.
    NoRelease,
    /// The release is not in the channel.
    NotInChannel {
        /// The channels that it is in.
        channels: Vec<String>,
    },
    /// No update leads there from the present version.
    NoUpdate {
        /// The versions on a way there, with both ends.
        way: Vec<String>,
    },
    /// The update service offers others.
    NotListed {
        /// The offered versions of the same minor version, the latest first.
        instead: Vec<String>,
    },
    /// Something stands against later minor versions as such.
    NotUpgradeable {
        /// One word for why.
        reason: Option<String>,
        /// Why, for people.
        message: Option<String>,
    },
}

/// Minor versions that an update may go at once.
const FARTHEST: u64 = 2;

/// Everything that keeps a version from being offered.
pub(super) fn of(
    target: &Version,
    version: &ClusterVersion,
    graph: Option<&GraphFacts>,
) -> Vec<WhyNot> {
    let listed = Listed::of(version);
    let current = listed.current().and_then(|current| Version::parse(current).ok());
    let mut because = Vec::new();
    because.extend(unknown(version));
    if let Some(current) = &current {
        because.extend(distance(current, target));
        because.extend(not_upgradeable(version, current, target));
    }
    because.extend(match graph {
        Some(facts) => in_graph(facts, version),
        None => not_listed(target, listed),
    });
    because
}

/// Nobody looks for updates, or nobody has found them.
fn unknown(version: &ClusterVersion) -> Option<WhyNot> {
    if version.spec.channel.as_ref().is_none_or(String::is_empty) {
        return Some(WhyNot::NoChannel);
    }
    let retrieved = Listed::of(version).condition(retrieved_updates::TYPE);
    if retrieved.is_some_and(|condition| condition.status == ConditionStatus::True) {
        return None;
    }
    let reason = retrieved.and_then(|condition| condition.reason.clone());
    let message = retrieved.and_then(|condition| condition.message.clone());
    Some(WhyNot::UpdatesUnknown { reason, message })
}

fn distance(current: &Version, target: &Version) -> Option<WhyNot> {
    if target < current {
        return Some(WhyNot::Earlier);
    }
    let is_near = target.major() == current.major()
        && target.minor().saturating_sub(current.minor()) <= FARTHEST;
    (!is_near).then_some(WhyNot::TooFar)
}

fn not_upgradeable(
    version: &ClusterVersion,
    current: &Version,
    target: &Version,
) -> Option<WhyNot> {
    let condition = Listed::of(version).condition(upgradeable::TYPE)?;
    let is_later = (target.major(), target.minor()) > (current.major(), current.minor());
    (is_later && condition.status == ConditionStatus::False).then(|| WhyNot::NotUpgradeable {
        reason: condition.reason.clone(),
        message: condition.message.clone(),
    })
}

fn in_graph(facts: &GraphFacts, version: &ClusterVersion) -> Option<WhyNot> {
    let GraphFacts { channels, edge, way } = facts;
    let Some(channels) = channels else { return Some(WhyNot::NoRelease) };
    let channel = version.spec.channel.as_deref().unwrap_or_default();
    if !channel.is_empty() && !channels.iter().any(|known| known == channel) {
        return Some(WhyNot::NotInChannel { channels: channels.clone() });
    }
    (!edge).then(|| WhyNot::NoUpdate { way: way.clone() })
}

/// ClusterVersion has no word about what is not offered, but about what is.
fn not_listed(target: &Version, listed: Listed) -> Option<WhyNot> {
    let offered = listed.conditional().into_iter().map(|update| &update.release);
    let offered = offered.chain(listed.available());
    let versions = offered.filter_map(|release| Version::parse(&release.version).ok());
    let mut near: Vec<Version> =
        versions.filter(|version| version.stream() == target.stream()).collect();
    near.sort();
    near.dedup();
    let instead = near.iter().rev().map(ToString::to_string).collect();
    Some(WhyNot::NotListed { instead })
}
