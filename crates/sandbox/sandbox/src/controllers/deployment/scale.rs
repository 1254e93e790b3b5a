//! How large the ReplicaSets of a Deployment are to be.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};

use super::limits::{is_rolling, max_surge, max_unavailable, replicas};
use super::revision::{desired, max, note_scale};
use super::sets::{Sets, available, created, size, sum};

/// Whether somebody has changed how many pods the Deployment wants.
pub(super) fn was_scaled(sets: &Sets<'_>) -> bool {
    let wanted = i64::from(replicas(sets.deployment));
    let active = sets.all().filter(|set| size(set) > 0);
    active.filter_map(desired).any(|desired| desired != wanted)
}

/// Gives the ReplicaSets their shares of what the Deployment wants, outside of a rollout.
pub(super) fn scale(sets: &mut Sets<'_>) {
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
        scale_in_proportion(sets);
    }
}

/// The one ReplicaSet with pods; where none has any, the newest. `None` where several have some.
fn active_or_latest<'s>(sets: &'s mut Sets<'_>) -> Option<&'s mut ReplicaSet> {
    let active = sets.all().filter(|set| size(set) > 0).count();
    match active {
        0 if sets.new.is_some() => sets.new.as_mut(),
        0 => sets.old.last_mut(),
        1 => sets.old.iter_mut().chain(&mut sets.new).find(|set| size(set) > 0),
        _ => None,
    }
}

/// Whether it has all the pods that the Deployment wants, and all are available.
fn is_saturated(set: &ReplicaSet, deployment: &Deployment) -> bool {
    let wanted = replicas(deployment);
    size(set) == wanted
        && available(set) == wanted
        && desired(set).is_none_or(|desired| desired == i64::from(wanted))
}

/// Each ReplicaSet with pods grows or shrinks by its share; the largest takes what is left over.
fn scale_in_proportion(sets: &mut Sets<'_>) {
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
        let share = share_of(set, deployment, to_add, added);
        added += share;
        sizes.push(size(set) + share);
    }
    if let Some(largest) = sizes.first_mut() {
        *largest = (*largest + to_add - added).max(0);
    }
    for (set, size) in active.into_iter().zip(sizes) {
        resize(set, size, deployment);
    }
}

/// By how much a ReplicaSet grows or shrinks, and no more than what is left to distribute.
fn share_of(set: &ReplicaSet, deployment: &Deployment, to_add: i32, added: i32) -> i32 {
    let left = to_add - added;
    match to_add {
        0 => 0,
        1.. => fraction(set, deployment).min(left),
        _ => fraction(set, deployment).max(left),
    }
}

/// What keeps the ReplicaSet's part of all pods the same.
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
    // Rounded to the nearest.
    let after = (i64::from(own) * allowed * 2 + before) / (before * 2);
    i32::try_from(after).unwrap_or(i32::MAX) - own
}

/// The ReplicaSet is to have so many pods.
pub(super) fn resize(set: &mut ReplicaSet, replicas: i32, deployment: &Deployment) {
    set.spec.get_or_insert_default().replicas = Some(replicas);
    note_scale(set, deployment);
}

/// How many pods the new ReplicaSet may have now.
fn new_size(sets: &Sets<'_>, own: i32) -> i32 {
    let wanted = replicas(sets.deployment);
    if !is_rolling(sets.deployment) {
        return wanted;
    }
    let room = wanted.saturating_add(max_surge(sets.deployment)) - sum(sets.all(), size);
    if room <= 0 { own } else { own + room.min(wanted - own) }
}

/// Brings the new ReplicaSet closer to what is wanted; says whether it changed.
pub(super) fn grow_new(sets: &mut Sets<'_>) -> bool {
    let (deployment, wanted) = (sets.deployment, replicas(sets.deployment));
    let Some(own) = sets.new.as_ref().map(size) else { return false };
    if own == wanted {
        return false;
    }
    let target = if own > wanted { wanted } else { new_size(sets, own) };
    if target == own {
        return false;
    }
    sets.new.iter_mut().for_each(|new| resize(new, target, deployment));
    true
}

/// Takes as many pods from the old ReplicaSets as can be missed; says whether it took some.
pub(super) fn shrink_old(sets: &mut Sets<'_>) -> bool {
    let least = replicas(sets.deployment) - max_unavailable(sets.deployment);
    let not_yet = sets.new.as_ref().map_or(0, |new| size(new) - available(new));
    let most = sum(sets.all(), size) - least - not_yet;
    if most <= 0 || sum(&sets.old, size) == 0 {
        return false;
    }
    let unhealthy = take(sets, most, |set| (size(set) - available(set)).max(0));
    let spare = sum(sets.all(), available) - least;
    let healthy = take(sets, spare.max(0), size);
    unhealthy + healthy > 0
}

/// Takes up to `most` pods from the old ReplicaSets, the oldest first, of each as many as it can
/// give; says how many.
fn take(sets: &mut Sets<'_>, most: i32, can_give: fn(&ReplicaSet) -> i32) -> i32 {
    let deployment = sets.deployment;
    let mut taken = 0;
    for set in &mut sets.old {
        let part = can_give(set).min(size(set)).min(most - taken);
        if part > 0 {
            resize(set, size(set) - part, deployment);
            taken += part;
        }
    }
    taken
}

/// Takes all pods from the old ReplicaSets; says whether there were some.
pub(super) fn empty_old(sets: &mut Sets<'_>) -> bool {
    let deployment = sets.deployment;
    let mut changed = false;
    for set in sets.old.iter_mut().filter(|set| size(set) > 0) {
        resize(set, 0, deployment);
        changed = true;
    }
    changed
}
