//! State of pods, and creation and deletion of pods by controllers.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{
    ContainerStatus, ObjectReference, Pod, PodCondition, PodTemplateSpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::runtime::{Component, EventRecorder, Severity};
use crate::api::{Propagation, StatusError};

/// `status.phase`; new pods have none.
pub(super) fn phase(pod: &Pod) -> &str {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    phase.filter(|phase| !phase.is_empty()).unwrap_or("Pending")
}

/// Whether the pod succeeded or failed.
pub(super) fn is_finished(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// Whether the pod is being deleted.
pub(super) fn is_terminating(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

/// Whether the pod runs or is pending.
pub(super) fn is_active(pod: &Pod) -> bool {
    !is_finished(pod) && !is_terminating(pod)
}

/// The node of the pod.
pub(super) fn node(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|name| !name.is_empty())
}

/// A condition of the pod.
pub(super) fn condition<'a>(pod: &'a Pod, type_: &str) -> Option<&'a PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether the pod is ready.
pub(super) fn is_ready(pod: &Pod) -> bool {
    condition(pod, "Ready").is_some_and(|condition| condition.status == "True")
}

/// Since when the pod is ready.
pub(super) fn ready_since(pod: &Pod) -> Option<Timestamp> {
    let ready = condition(pod, "Ready").filter(|condition| condition.status == "True")?;
    ready.last_transition_time.as_ref().map(|time| time.0)
}

/// Since when the pod is available: ready for `min_ready_seconds`.
pub(super) fn available_from(pod: &Pod, min_ready_seconds: i32) -> Option<Timestamp> {
    if min_ready_seconds <= 0 {
        return is_ready(pod).then_some(Timestamp::MIN);
    }
    let wait = SignedDuration::from_secs(i64::from(min_ready_seconds));
    ready_since(pod)?.checked_add(wait).ok()
}

/// Whether the pod is available.
pub(super) fn is_available(pod: &Pod, min_ready_seconds: i32, now: Timestamp) -> bool {
    available_from(pod, min_ready_seconds).is_some_and(|from| from <= now)
}

/// When the next of these pods becomes available without an event.
pub(super) fn next_available<'a>(
    pods: impl IntoIterator<Item = &'a Pod>,
    min_ready_seconds: i32,
    now: Timestamp,
) -> Option<Timestamp> {
    let from = pods.into_iter().filter_map(|pod| available_from(pod, min_ready_seconds));
    from.filter(|from| *from > now).min()
}

/// Sum of container restarts.
pub(super) fn restarts(pod: &Pod) -> i32 {
    let status = pod.status.as_ref();
    let containers = status.and_then(|status| status.container_statuses.as_ref());
    let init = status.and_then(|status| status.init_container_statuses.as_ref());
    let statuses = containers.into_iter().chain(init).flatten();
    statuses.fold(0, |sum: i32, status: &ContainerStatus| sum.saturating_add(status.restart_count))
}

/// A pod from a template, with its owner reference.
pub(super) fn from_template(
    template: &PodTemplateSpec,
    namespace: Option<&str>,
    controller: OwnerReference,
) -> Pod {
    let metadata = template.metadata.clone().unwrap_or_default();
    Pod {
        metadata: ObjectMeta {
            generate_name: Some(format!("{}-", controller.name)),
            namespace: namespace.map(str::to_owned),
            labels: metadata.labels,
            annotations: metadata.annotations,
            finalizers: metadata.finalizers,
            owner_references: Some(vec![controller]),
            ..ObjectMeta::default()
        },
        spec: template.spec.clone(),
        status: None,
    }
}

/// Maximum number of pods that a reconciliation creates or deletes (upstream: `BurstReplicas`).
pub(super) const BURST_REPLICAS: usize = 500;

/// A failed creation or deletion of a pod.
#[derive(Debug)]
pub(super) struct PodControlError {
    /// Reason of the condition.
    pub(super) reason: &'static str,
    /// Error of the API.
    pub(super) refusal: StatusError,
}

/// Creates, deletes and patches pods of a controller, and records events.
pub(super) struct PodControl {
    component: Component,
    recorder: EventRecorder,
}

impl PodControl {
    pub(super) fn new(component: &Component, name: &'static str) -> Self {
        Self {
            component: component.clone(),
            recorder: EventRecorder::new(component.client(), name),
        }
    }

    pub(super) fn recorder(&mut self) -> &mut EventRecorder {
        &mut self.recorder
    }

    pub(super) fn create(
        &mut self,
        owner: &ObjectReference,
        pod: &Pod,
    ) -> Result<(), PodControlError> {
        let created = self.component.client().create(pod);
        let result = created.map(|pod| format!("Created pod: {}", name(&pod)));
        self.record(owner, result, ("SuccessfulCreate", "FailedCreate", "Error creating"))
    }

    pub(super) fn delete(
        &mut self,
        owner: &ObjectReference,
        pod: &Pod,
    ) -> Result<(), PodControlError> {
        let deleted = self.component.client().delete(pod, Propagation::Background);
        let result = deleted.map(|()| format!("Deleted pod: {}", name(pod)));
        self.record(owner, result, ("SuccessfulDelete", "FailedDelete", "Error deleting"))
    }

    /// Records an event for a result: reasons of success and failure, and prefix of the error.
    fn record(
        &mut self,
        owner: &ObjectReference,
        result: Result<String, StatusError>,
        (success, failure, prefix): (&str, &'static str, &str),
    ) -> Result<(), PodControlError> {
        match result {
            Ok(message) => {
                self.recorder.publish(owner, Severity::Normal, success, &message);
                Ok(())
            }
            Err(refusal) => {
                let message = format!("{prefix}: {refusal}");
                self.recorder.publish(owner, Severity::Warning, failure, &message);
                Err(PodControlError { reason: failure, refusal })
            }
        }
    }

    /// Patches a pod; a missing pod is not an error.
    pub(super) fn merge(&self, pod: &Pod, patch: serde_json::Value) -> Result<(), StatusError> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        match self.component.client().merge::<Pod>(namespace, name(pod), patch) {
            Err(refusal) if refusal.code != 404 => Err(refusal),
            _ => Ok(()),
        }
    }
}

fn name(pod: &Pod) -> &str {
    pod.metadata.name.as_deref().unwrap_or_default()
}
