//! What becomes of the pods of a ReplicaSet.

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;

use crate::controllers::departure::in_order_of_departure;
use crate::controllers::pod_control::BURST;

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    /// A pod is made.
    Create,
    /// The pod goes.
    Delete(Box<Pod>),
}

/// What becomes of the active pods that are the set's own.
pub(super) fn plan(set: &ReplicaSet, active: &[Pod]) -> Vec<Action> {
    if set.metadata.deletion_timestamp.is_some() {
        return Vec::new();
    }
    let wanted = replicas(set);
    if active.len() <= wanted {
        return vec![Action::Create; (wanted - active.len()).min(BURST)];
    }
    let surplus = (active.len() - wanted).min(BURST);
    let leaving = in_order_of_departure(active.to_vec()).into_iter().take(surplus);
    leaving.map(|pod| Action::Delete(Box::new(pod))).collect()
}

/// How many pods there are to be.
fn replicas(set: &ReplicaSet) -> usize {
    let replicas = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    usize::try_from(replicas).unwrap_or(0)
}
