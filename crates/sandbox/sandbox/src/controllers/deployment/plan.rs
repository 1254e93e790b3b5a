//! ReplicaSets to create, update and delete for a Deployment.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus, ReplicaSet};

use super::replica_sets::{OwnedReplicaSets, REVISION, observed, revision, size};
use super::scale::{
    is_rolling, is_scaling_event, reconcile_new, reconcile_old, scale, scale_down_old_for_recreate,
};
use super::status;

/// A change of ReplicaSets.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum DeploymentAction {
    /// Create a ReplicaSet.
    Create(Box<ReplicaSet>),
    /// Update a ReplicaSet that had this number of replicas.
    Update(Box<ReplicaSet>, i32),
    /// Delete an old ReplicaSet.
    Delete(Box<ReplicaSet>),
    /// Set the revision annotation of the Deployment.
    SetRevision(String),
}

/// Changes, status, and time of the next reconciliation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DeploymentPlan {
    pub(super) actions: Vec<DeploymentAction>,
    pub(super) status: DeploymentStatus,
    pub(super) requeue_at: Option<Timestamp>,
}

/// Plans the changes for the ReplicaSets that the Deployment owns. `old_pods_run` matters for
/// strategy Recreate, which deletes all old pods before creating new ones.
pub(super) fn plan(
    deployment: &Deployment,
    own: Vec<ReplicaSet>,
    old_pods_run: bool,
    now: Timestamp,
) -> DeploymentPlan {
    let before = own.clone();
    let mut sets = OwnedReplicaSets::new(deployment, own);
    let conditions = status::paused_conditions(deployment, now);
    if deployment.metadata.deletion_timestamp.is_some() {
        let status = status::replica_status(&sets, conditions, now);
        return DeploymentPlan { actions: Vec::new(), status, requeue_at: None };
    }
    let paused = deployment.spec.as_ref().and_then(|spec| spec.paused) == Some(true);
    let rolls_out = !paused && !is_scaling_event(&sets);
    let mut expired = Vec::new();
    if rolls_out {
        roll(&mut sets, old_pods_run);
        if status::is_complete(deployment, deployment.status.as_ref()) {
            expired = expired_history(&sets);
        }
    } else {
        scale(&mut sets);
        if paused {
            expired = expired_history(&sets);
        }
    }
    let status = if rolls_out {
        status::rollout_status(&sets, conditions, now)
    } else {
        status::replica_status(&sets, conditions, now)
    };
    let requeue_at = status::deadline_at(deployment, &status).filter(|_| rolls_out);
    DeploymentPlan { actions: actions(&sets, &before, expired), status, requeue_at }
}

/// Performs one step of the rollout to the current template.
fn roll(sets: &mut OwnedReplicaSets<'_>, old_pods_run: bool) {
    if is_rolling(sets.deployment) {
        sets.ensure_new();
        if sets.new.as_ref().is_some_and(is_planned) {
            reconcile_new(sets);
        } else if reconcile_new(sets) {
            return;
        }
        reconcile_old(sets);
    } else if !scale_down_old_for_recreate(sets)
        && !old_pods_run
        && sets.old.iter().all(|set| observed(set) == 0)
    {
        sets.ensure_new();
        reconcile_new(sets);
    }
}

fn is_planned(set: &ReplicaSet) -> bool {
    set.metadata.uid.is_none()
}

/// Old ReplicaSets without pods beyond `revisionHistoryLimit`.
fn expired_history(sets: &OwnedReplicaSets<'_>) -> Vec<ReplicaSet> {
    let limit = sets.deployment.spec.as_ref().and_then(|spec| spec.revision_history_limit);
    let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else {
        return Vec::new();
    };
    let alive = sets.old.iter().filter(|set| set.metadata.deletion_timestamp.is_none());
    let mut alive: Vec<_> = alive.collect();
    alive.sort_by_key(|set| revision(set));
    let beyond = alive.len().saturating_sub(limit);
    let is_empty = |set: &&ReplicaSet| {
        let seen = set.status.as_ref().and_then(|status| status.observed_generation);
        size(set) == 0 && observed(set) == 0 && set.metadata.generation <= seen
    };
    alive.into_iter().take(beyond).filter(is_empty).cloned().collect()
}

/// Changes from the previous to the planned ReplicaSets.
fn actions(
    sets: &OwnedReplicaSets<'_>,
    before: &[ReplicaSet],
    expired: Vec<ReplicaSet>,
) -> Vec<DeploymentAction> {
    let was = |set: &ReplicaSet| before.iter().find(|was| was.metadata.uid == set.metadata.uid);
    let changed = |set: &ReplicaSet| {
        let set = Box::new(set.clone());
        match was(&set) {
            _ if is_planned(&set) => Some(DeploymentAction::Create(set)),
            Some(was) if *was != *set => Some(DeploymentAction::Update(set, size(was))),
            _ => None,
        }
    };
    let new = sets.new.iter().filter_map(changed);
    let old = sets.old.iter().filter_map(changed);
    let expired = expired.into_iter().map(|set| DeploymentAction::Delete(Box::new(set)));
    revision_action(sets).into_iter().chain(new).chain(old).chain(expired).collect()
}

fn revision_action(sets: &OwnedReplicaSets<'_>) -> Option<DeploymentAction> {
    let revision = sets.new.as_ref()?.metadata.annotations.as_ref()?.get(REVISION)?;
    let marked = sets.deployment.metadata.annotations.as_ref();
    let marked = marked.and_then(|annotations| annotations.get(REVISION));
    (marked != Some(revision)).then(|| DeploymentAction::SetRevision(revision.clone()))
}
