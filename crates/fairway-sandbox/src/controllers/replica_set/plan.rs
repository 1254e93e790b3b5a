//! What becomes of the pods of a ReplicaSet.

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;

use crate::controllers::departure::in_order_of_departure;
use crate::controllers::owner::{self, Claim};
use crate::controllers::pod;
use crate::controllers::pod_control::BURST;
use crate::selector::LabelSelector;

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    /// The pod becomes the set's own.
    Adopt(Box<Pod>),
    /// The pod becomes nobody's.
    Release(Box<Pod>),
    /// A pod is made.
    Create,
    /// The pod goes.
    Delete(Box<Pod>),
}

/// What is to be done, and the pods that count.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plan {
    pub(super) actions: Vec<Action>,
    pub(super) pods: Vec<Pod>,
}

/// What becomes of the pods.
pub(super) fn plan(set: &ReplicaSet, selector: &LabelSelector, pods: Vec<Pod>) -> Plan {
    let mut plan = Plan::default();
    for pod in pods.into_iter().filter(|pod| !pod::is_finished(pod)) {
        let selected = owner::selects(selector, &pod.metadata);
        match owner::claim(&set.metadata, &pod.metadata, selected) {
            Claim::Ignore => {}
            Claim::Keep => plan.pods.push(pod),
            Claim::Adopt => {
                plan.actions.push(Action::Adopt(Box::new(pod.clone())));
                plan.pods.push(pod);
            }
            Claim::Release => plan.actions.push(Action::Release(Box::new(pod))),
        }
    }
    plan.pods.retain(pod::is_active);
    if set.metadata.deletion_timestamp.is_none() {
        plan.actions.extend(scale(replicas(set), &plan.pods));
    }
    plan
}

/// How many pods there are to be.
pub(super) fn replicas(set: &ReplicaSet) -> usize {
    let replicas = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    usize::try_from(replicas).unwrap_or(0)
}

fn scale(wanted: usize, pods: &[Pod]) -> Vec<Action> {
    if pods.len() <= wanted {
        return vec![Action::Create; (wanted - pods.len()).min(BURST)];
    }
    let surplus = (pods.len() - wanted).min(BURST);
    let leaving = in_order_of_departure(pods.to_vec()).into_iter().take(surplus);
    leaving.map(|pod| Action::Delete(Box::new(pod))).collect()
}
