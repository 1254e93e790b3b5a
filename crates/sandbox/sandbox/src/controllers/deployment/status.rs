//! Status of a Deployment: replica counts, conditions and progress of its rollout.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{
    Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet, ReplicaSetCondition,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::replica_sets::{OwnedReplicaSets, available, observed, ready, size, sum};
use super::scale::{max_unavailable, replicas};

const NEW_SET_AVAILABLE: &str = "NewReplicaSetAvailable";
const TIMED_OUT: &str = "ProgressDeadlineExceeded";
const PAUSED: &str = "DeploymentPaused";

/// `progressDeadlineSeconds`; the maximum of int32 means no deadline.
fn deadline(deployment: &Deployment) -> Option<SignedDuration> {
    let seconds = deployment.spec.as_ref().and_then(|spec| spec.progress_deadline_seconds);
    let seconds = seconds.filter(|seconds| *seconds != i32::MAX)?;
    Some(SignedDuration::from_secs(i64::from(seconds)))
}

/// The conditions, with changes for pausing or resuming the rollout.
pub(super) fn paused_conditions(
    deployment: &Deployment,
    now: Timestamp,
) -> Vec<DeploymentCondition> {
    let status = deployment.status.as_ref();
    let mut conditions = status.and_then(|status| status.conditions.clone()).unwrap_or_default();
    let reason = find(&conditions, PROGRESSING).and_then(|found| found.reason.as_deref());
    if deadline(deployment).is_none() || reason == Some(TIMED_OUT) {
        return conditions;
    }
    let was_paused = reason == Some(PAUSED);
    let is_paused = deployment.spec.as_ref().and_then(|spec| spec.paused) == Some(true);
    let (reason, message) = match (was_paused, is_paused) {
        (false, true) => (PAUSED, "Deployment is paused"),
        (true, false) => ("DeploymentResumed", "Deployment is resumed"),
        _ => return conditions,
    };
    set_condition(
        &mut conditions,
        condition(PROGRESSING, "Unknown", reason, message.to_owned(), now),
    );
    conditions
}

/// Replica counts and the `Available` condition.
pub(super) fn replica_status(
    sets: &OwnedReplicaSets<'_>,
    mut conditions: Vec<DeploymentCondition>,
    now: Timestamp,
) -> DeploymentStatus {
    let deployment = sets.deployment;
    let available = sum(sets.all(), available);
    let minimum = replicas(deployment) - max_unavailable(deployment);
    let (status, reason, message) = if available >= minimum {
        ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    } else {
        ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    };
    set_condition(&mut conditions, condition(AVAILABLE, status, reason, message.to_owned(), now));
    let some = |number: i32| (number != 0).then_some(number);
    DeploymentStatus {
        observed_generation: deployment.metadata.generation,
        replicas: some(sum(sets.all(), observed)),
        updated_replicas: some(sum(&sets.new, observed)),
        ready_replicas: some(sum(sets.all(), ready)),
        available_replicas: some(available),
        unavailable_replicas: some((sum(sets.all(), size) - available).max(0)),
        conditions: Some(conditions),
        collision_count: deployment.status.as_ref().and_then(|status| status.collision_count),
        terminating_replicas: None,
    }
}

/// Replica counts, and all conditions of the rollout.
pub(super) fn rollout_status(
    sets: &OwnedReplicaSets<'_>,
    conditions: Vec<DeploymentCondition>,
    now: Timestamp,
) -> DeploymentStatus {
    let mut status = replica_status(sets, conditions, now);
    let mut conditions = status.conditions.take().unwrap_or_default();
    if deadline(sets.deployment).is_none() {
        remove(&mut conditions, PROGRESSING);
    } else {
        set_progressing(sets, &status, &mut conditions, now);
    }
    match replica_failure(sets) {
        Some(failure) => set_condition(&mut conditions, failure),
        None => remove(&mut conditions, REPLICA_FAILURE),
    }
    status.conditions = Some(conditions);
    status
}

fn set_progressing(
    sets: &OwnedReplicaSets<'_>,
    status: &DeploymentStatus,
    conditions: &mut Vec<DeploymentCondition>,
    now: Timestamp,
) {
    let deployment = sets.deployment;
    let known = find(conditions, PROGRESSING).cloned();
    if known.is_none() {
        conditions.extend(initial_progress(sets, now));
    }
    let was_complete = known.as_ref().is_some_and(|known| has_reason(known, NEW_SET_AVAILABLE));
    if was_complete && status.replicas == status.updated_replicas {
        return;
    }
    let subject = subject(sets);
    if is_complete(deployment, Some(status)) {
        let message = format!("{subject} has successfully progressed.");
        set_condition(conditions, condition(PROGRESSING, "True", NEW_SET_AVAILABLE, message, now));
    } else if has_progressed(deployment.status.as_ref(), status) {
        let message = format!("{subject} is progressing.");
        replace_condition(
            conditions,
            condition(PROGRESSING, "True", "ReplicaSetUpdated", message, now),
        );
    } else if known.is_some_and(|known| has_timed_out(&known, deployment, now)) {
        let message = format!("{subject} has timed out progressing.");
        set_condition(conditions, condition(PROGRESSING, "False", TIMED_OUT, message, now));
    }
}

/// Progressing condition of a rollout without one.
fn initial_progress(sets: &OwnedReplicaSets<'_>, now: Timestamp) -> Option<DeploymentCondition> {
    let set = sets.new.as_ref()?;
    let name = set.metadata.name.as_deref().unwrap_or_default();
    let (reason, message) = match &set.metadata.uid {
        Some(_) => ("FoundNewReplicaSet", format!("Found new replica set {name:?}")),
        None => ("NewReplicaSetCreated", format!("Created new replica set {name:?}")),
    };
    Some(condition(PROGRESSING, "True", reason, message, now))
}

fn subject(sets: &OwnedReplicaSets<'_>) -> String {
    let name = |name: &Option<String>| name.clone().unwrap_or_default();
    match &sets.new {
        Some(set) => format!("ReplicaSet {:?}", name(&set.metadata.name)),
        None => format!("Deployment {:?}", name(&sets.deployment.metadata.name)),
    }
}

/// Whether all desired pods have the current template and are available, and no others exist.
pub(super) fn is_complete(deployment: &Deployment, status: Option<&DeploymentStatus>) -> bool {
    let Some(status) = status else { return false };
    let wanted = replicas(deployment);
    let is_wanted = |number: Option<i32>| number.unwrap_or(0) == wanted;
    is_wanted(status.replicas)
        && is_wanted(status.updated_replicas)
        && is_wanted(status.available_replicas)
        && status.observed_generation >= deployment.metadata.generation
}

fn has_progressed(before: Option<&DeploymentStatus>, now: &DeploymentStatus) -> bool {
    let none = DeploymentStatus::default();
    let before = before.unwrap_or(&none);
    let number = |number: Option<i32>| number.unwrap_or(0);
    let old_pods =
        |status: &DeploymentStatus| number(status.replicas) - number(status.updated_replicas);
    number(now.updated_replicas) > number(before.updated_replicas)
        || old_pods(now) < old_pods(before)
        || number(now.ready_replicas) > number(before.ready_replicas)
        || number(now.available_replicas) > number(before.available_replicas)
}

fn has_timed_out(known: &DeploymentCondition, deployment: &Deployment, now: Timestamp) -> bool {
    if has_reason(known, NEW_SET_AVAILABLE) {
        return false;
    }
    has_reason(known, TIMED_OUT) || deadline_of(known, deployment).is_some_and(|end| end < now)
}

fn deadline_of(known: &DeploymentCondition, deployment: &Deployment) -> Option<Timestamp> {
    let since = known.last_update_time.as_ref()?.0;
    since.checked_add(deadline(deployment)?).ok()
}

/// Time when a rollout without progress exceeds its deadline.
pub(super) fn deadline_at(deployment: &Deployment, status: &DeploymentStatus) -> Option<Timestamp> {
    let known = find(status.conditions.as_deref().unwrap_or_default(), PROGRESSING)?;
    if is_complete(deployment, Some(status)) || has_reason(known, TIMED_OUT) {
        return None;
    }
    // Times in the API have whole seconds: wait until the second has passed.
    deadline_of(known, deployment)?.checked_add(SignedDuration::from_secs(1)).ok()
}

fn has_reason(condition: &DeploymentCondition, reason: &str) -> bool {
    condition.reason.as_deref() == Some(reason)
}

/// Failures that ReplicaSets report, the new one first.
fn replica_failure(sets: &OwnedReplicaSets<'_>) -> Option<DeploymentCondition> {
    let failure = |set: &ReplicaSet| {
        let conditions = set.status.as_ref()?.conditions.as_ref()?;
        conditions.iter().find(|condition| condition.type_ == REPLICA_FAILURE).cloned()
    };
    let found = sets.new.iter().chain(&sets.old).find_map(failure)?;
    let ReplicaSetCondition { type_, status, reason, message, last_transition_time } = found;
    let last_update_time = last_transition_time.clone();
    Some(DeploymentCondition {
        type_,
        status,
        reason,
        message,
        last_transition_time,
        last_update_time,
    })
}

/// Status of a Deployment whose new ReplicaSet could not be created.
pub(super) fn not_created(
    mut status: DeploymentStatus,
    deployment: &Deployment,
    message: String,
    now: Timestamp,
) -> DeploymentStatus {
    if deadline(deployment).is_some() {
        let conditions = status.conditions.get_or_insert_default();
        remove(conditions, PROGRESSING);
        let failed = condition(PROGRESSING, "False", "ReplicaSetCreateError", message, now);
        let known = deployment.status.as_ref().and_then(|status| status.conditions.as_deref());
        let known = known.and_then(|known| find(known, PROGRESSING)).cloned();
        conditions.extend(known);
        set_condition(conditions, failed);
    }
    status
}

pub(super) const AVAILABLE: &str = "Available";
pub(super) const PROGRESSING: &str = "Progressing";
pub(super) const REPLICA_FAILURE: &str = "ReplicaFailure";

/// A new condition with both times set to now.
pub(super) fn condition(
    type_: &str,
    status: &str,
    reason: &str,
    message: String,
    now: Timestamp,
) -> DeploymentCondition {
    DeploymentCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message),
        last_transition_time: Some(Time(now)),
        last_update_time: Some(Time(now)),
    }
}

/// The condition of this type.
pub(super) fn find<'a>(
    conditions: &'a [DeploymentCondition],
    type_: &str,
) -> Option<&'a DeploymentCondition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Removes the condition of this type.
pub(super) fn remove(conditions: &mut Vec<DeploymentCondition>, type_: &str) {
    conditions.retain(|condition| condition.type_ != type_);
}

/// Sets a condition unless status and reason are unchanged.
pub(super) fn set_condition(
    conditions: &mut Vec<DeploymentCondition>,
    condition: DeploymentCondition,
) {
    let known = find(conditions, &condition.type_);
    let same = |known: &DeploymentCondition| {
        known.status == condition.status && known.reason == condition.reason
    };
    if !known.is_some_and(same) {
        replace_condition(conditions, condition);
    }
}

/// Replaces a condition. `lastTransitionTime` changes only with the status.
pub(super) fn replace_condition(
    conditions: &mut Vec<DeploymentCondition>,
    mut condition: DeploymentCondition,
) {
    let known = find(conditions, &condition.type_);
    if let Some(known) = known.filter(|known| known.status == condition.status) {
        condition.last_transition_time.clone_from(&known.last_transition_time);
    }
    remove(conditions, &condition.type_);
    conditions.push(condition);
}
