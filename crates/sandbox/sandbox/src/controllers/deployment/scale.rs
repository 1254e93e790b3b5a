//! Sizes of the ReplicaSets of a Deployment, within `maxSurge` and `maxUnavailable`.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, RollingUpdateDeployment};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::replica_sets::{
    OwnedReplicaSets, available, created, desired, max, set_scale_annotations, size, sum,
};
use crate::controllers::rollout::{Rounding, resolve_int_or_percent};

/// Default of `maxSurge` and `maxUnavailable` in the API.
const DEFAULT_LIMIT: &str = "25%";

/// Desired number of pods.
pub(super) fn replicas(deployment: &Deployment) -> i32 {
    deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1).max(0)
}

/// Whether the strategy is `RollingUpdate`.
pub(super) fn is_rolling(deployment: &Deployment) -> bool {
    let strategy = deployment.spec.as_ref().and_then(|spec| spec.strategy.as_ref());
    strategy.and_then(|strategy| strategy.type_.as_deref()) != Some("Recreate")
}

/// Number of pods allowed above the desired number.
pub(super) fn max_surge(deployment: &Deployment) -> i32 {
    if is_rolling(deployment) { bounds(deployment).0 } else { 0 }
}

/// Number of desired pods that may be unavailable.
pub(super) fn max_unavailable(deployment: &Deployment) -> i32 {
    let replicas = replicas(deployment);
    if is_rolling(deployment) && replicas > 0 { bounds(deployment).1.min(replicas) } else { 0 }
}

/// `maxSurge` rounds up, `maxUnavailable` down. If both are 0, one pod may be unavailable, as
/// otherwise no rollout could proceed.
fn bounds(deployment: &Deployment) -> (i32, i32) {
    let total = replicas(deployment);
    let rolling = deployment.spec.as_ref().and_then(|spec| spec.strategy.as_ref());
    let rolling = rolling.and_then(|strategy| strategy.rolling_update.clone()).unwrap_or_default();
    let RollingUpdateDeployment { max_surge, max_unavailable } = rolling;
    let default = || IntOrString::String(DEFAULT_LIMIT.to_owned());
    let surge = resolve_int_or_percent(&max_surge.unwrap_or_else(default), total, Rounding::Up);
    let unavailable =
        resolve_int_or_percent(&max_unavailable.unwrap_or_else(default), total, Rounding::Down);
    if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
}

/// Whether `spec.replicas` changed since the ReplicaSets were last scaled.
pub(super) fn is_scaling_event(sets: &OwnedReplicaSets<'_>) -> bool {
    let wanted = i64::from(replicas(sets.deployment));
    let active = sets.all().filter(|set| size(set) > 0);
    active.filter_map(desired).any(|desired| desired != wanted)
}

/// Distributes the desired replicas to the ReplicaSets, outside of a rollout.
pub(super) fn scale(sets: &mut OwnedReplicaSets<'_>) {
    let deployment = sets.deployment;
    let wanted = replicas(deployment);
    if let Some(only) = active_or_latest(sets) {
        resize(only, wanted, deployment);
        return;
    }
    if sets.new.as_ref().is_some_and(|new| is_saturated(new, deployment)) {
        sets.old.iter_mut().filter(|set| size(set) > 0).for_each(|set| resize(set, 0, deployment));
        return;
    }
    if is_rolling(deployment) {
        scale_proportionally(sets);
    }
}

/// The only ReplicaSet with pods, or the newest if none has pods. `None` if several have pods.
fn active_or_latest<'s>(sets: &'s mut OwnedReplicaSets<'_>) -> Option<&'s mut ReplicaSet> {
    let active = sets.all().filter(|set| size(set) > 0).count();
    match active {
        0 if sets.new.is_some() => sets.new.as_mut(),
        0 => sets.old.last_mut(),
        1 => sets.old.iter_mut().chain(&mut sets.new).find(|set| size(set) > 0),
        _ => None,
    }
}

/// Whether the ReplicaSet has all desired pods and all are available.
fn is_saturated(set: &ReplicaSet, deployment: &Deployment) -> bool {
    let wanted = replicas(deployment);
    size(set) == wanted
        && available(set) == wanted
        && desired(set).is_none_or(|desired| desired == i64::from(wanted))
}

/// Scales each ReplicaSet with pods in proportion; the largest gets the remainder.
fn scale_proportionally(sets: &mut OwnedReplicaSets<'_>) {
    let deployment = sets.deployment;
    let wanted = replicas(deployment);
    let allowed = if wanted > 0 { wanted.saturating_add(max_surge(deployment)) } else { 0 };
    let all = sets.old.iter_mut().chain(&mut sets.new);
    let mut active: Vec<_> = all.filter(|set| size(set) > 0).collect();
    let to_add = allowed - sum(active.iter().map(|set| &**set), size);
    active.sort_by(|left, right| {
        let by_size = size(right).cmp(&size(left));
        let by_age = created(left).cmp(&created(right));
        by_size.then(if to_add > 0 { by_age.reverse() } else { by_age })
    });
    let mut added = 0;
    let mut sizes = Vec::with_capacity(active.len());
    for set in &active {
        let change = proportion(set, deployment, to_add, added);
        added += change;
        sizes.push(size(set) + change);
    }
    if let Some(largest) = sizes.first_mut() {
        *largest = (*largest + to_add - added).max(0);
    }
    for (set, size) in active.into_iter().zip(sizes) {
        resize(set, size, deployment);
    }
}

/// Proportional change of a ReplicaSet, limited to what is left to distribute.
fn proportion(set: &ReplicaSet, deployment: &Deployment, to_add: i32, added: i32) -> i32 {
    let left = to_add - added;
    match to_add {
        0 => 0,
        1.. => fraction(set, deployment).min(left),
        _ => fraction(set, deployment).max(left),
    }
}

/// Change that keeps the ReplicaSet's proportion of all pods.
fn fraction(set: &ReplicaSet, deployment: &Deployment) -> i32 {
    let (wanted, own) = (replicas(deployment), size(set));
    if wanted == 0 {
        return -own;
    }
    let observed = deployment.status.as_ref().and_then(|status| status.replicas).unwrap_or(0);
    let before = max(set).filter(|max| *max != 0).unwrap_or(i64::from(observed));
    if before <= 0 {
        return 0;
    }
    let allowed = i64::from(wanted) + i64::from(max_surge(deployment));
    // Rounded to the nearest integer.
    let after = (i64::from(own) * allowed * 2 + before) / (before * 2);
    i32::try_from(after).unwrap_or(i32::MAX) - own
}

/// Sets the replicas of a ReplicaSet and its scale annotations.
pub(super) fn resize(set: &mut ReplicaSet, replicas: i32, deployment: &Deployment) {
    set.spec.get_or_insert_default().replicas = Some(replicas);
    set_scale_annotations(set, deployment);
}

/// Replicas that the new ReplicaSet may have now.
fn new_replicas(sets: &OwnedReplicaSets<'_>, own: i32) -> i32 {
    let wanted = replicas(sets.deployment);
    if !is_rolling(sets.deployment) {
        return wanted;
    }
    let room = wanted.saturating_add(max_surge(sets.deployment)) - sum(sets.all(), size);
    if room <= 0 { own } else { own + room.min(wanted - own) }
}

/// Scales the new ReplicaSet; returns whether it changed.
pub(super) fn reconcile_new(sets: &mut OwnedReplicaSets<'_>) -> bool {
    let (deployment, wanted) = (sets.deployment, replicas(sets.deployment));
    let Some(own) = sets.new.as_ref().map(size) else { return false };
    if own == wanted {
        return false;
    }
    let target = if own > wanted { wanted } else { new_replicas(sets, own) };
    if target == own {
        return false;
    }
    sets.new.iter_mut().for_each(|new| resize(new, target, deployment));
    true
}

/// Scales the old ReplicaSets down within `maxUnavailable`; returns whether any changed.
pub(super) fn reconcile_old(sets: &mut OwnedReplicaSets<'_>) -> bool {
    let minimum = replicas(sets.deployment) - max_unavailable(sets.deployment);
    let not_yet = sets.new.as_ref().map_or(0, |new| size(new) - available(new));
    let limit = sum(sets.all(), size) - minimum - not_yet;
    if limit <= 0 || sum(&sets.old, size) == 0 {
        return false;
    }
    let unhealthy = scale_down_old(sets, limit, |set| (size(set) - available(set)).max(0));
    let spare = sum(sets.all(), available) - minimum;
    let healthy = scale_down_old(sets, spare.max(0), size);
    unhealthy + healthy > 0
}

/// Scales old ReplicaSets down by up to `limit` pods in all, oldest first, each by at most
/// `removable` pods; returns the number of pods removed.
fn scale_down_old(
    sets: &mut OwnedReplicaSets<'_>,
    limit: i32,
    removable: fn(&ReplicaSet) -> i32,
) -> i32 {
    let deployment = sets.deployment;
    let mut taken = 0;
    for set in &mut sets.old {
        let part = removable(set).min(size(set)).min(limit - taken);
        if part > 0 {
            resize(set, size(set) - part, deployment);
            taken += part;
        }
    }
    taken
}

/// Scales all old ReplicaSets to 0; returns whether any had pods.
pub(super) fn scale_down_old_for_recreate(sets: &mut OwnedReplicaSets<'_>) -> bool {
    let deployment = sets.deployment;
    let mut changed = false;
    for set in sets.old.iter_mut().filter(|set| size(set) > 0) {
        resize(set, 0, deployment);
        changed = true;
    }
    changed
}
