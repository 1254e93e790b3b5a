//! What the status of ClusterVersion is, as a function of what everybody knows.

use fairway_api::cluster_version::{ClusterVersionStatus, Release};
use fairway_api::reason::{RETIRED_TYPES, invalid, retrieved_updates, upgradeable};
use fairway_api::{ClusterVersion, Conditions as _, OperatorCondition};
use jiff::Timestamp;

use super::conditions;
use super::history::{self, Step};
use super::invalid::{cannot_tell_yet, problems};
use super::release;
use crate::own_release::OwnRelease;
use crate::stage::preflight::Preflight;
use crate::stage::risks::Risks;
use crate::stage::rollout::{Phase, Rollout};
use crate::stage::target::Target;
use crate::stage::updates::Updates;

/// What everybody knows. `None` is what nobody knows yet: a status that says something about it
/// was written by a predecessor and stays.
#[derive(Clone, Copy)]
pub(super) struct Facts<'a> {
    pub(super) own: &'a OwnRelease,
    pub(super) updates: Option<&'a Updates>,
    pub(super) preflight: Option<&'a Preflight>,
    pub(super) risks: Option<&'a Risks>,
    pub(super) target: Option<&'a Target>,
    pub(super) rollout: Option<&'a Rollout>,
}

/// The status that ClusterVersion should have.
pub(super) fn compose(
    cluster_version: &ClusterVersion,
    facts: Facts,
    now: Timestamp,
) -> ClusterVersionStatus {
    let mut status = cluster_version.status.clone().unwrap_or_default();
    release::show(&mut status, &facts);
    for type_ in RETIRED_TYPES {
        status.conditions.discard(type_);
    }
    let problems = problems(cluster_version, facts.updates);
    if problems.is_some() || !cannot_tell_yet(cluster_version, facts.updates) {
        set(&mut status, invalid::TYPE, problems, now);
    }
    if let Some(target) = facts.target {
        show_target(&mut status, target, facts, now);
    }
    if let Some(updates) = facts.updates {
        status.conditions.set(updates.retrieved.clone(), now);
    }
    for condition in facts.preflight.into_iter().flat_map(|preflight| &preflight.conditions) {
        status.conditions.set(condition.clone(), now);
    }
    if let Some(Risks { evaluated, .. }) = facts.risks {
        set(&mut status, upgradeable::TYPE, evaluated.upgradeable.clone(), now);
    }
    if let Some(Risks { evaluated, .. }) = facts.risks.filter(|_| release::is_own(&status, &facts))
    {
        status.available_updates = Some(evaluated.available_updates.clone());
        status.conditional_updates.clone_from(&evaluated.conditional_updates);
        status.conditional_update_risks.clone_from(&evaluated.conditional_update_risks);
    }
    observe(&mut status, cluster_version, facts);
    status
}

fn set(
    status: &mut ClusterVersionStatus,
    type_: &str,
    condition: Option<OperatorCondition>,
    now: Timestamp,
) {
    match condition {
        Some(condition) => status.conditions.set(condition, now),
        None => status.conditions.discard(type_),
    }
}

/// Everything about the release that is rolled out.
fn show_target(status: &mut ClusterVersionStatus, target: &Target, facts: Facts, now: Timestamp) {
    let release = status.desired.clone();
    // What the rollout says about another release was said before it knew of this one.
    let rollout = facts.rollout.filter(|rollout| rollout.image == release.image);
    let has_begun = status.history.first().is_some_and(|newest| newest.image == release.image);
    let step = Step {
        release: &release,
        verified: target.verified,
        accepted_risks: target.accepted_risks.as_deref(),
        completed: rollout.is_some_and(|rollout| rollout.phase == Phase::Reconciling),
    };
    history::record(&mut status.history, &step, now);
    if !target.payload.version_hash.is_empty() {
        status.version_hash.clone_from(&target.payload.version_hash);
    }
    let capabilities =
        conditions::capabilities::status(status.capabilities.take(), &target.capabilities);
    status.capabilities = Some(capabilities);

    let is_invalid = status.conditions.is_true(invalid::TYPE);
    let mut say = |condition| status.conditions.set(condition, now);
    say(conditions::capabilities::condition(&target.capabilities));
    say(target.release_accepted.clone());
    match rollout {
        Some(rollout) => {
            if let Some(available) = conditions::available::condition(&release, rollout) {
                say(available);
            }
            say(conditions::failing::condition(rollout, now));
            say(conditions::progressing::condition(&release, rollout, is_invalid, now));
        }
        // What a predecessor said about this release stays, and nobody has to begin at 0 %.
        None if has_begun => {}
        None => say(conditions::progressing::begun(&release)),
    }
    if let Some(failing) = conditions::failing::without_image(&release) {
        say(failing);
    }
    say_at_least(status, &release, now);
}

/// Conditions that are always there.
fn say_at_least(status: &mut ClusterVersionStatus, release: &Release, now: Timestamp) {
    for initial in [
        conditions::available::initial(),
        conditions::failing::initial(),
        conditions::progressing::begun(release),
        OperatorCondition::new(retrieved_updates::TYPE, false),
    ] {
        if status.conditions.find(&initial.type_).is_none() {
            status.conditions.set(initial, now);
        }
    }
}

/// A generation is observed when all have seen it; what the risks have seen, the stages before them
/// have. What they saw may have been an object of this
/// name that is gone, and had more changes.
fn observe(status: &mut ClusterVersionStatus, cluster_version: &ClusterVersion, facts: Facts) {
    let (Some(risks), Some(target)) = (facts.risks, facts.target) else { return };
    let seen = risks.generation.min(target.generation);
    let current = cluster_version.metadata.generation.unwrap_or(seen);
    status.observed_generation = status.observed_generation.max(seen).min(current);
}
