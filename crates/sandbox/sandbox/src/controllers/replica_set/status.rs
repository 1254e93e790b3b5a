//! What a ReplicaSet says about its pods.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetCondition, ReplicaSetStatus};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::controllers::pod;

const REPLICA_FAILURE: &str = "ReplicaFailure";

/// The status, given the pods that count and what did not work: a reason and a message.
pub(super) fn status(
    set: &ReplicaSet,
    pods: &[Pod],
    failure: Option<(&str, String)>,
    now: Timestamp,
) -> ReplicaSetStatus {
    let min_ready = min_ready_seconds(set);
    let count = |counts: &dyn Fn(&Pod) -> bool| {
        i32::try_from(pods.iter().filter(|pod| counts(pod)).count()).unwrap_or(i32::MAX)
    };
    let some = |count: i32| (count != 0).then_some(count);
    let template = template_labels(set);
    ReplicaSetStatus {
        replicas: count(&|_| true),
        fully_labeled_replicas: some(count(&|pod| has_labels(pod, template))),
        ready_replicas: some(count(&pod::is_ready)),
        available_replicas: some(count(&|pod| pod::is_available(pod, min_ready, now))),
        observed_generation: set.metadata.generation,
        conditions: conditions(set, failure, now),
        terminating_replicas: None,
    }
}

/// For how long a pod has to be ready.
pub(super) fn min_ready_seconds(set: &ReplicaSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.min_ready_seconds).unwrap_or(0)
}

fn template_labels(set: &ReplicaSet) -> Option<&BTreeMap<String, String>> {
    set.spec.as_ref()?.template.as_ref()?.metadata.as_ref()?.labels.as_ref()
}

fn has_labels(pod: &Pod, labels: Option<&BTreeMap<String, String>>) -> bool {
    let own = pod.metadata.labels.as_ref();
    labels.into_iter().flatten().all(|(key, value)| own.and_then(|own| own.get(key)) == Some(value))
}

/// A failure is told since when it is there, and no longer than that.
fn conditions(
    set: &ReplicaSet,
    failure: Option<(&str, String)>,
    now: Timestamp,
) -> Option<Vec<ReplicaSetCondition>> {
    let old = set.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
    let (known, mut conditions): (Vec<_>, Vec<_>) =
        old.into_iter().partition(|condition| condition.type_ == REPLICA_FAILURE);
    if let Some((reason, message)) = failure {
        let told = || ReplicaSetCondition {
            type_: REPLICA_FAILURE.to_owned(),
            status: "True".to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message),
            last_transition_time: Some(Time(now)),
        };
        conditions.push(known.into_iter().next().unwrap_or_else(told));
    }
    (!conditions.is_empty()).then_some(conditions)
}
