//! The conditions of a Deployment, and when they count as changed.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::DeploymentCondition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

pub(super) const AVAILABLE: &str = "Available";
pub(super) const PROGRESSING: &str = "Progressing";
pub(super) const REPLICA_FAILURE: &str = "ReplicaFailure";

/// A condition that is true, false or unknown since now.
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

/// The condition of that type.
pub(super) fn find<'a>(
    conditions: &'a [DeploymentCondition],
    type_: &str,
) -> Option<&'a DeploymentCondition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Removes the condition of that type.
pub(super) fn remove(conditions: &mut Vec<DeploymentCondition>, type_: &str) {
    conditions.retain(|condition| condition.type_ != type_);
}

/// Puts a condition, unless it says the same as before.
pub(super) fn put(conditions: &mut Vec<DeploymentCondition>, condition: DeploymentCondition) {
    let known = find(conditions, &condition.type_);
    let same = |known: &DeploymentCondition| {
        known.status == condition.status && known.reason == condition.reason
    };
    if !known.is_some_and(same) {
        put_anew(conditions, condition);
    }
}

/// Puts a condition even if it says the same as before. The time of its transition stays while its
/// status does.
pub(super) fn put_anew(
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
