//! What a Deployment says about its rollout.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{
    Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet, ReplicaSetCondition,
};

use super::conditions::{
    AVAILABLE, PROGRESSING, REPLICA_FAILURE, condition, find, put, put_anew, remove,
};
use super::limits::{max_unavailable, replicas};
use super::sets::{Sets, available, observed, ready, size, sum};

const NEW_SET_AVAILABLE: &str = "NewReplicaSetAvailable";
const TIMED_OUT: &str = "ProgressDeadlineExceeded";
const PAUSED: &str = "DeploymentPaused";

/// How long a rollout may stand still. The largest number means forever.
fn deadline(deployment: &Deployment) -> Option<SignedDuration> {
    let seconds = deployment.spec.as_ref().and_then(|spec| spec.progress_deadline_seconds);
    let seconds = seconds.filter(|seconds| *seconds != i32::MAX)?;
    Some(SignedDuration::from_secs(i64::from(seconds)))
}

/// The conditions, with the news of a pause or of its end.
pub(super) fn with_pause(deployment: &Deployment, now: Timestamp) -> Vec<DeploymentCondition> {
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
    put(&mut conditions, condition(PROGRESSING, "Unknown", reason, message.to_owned(), now));
    conditions
}

/// The numbers, and whether enough pods are available.
pub(super) fn counts(
    sets: &Sets<'_>,
    mut conditions: Vec<DeploymentCondition>,
    now: Timestamp,
) -> DeploymentStatus {
    let deployment = sets.deployment;
    let available = sum(sets.all(), available);
    let least = replicas(deployment) - max_unavailable(deployment);
    let (status, reason, message) = if available >= least {
        ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    } else {
        ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    };
    put(&mut conditions, condition(AVAILABLE, status, reason, message.to_owned(), now));
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

/// The numbers, and how the rollout goes.
pub(super) fn of_rollout(
    sets: &Sets<'_>,
    conditions: Vec<DeploymentCondition>,
    now: Timestamp,
) -> DeploymentStatus {
    let mut status = counts(sets, conditions, now);
    let mut conditions = status.conditions.take().unwrap_or_default();
    if deadline(sets.deployment).is_none() {
        remove(&mut conditions, PROGRESSING);
    } else {
        tell_progress(sets, &status, &mut conditions, now);
    }
    match replica_failure(sets) {
        Some(failure) => put(&mut conditions, failure),
        None => remove(&mut conditions, REPLICA_FAILURE),
    }
    status.conditions = Some(conditions);
    status
}

fn tell_progress(
    sets: &Sets<'_>,
    status: &DeploymentStatus,
    conditions: &mut Vec<DeploymentCondition>,
    now: Timestamp,
) {
    let deployment = sets.deployment;
    let known = find(conditions, PROGRESSING).cloned();
    if known.is_none() {
        conditions.extend(first_news(sets, now));
    }
    let was_complete = known.as_ref().is_some_and(|known| has_reason(known, NEW_SET_AVAILABLE));
    if was_complete && status.replicas == status.updated_replicas {
        return;
    }
    let subject = subject(sets);
    if is_complete(deployment, Some(status)) {
        let message = format!("{subject} has successfully progressed.");
        put(conditions, condition(PROGRESSING, "True", NEW_SET_AVAILABLE, message, now));
    } else if has_progressed(deployment.status.as_ref(), status) {
        let message = format!("{subject} is progressing.");
        put_anew(conditions, condition(PROGRESSING, "True", "ReplicaSetUpdated", message, now));
    } else if known.is_some_and(|known| has_timed_out(&known, deployment, now)) {
        let message = format!("{subject} has timed out progressing.");
        put(conditions, condition(PROGRESSING, "False", TIMED_OUT, message, now));
    }
}

/// What is said about a rollout that nothing was said about.
fn first_news(sets: &Sets<'_>, now: Timestamp) -> Option<DeploymentCondition> {
    let set = sets.new.as_ref()?;
    let name = set.metadata.name.as_deref().unwrap_or_default();
    let (reason, message) = match &set.metadata.uid {
        Some(_) => ("FoundNewReplicaSet", format!("Found new replica set {name:?}")),
        None => ("NewReplicaSetCreated", format!("Created new replica set {name:?}")),
    };
    Some(condition(PROGRESSING, "True", reason, message, now))
}

fn subject(sets: &Sets<'_>) -> String {
    let name = |name: &Option<String>| name.clone().unwrap_or_default();
    match &sets.new {
        Some(set) => format!("ReplicaSet {:?}", name(&set.metadata.name)),
        None => format!("Deployment {:?}", name(&sets.deployment.metadata.name)),
    }
}

/// Whether all pods that are wanted have the current template and are available, and no others are
/// there.
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
    has_reason(known, TIMED_OUT) || runs_out(known, deployment).is_some_and(|end| end < now)
}

fn runs_out(known: &DeploymentCondition, deployment: &Deployment) -> Option<Timestamp> {
    let since = known.last_update_time.as_ref()?.0;
    since.checked_add(deadline(deployment)?).ok()
}

/// When a rollout that stands still has run out of time.
pub(super) fn due(deployment: &Deployment, status: &DeploymentStatus) -> Option<Timestamp> {
    let known = find(status.conditions.as_deref().unwrap_or_default(), PROGRESSING)?;
    if is_complete(deployment, Some(status)) || has_reason(known, TIMED_OUT) {
        return None;
    }
    // Times are told in seconds: the second has to be over.
    runs_out(known, deployment)?.checked_add(SignedDuration::from_secs(1)).ok()
}

fn has_reason(condition: &DeploymentCondition, reason: &str) -> bool {
    condition.reason.as_deref() == Some(reason)
}

/// What the ReplicaSets say does not work, the new one first.
fn replica_failure(sets: &Sets<'_>) -> Option<DeploymentCondition> {
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

/// The status of a Deployment whose new ReplicaSet could not be made.
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
        put(conditions, failed);
    }
    status
}
