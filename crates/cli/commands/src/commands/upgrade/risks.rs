//! What a ClusterVersion says about the risks of updates.

use std::collections::BTreeSet;

use fairway_api::cluster_version::{ConditionalUpdate, ConditionalUpdateRisk};
use fairway_api::{ClusterVersion, ClusterVersionStatus, Version};
use fairway_risk::{ANNOTATION, Acceptance};
use jiff::Timestamp;

pub(super) use fairway_insight::Exposure;
pub(super) use fairway_insight::exposure::said as applies;

/// What the risk of that name says: to all updates together, which is what is accepted.
pub(super) fn definition<'a>(
    status: &'a ClusterVersionStatus,
    name: &str,
) -> Option<&'a ConditionalUpdateRisk> {
    let of_updates = status.conditional_updates.iter().flat_map(|update| &update.risks);
    status.conditional_update_risks.iter().chain(of_updates).find(|risk| risk.name == name)
}

/// A fingerprint of what the risk of that name says; empty where it is not known.
pub(super) fn definition_hash(status: &ClusterVersionStatus, name: &str) -> String {
    definition(status, name).map(fairway_risk::definition_hash).unwrap_or_default()
}

/// The names of an update's risks.
pub(super) fn names(update: &ConditionalUpdate) -> BTreeSet<&str> {
    let spelled_out = update.risks.iter().map(|risk| &risk.name);
    spelled_out.chain(&update.risk_names).map(String::as_str).collect()
}

/// The names of all risks.
pub(super) fn all_names(status: &ClusterVersionStatus) -> BTreeSet<&str> {
    let ledger = status.conditional_update_risks.iter().map(|risk| risk.name.as_str());
    ledger.chain(status.conditional_updates.iter().flat_map(names)).collect()
}

/// What the administrator accepts.
pub(super) fn acceptance(cluster_version: &ClusterVersion) -> Acceptance {
    Acceptance::of(cluster_version)
}

/// Whether risks were accepted for updates to that version, whichever: then others are new.
pub(super) fn any_accepted_for(acceptance: &Acceptance, version: &str, now: Timestamp) -> bool {
    acceptance.names().any(|name| acceptance.standing(name, version, "", now).is_accepted())
}

/// The terms of acceptance, as they are stored.
pub(super) fn annotation(cluster_version: &ClusterVersion) -> Option<&str> {
    cluster_version.metadata.annotations.as_ref()?.get(ANNOTATION).map(String::as_str)
}

/// A key to sort by: the latest version first, and what is no version after all others.
pub(super) fn latest_first(version: &str) -> impl Ord + use<> {
    std::cmp::Reverse((Version::parse(version).ok(), version.to_owned()))
}
