//! The status of ClusterVersion as a function of the outputs of all stages.

use fairway_api::cluster_version::{ClusterVersionStatus, Release};
use fairway_api::reason::{RETIRED_TYPES, invalid, retrieved_updates, upgradeable};
use fairway_api::{ClusterVersion, Conditions as _, OperatorCondition};
use jiff::Timestamp;

use super::conditions;
use super::history::{self, HistoryUpdate};
use super::invalid::{is_undecided, problems};
use crate::own_release::OwnRelease;
use crate::stage::preflight::Preflight;
use crate::stage::risks::Risks;
use crate::stage::rollout::{Phase, Rollout};
use crate::stage::target::Target;
use crate::stage::updates::{Updates, same_content};

/// Latest outputs of the stages. `None` before the first output of a stage: the status then keeps what
/// an operator before this one wrote.
#[derive(Clone, Copy)]
pub(super) struct StageOutputs<'a> {
    pub(super) own: &'a OwnRelease,
    pub(super) updates: Option<&'a Updates>,
    pub(super) preflight: Option<&'a Preflight>,
    pub(super) risks: Option<&'a Risks>,
    pub(super) target: Option<&'a Target>,
    pub(super) rollout: Option<&'a Rollout>,
}

/// The desired status of ClusterVersion.
pub(super) fn compose(
    cluster_version: &ClusterVersion,
    outputs: StageOutputs,
    now: Timestamp,
) -> ClusterVersionStatus {
    let mut status = cluster_version.status.clone().unwrap_or_default();
    show_release(&mut status, &outputs);
    for type_ in RETIRED_TYPES {
        status.conditions.discard(type_);
    }
    let problems = problems(cluster_version, outputs.updates);
    if problems.is_some() || !is_undecided(cluster_version, outputs.updates) {
        set(&mut status, invalid::TYPE, problems, now);
    }
    if let Some(target) = outputs.target {
        show_target(&mut status, target, outputs, now);
    }
    if let Some(updates) = outputs.updates {
        status.conditions.set(updates.retrieved.clone(), now);
    }
    for condition in outputs.preflight.into_iter().flat_map(|preflight| &preflight.conditions) {
        status.conditions.set(condition.clone(), now);
    }
    if let Some(Risks { evaluated, .. }) = outputs.risks {
        set(&mut status, upgradeable::TYPE, evaluated.upgradeable.clone(), now);
    }
    if let Some(Risks { evaluated, .. }) = outputs.risks.filter(|_| is_own(&status, &outputs)) {
        status.available_updates = Some(evaluated.available_updates.clone());
        status.conditional_updates.clone_from(&evaluated.conditional_updates);
        status.conditional_update_risks.clone_from(&evaluated.conditional_update_risks);
    }
    observe(&mut status, cluster_version, outputs);
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

/// Shows the target release: history, capabilities and conditions.
fn show_target(
    status: &mut ClusterVersionStatus,
    target: &Target,
    outputs: StageOutputs,
    now: Timestamp,
) {
    let release = status.desired.clone();
    // The rollout may still be about the release before.
    let rollout = outputs.rollout.filter(|rollout| rollout.image == release.image);
    let has_begun = status.history.first().is_some_and(|newest| newest.image == release.image);
    let step = HistoryUpdate {
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
        conditions::capabilities_status(status.capabilities.take(), &target.capabilities);
    status.capabilities = Some(capabilities);

    let is_invalid = status.conditions.is_true(invalid::TYPE);
    let mut set = |condition| status.conditions.set(condition, now);
    set(conditions::implicitly_enabled_capabilities(&target.capabilities));
    set(target.release_accepted.clone());
    match rollout {
        Some(rollout) => {
            if let Some(available) = conditions::available(&release, rollout) {
                set(available);
            }
            set(conditions::failing(rollout, now));
            set(conditions::progressing(&release, rollout, is_invalid, now));
        }
        // An operator before this one has reported its progress, which must not go back to 0 %.
        None if has_begun => {}
        None => set(conditions::initial_progressing(&release)),
    }
    if let Some(failing) = conditions::failing_without_image(&release) {
        set(failing);
    }
    set_initial(status, &release, now);
}

/// Sets the conditions that a status always has.
fn set_initial(status: &mut ClusterVersionStatus, release: &Release, now: Timestamp) {
    for initial in [
        conditions::initial_available(),
        conditions::initial_failing(),
        conditions::initial_progressing(release),
        OperatorCondition::new(retrieved_updates::TYPE, false),
    ] {
        if status.conditions.find(&initial.type_).is_none() {
            status.conditions.set(initial, now);
        }
    }
}

/// Sets the observed generation: the one that all stages have seen. `risks` is never ahead of the
/// stages before it. The stages may have seen a deleted object of the same name with a higher
/// generation.
fn observe(
    status: &mut ClusterVersionStatus,
    cluster_version: &ClusterVersion,
    outputs: StageOutputs,
) {
    let (Some(risks), Some(target)) = (outputs.risks, outputs.target) else { return };
    let seen = risks.generation.min(target.generation);
    let current = cluster_version.metadata.generation.unwrap_or(seen);
    status.observed_generation = status.observed_generation.max(seen).min(current);
}

/// Shows the target release or, before the first decision, the operator's own release, with the
/// description of the update service. A status about another release waits for the decision.
fn show_release(status: &mut ClusterVersionStatus, outputs: &StageOutputs) {
    let release = match outputs.target {
        Some(target) => &target.payload.release,
        None if has_another(status, &outputs.own.release) => return,
        None => &outputs.own.release,
    };
    if is_another(&status.desired, release) {
        remove_updates(status);
    }
    status.desired = described(&status.desired, release, outputs);
}

/// Whether an operator before this one started or completed another release.
fn has_another(status: &ClusterVersionStatus, own: &Release) -> bool {
    let newest = status.history.first().filter(|newest| !newest.image.is_empty());
    newest.is_some_and(|newest| !same_content(&newest.image, &own.image))
}

/// Whether the status is about the operator's own release, for which the update graph is retrieved.
fn is_own(status: &ClusterVersionStatus, outputs: &StageOutputs) -> bool {
    same_content(&status.desired.image, &outputs.own.release.image)
}

/// Whether the status is about another release.
fn is_another(before: &Release, release: &Release) -> bool {
    !before.image.is_empty() && !same_content(&before.image, &release.image)
}

/// Removes updates from another release. `None` instead of an empty list: updates are not known yet.
fn remove_updates(status: &mut ClusterVersionStatus) {
    status.available_updates = None;
    status.conditional_updates.clear();
    status.conditional_update_risks.clear();
}

fn described(before: &Release, release: &Release, outputs: &StageOutputs) -> Release {
    let offered = outputs.updates.and_then(|updates| updates.described(&release.image));
    let description = offered.as_ref().unwrap_or(before);
    let mut desired = release.clone();
    if description.image == desired.image {
        if desired.version.is_empty() {
            desired.version.clone_from(&description.version);
        }
        desired.url = desired.url.or_else(|| description.url.clone());
        if !description.channels.is_empty() {
            desired.channels.clone_from(&description.channels);
        }
    }
    desired.unknown.clone_from(&before.unknown);
    desired
}
