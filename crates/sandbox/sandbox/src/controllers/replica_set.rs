//! ReplicaSet controller: keeps the desired number of pods.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetCondition, ReplicaSetStatus};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::deletion_rank::by_deletion_rank;
use super::pod::{BURST_REPLICAS, PodControl, PodControlError};
use super::runtime::{
    Component, Controller, ObjectKey, Requeue, WatchEvent, WatchScope, object_reference,
};
use super::{ownership, pod};
use crate::api::{Api, StatusError};
use crate::selector::LabelSelector;

pub(super) struct ReplicaSets {
    component: Component,
    pods: PodControl,
}

impl ReplicaSets {
    pub(super) fn new(api: &Api) -> Self {
        let component = Component::controller(api, "replicaset-controller");
        let pods = PodControl::new(&component, "replicaset-controller");
        Self { component, pods }
    }

    fn execute(&mut self, set: &ReplicaSet, actions: Vec<Action>) -> Result<(), PodControlError> {
        for action in actions {
            match action {
                Action::Create => self.pods.create(&object_reference(set), &new_pod(set))?,
                Action::Delete(pod) => self.pods.delete(&object_reference(set), &pod)?,
            }
        }
        Ok(())
    }
}

impl Controller for ReplicaSets {
    type Key = ObjectKey;

    const SCOPE: WatchScope = WatchScope::Kinds(&[("apps", "ReplicaSet"), ("", "Pod")]);

    fn component(&self) -> &Component {
        &self.component
    }

    fn keys_for_event(&mut self, event: &WatchEvent) -> Result<Vec<ObjectKey>, StatusError> {
        ownership::controllers_for_event::<ReplicaSet>(&self.component, event)
    }

    fn reconcile(&mut self, key: &ObjectKey, now: Timestamp) -> Result<Requeue, StatusError> {
        let Some(set) = self.component.client().get::<ReplicaSet>(&key.namespace, &key.name)?
        else {
            return Ok(Requeue::Never);
        };
        let selector = set.spec.as_ref().map(|spec| &spec.selector);
        let Some(Ok(selector)) = selector.map(LabelSelector::from_structured) else {
            return Ok(Requeue::Never);
        };
        let mut active = ownership::claim_objects(&self.component, &set, &selector)?;
        active.retain(pod::is_active);
        let result = self.execute(&set, plan(&set, &active));
        let failure = result.as_ref().err();
        let failure = failure.map(|it| (it.reason, it.refusal.to_string()));
        let status = status(&set, &active, failure, now);
        if set.status.as_ref() != Some(&status) {
            let observed = ReplicaSet { status: Some(status), ..set.clone() };
            self.component.client().update_status(&observed)?;
        }
        result.map_err(|failure| failure.refusal)?;
        Ok(Requeue::at(pod::next_available(&active, min_ready_seconds(&set), now), now))
    }
}

fn new_pod(set: &ReplicaSet) -> Pod {
    let template = set.spec.as_ref().and_then(|spec| spec.template.clone()).unwrap_or_default();
    pod::from_template(&template, set.metadata.namespace.as_deref(), ownership::reference(set))
}

/// A change of pods.
#[derive(Clone, Debug, PartialEq)]
enum Action {
    /// Create a pod.
    Create,
    /// Delete a pod.
    Delete(Box<Pod>),
}

/// Plans the changes for the active pods that the ReplicaSet owns.
fn plan(set: &ReplicaSet, active: &[Pod]) -> Vec<Action> {
    if set.metadata.deletion_timestamp.is_some() {
        return Vec::new();
    }
    let desired = replicas(set);
    if active.len() <= desired {
        return vec![Action::Create; (desired - active.len()).min(BURST_REPLICAS)];
    }
    let surplus = (active.len() - desired).min(BURST_REPLICAS);
    let deleting = by_deletion_rank(active.to_vec()).into_iter().take(surplus);
    deleting.map(|pod| Action::Delete(Box::new(pod))).collect()
}

/// Desired replicas.
fn replicas(set: &ReplicaSet) -> usize {
    let replicas = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    usize::try_from(replicas).unwrap_or(0)
}

const REPLICA_FAILURE: &str = "ReplicaFailure";

/// The status from the owned pods and the last failure (reason and message).
fn status(
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

/// `spec.minReadySeconds`.
fn min_ready_seconds(set: &ReplicaSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.min_ready_seconds).unwrap_or(0)
}

fn template_labels(set: &ReplicaSet) -> Option<&BTreeMap<String, String>> {
    set.spec.as_ref()?.template.as_ref()?.metadata.as_ref()?.labels.as_ref()
}

fn has_labels(pod: &Pod, labels: Option<&BTreeMap<String, String>>) -> bool {
    let own = pod.metadata.labels.as_ref();
    labels.into_iter().flatten().all(|(key, value)| own.and_then(|own| own.get(key)) == Some(value))
}

/// The `ReplicaFailure` condition exists as long as the failure, with its first transition time.
fn conditions(
    set: &ReplicaSet,
    failure: Option<(&str, String)>,
    now: Timestamp,
) -> Option<Vec<ReplicaSetCondition>> {
    let old = set.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
    let (known, mut conditions): (Vec<_>, Vec<_>) =
        old.into_iter().partition(|condition| condition.type_ == REPLICA_FAILURE);
    if let Some((reason, message)) = failure {
        let condition = || ReplicaSetCondition {
            type_: REPLICA_FAILURE.to_owned(),
            status: "True".to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message),
            last_transition_time: Some(Time(now)),
        };
        conditions.push(known.into_iter().next().unwrap_or_else(condition));
    }
    (!conditions.is_empty()).then_some(conditions)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::controllers::pod::BURST_REPLICAS;

    const NOW: &str = "2026-01-01T00:10:00Z";

    fn now() -> Timestamp {
        NOW.parse().unwrap()
    }

    fn set(replicas: usize, extra: &Value) -> ReplicaSet {
        let mut set = json!({
            "metadata": { "name": "web", "namespace": "n", "uid": "1", "generation": 4 },
            "spec": {
                "replicas": replicas,
                "selector": { "matchLabels": { "app": "web" } },
                "template": { "metadata": { "labels": { "app": "web", "tier": "front" } } },
            },
        });
        json_patch::merge(&mut set, extra);
        serde_json::from_value(set).unwrap()
    }

    /// A pod whose name describes its state, such as `ready`.
    fn pod(name: &str) -> Pod {
        let (phase, ready) =
            if name == "ready" { ("Running", "True") } else { ("Pending", "False") };
        serde_json::from_value(json!({
            "metadata": { "name": name, "uid": name, "labels": { "app": "web" } },
            "spec": { "containers": [], "nodeName": "node" },
            "status": { "phase": phase, "conditions": [{
                "type": "Ready", "status": ready, "lastTransitionTime": "2026-01-01T00:09:50Z",
            }] },
        }))
        .unwrap()
    }

    #[test]
    fn plan_of_deleting_set_keeps_pods() {
        let deleting = set(3, &json!({ "metadata": { "deletionTimestamp": NOW } }));
        assert_eq!(plan(&deleting, &[pod("ready")]), []);
    }

    #[test]
    fn plan_is_limited_to_burst_replicas() {
        assert_eq!(plan(&set(10_000, &json!({})), &[]).len(), BURST_REPLICAS);
    }

    #[test]
    fn status_counts_pods_and_reports_failure() {
        let pods = [pod("ready"), pod("pending")];
        let status_of = |set: &ReplicaSet, failure: Option<(&str, String)>| {
            json!(status(set, &pods, failure, now()))
        };
        assert_eq!(
            status_of(&set(2, &json!({})), None),
            json!({ "replicas": 2, "readyReplicas": 1, "availableReplicas": 1, "observedGeneration": 4 })
        );
        assert_eq!(
            status_of(
                &set(
                    2,
                    &json!({ "spec": { "minReadySeconds": 11, "template": { "metadata": { "labels": { "tier": null } } } } })
                ),
                None
            ),
            json!({ "replicas": 2, "readyReplicas": 1, "fullyLabeledReplicas": 2, "observedGeneration": 4 })
        );
        let failing = status_of(&set(2, &json!({})), Some(("FailedCreate", "no".to_owned())));
        assert_eq!(
            failing["conditions"],
            json!([{
                "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "no",
                "lastTransitionTime": NOW,
            }])
        );
        let known = set(2, &json!({ "status": failing }));
        assert_eq!(
            status_of(&known, Some(("FailedCreate", "still no".to_owned())))["conditions"],
            failing["conditions"]
        );
        assert_eq!(status_of(&known, None)["conditions"], json!(null));
    }
}
