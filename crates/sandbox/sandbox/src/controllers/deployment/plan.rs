//! What becomes of the ReplicaSets of a Deployment.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus, ReplicaSet};

use super::limits::is_rolling;
use super::revision::{REVISION, revision};
use super::scale::{empty_old, grow_new, scale, shrink_old, was_scaled};
use super::sets::{Sets, observed, size};
use super::status;

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    /// A ReplicaSet is made.
    Create(Box<ReplicaSet>),
    /// A ReplicaSet is replaced; it had so many pods to have before.
    Update(Box<ReplicaSet>, i32),
    /// A ReplicaSet of old goes.
    Delete(Box<ReplicaSet>),
    /// The Deployment is marked with the revision of its current template.
    Mark(String),
}

/// What is to be done, what is to be said, and when to look again.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) actions: Vec<Action>,
    pub(super) status: DeploymentStatus,
    pub(super) again: Option<Timestamp>,
}

/// What becomes of the ReplicaSets that are the Deployment's own. Whether pods of another template
/// than the current one still run matters where all are to go before new ones come.
pub(super) fn plan(
    deployment: &Deployment,
    own: Vec<ReplicaSet>,
    old_pods_run: bool,
    now: Timestamp,
) -> Plan {
    let before = own.clone();
    let mut sets = Sets::of(deployment, own);
    let conditions = status::with_pause(deployment, now);
    if deployment.metadata.deletion_timestamp.is_some() {
        let status = status::counts(&sets, conditions, now);
        return Plan { actions: Vec::new(), status, again: None };
    }
    let paused = deployment.spec.as_ref().and_then(|spec| spec.paused) == Some(true);
    let rolls = !paused && !was_scaled(&sets);
    let mut leaving = Vec::new();
    if rolls {
        roll(&mut sets, old_pods_run);
        if status::is_complete(deployment, deployment.status.as_ref()) {
            leaving = surplus(&sets);
        }
    } else {
        scale(&mut sets);
        if paused {
            leaving = surplus(&sets);
        }
    }
    let status = if rolls {
        status::of_rollout(&sets, conditions, now)
    } else {
        status::counts(&sets, conditions, now)
    };
    let again = status::due(deployment, &status).filter(|_| rolls);
    Plan { actions: actions(&sets, &before, leaving), status, again }
}

/// Brings the ReplicaSets one step closer to the current template.
fn roll(sets: &mut Sets<'_>, old_pods_run: bool) {
    if is_rolling(sets.deployment) {
        sets.begin_new();
        if sets.new.as_ref().is_some_and(is_not_made) {
            grow_new(sets);
        } else if grow_new(sets) {
            return;
        }
        shrink_old(sets);
    } else if !empty_old(sets) && !old_pods_run && sets.old.iter().all(|set| observed(set) == 0) {
        sets.begin_new();
        grow_new(sets);
    }
}

fn is_not_made(set: &ReplicaSet) -> bool {
    set.metadata.uid.is_none()
}

/// The ReplicaSets that are older than the history is to reach, if they have no pods.
fn surplus(sets: &Sets<'_>) -> Vec<ReplicaSet> {
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

/// The changes that lead from how the ReplicaSets were to how they are going to be.
fn actions(sets: &Sets<'_>, before: &[ReplicaSet], leaving: Vec<ReplicaSet>) -> Vec<Action> {
    let was = |set: &ReplicaSet| before.iter().find(|was| was.metadata.uid == set.metadata.uid);
    let changed = |set: &ReplicaSet| {
        let set = Box::new(set.clone());
        match was(&set) {
            _ if is_not_made(&set) => Some(Action::Create(set)),
            Some(was) if *was != *set => Some(Action::Update(set, size(was))),
            _ => None,
        }
    };
    let new = sets.new.iter().filter_map(changed);
    let old = sets.old.iter().filter_map(changed);
    let leaving = leaving.into_iter().map(|set| Action::Delete(Box::new(set)));
    mark(sets).into_iter().chain(new).chain(old).chain(leaving).collect()
}

fn mark(sets: &Sets<'_>) -> Option<Action> {
    let revision = sets.new.as_ref()?.metadata.annotations.as_ref()?.get(REVISION)?;
    let marked = sets.deployment.metadata.annotations.as_ref();
    let marked = marked.and_then(|annotations| annotations.get(REVISION));
    (marked != Some(revision)).then(|| Action::Mark(revision.clone()))
}
