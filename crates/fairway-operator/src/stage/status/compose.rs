//! What the status of ClusterVersion is, as a function of what everybody knows.

use fairway_api::cluster_version::{ClusterVersionStatus, Release};
use fairway_api::reason::{RETIRED_TYPES, invalid, upgradeable};
use fairway_api::{ClusterVersion, Conditions as _, OperatorCondition};
use jiff::Timestamp;

use super::invalid::{cannot_tell_yet, problems};
use crate::own_release::OwnRelease;
use crate::stage::risks::Risks;
use crate::stage::updates::{Updates, same_content};

/// What everybody knows. `None` is what nobody knows yet: a status that says something about it
/// was written by a predecessor and stays.
#[derive(Clone, Copy)]
pub(super) struct Facts<'a> {
    pub(super) own: &'a OwnRelease,
    pub(super) updates: Option<&'a Updates>,
    pub(super) risks: Option<&'a Risks>,
}

/// The status that ClusterVersion should have.
pub(super) fn compose(
    cluster_version: &ClusterVersion,
    facts: Facts,
    now: Timestamp,
) -> ClusterVersionStatus {
    let mut status = cluster_version.status.clone().unwrap_or_default();
    if is_of_another_release(&status.desired, facts.own) {
        forget_updates(&mut status);
    }
    status.desired = desired(&status.desired, facts);
    for type_ in RETIRED_TYPES {
        status.conditions.discard(type_);
    }
    let mut set = |type_, condition: Option<OperatorCondition>| match condition {
        Some(condition) => status.conditions.set(condition, now),
        None => status.conditions.discard(type_),
    };
    let problems = problems(cluster_version, facts.updates);
    if problems.is_some() || !cannot_tell_yet(cluster_version, facts.updates) {
        set(invalid::TYPE, problems);
    }
    if let Some(updates) = facts.updates {
        set(&updates.retrieved.type_, Some(updates.retrieved.clone()));
    }
    let Some(Risks { generation, evaluated, .. }) = facts.risks else { return status };
    set(upgradeable::TYPE, evaluated.upgradeable.clone());
    status.available_updates = Some(evaluated.available_updates.clone());
    status.conditional_updates.clone_from(&evaluated.conditional_updates);
    status.conditional_update_risks.clone_from(&evaluated.conditional_update_risks);
    // What was evaluated may be about an object of this name that is gone, and had more changes.
    let current = cluster_version.metadata.generation.unwrap_or(*generation);
    status.observed_generation = status.observed_generation.max(*generation).min(current);
    status
}

/// Whether somebody wrote the status who was of another release: the cluster was updated since.
fn is_of_another_release(desired: &Release, own: &OwnRelease) -> bool {
    !desired.image.is_empty() && !same_content(&desired.image, &own.release.image)
}

/// Updates from another release mean nothing. That there are none would be wrong as well: `None`
/// says that nobody has looked yet.
fn forget_updates(status: &mut ClusterVersionStatus) {
    status.available_updates = None;
    status.conditional_updates.clear();
    status.conditional_update_risks.clear();
}

/// The release that the cluster has: what the operator knows from its payload, and what the update
/// service says besides.
fn desired(before: &Release, Facts { own, updates, .. }: Facts) -> Release {
    let offered = updates.and_then(|updates| updates.described(&own.release.image));
    let said = offered.as_ref().unwrap_or(before);
    let mut desired = own.release.clone();
    if said.image == desired.image {
        if desired.version.is_empty() {
            desired.version.clone_from(&said.version);
        }
        desired.url = desired.url.or_else(|| said.url.clone());
        if !said.channels.is_empty() {
            desired.channels.clone_from(&said.channels);
        }
    }
    desired.unknown.clone_from(&before.unknown);
    desired
}
