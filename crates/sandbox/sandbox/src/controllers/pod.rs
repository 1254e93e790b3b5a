//! What controllers want to know about pods, and how they make them.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodCondition, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

/// `status.phase`, which new pods do not have yet.
pub(super) fn phase(pod: &Pod) -> &str {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    phase.filter(|phase| !phase.is_empty()).unwrap_or("Pending")
}

/// Whether it will run no more.
pub(super) fn is_finished(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// Whether somebody has deleted it.
pub(super) fn is_terminating(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

/// Whether it runs or is going to.
pub(super) fn is_active(pod: &Pod) -> bool {
    !is_finished(pod) && !is_terminating(pod)
}

/// The node that it runs on.
pub(super) fn node(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|name| !name.is_empty())
}

/// One of its conditions.
pub(super) fn condition<'a>(pod: &'a Pod, type_: &str) -> Option<&'a PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether it is ready.
pub(super) fn is_ready(pod: &Pod) -> bool {
    condition(pod, "Ready").is_some_and(|condition| condition.status == "True")
}

/// Since when it is ready.
pub(super) fn ready_since(pod: &Pod) -> Option<Timestamp> {
    let ready = condition(pod, "Ready").filter(|condition| condition.status == "True")?;
    ready.last_transition_time.as_ref().map(|time| time.0)
}

/// From when on it counts as available: ready for as long as is asked for.
pub(super) fn available_from(pod: &Pod, min_ready_seconds: i32) -> Option<Timestamp> {
    if min_ready_seconds <= 0 {
        return is_ready(pod).then_some(Timestamp::MIN);
    }
    let wait = SignedDuration::from_secs(i64::from(min_ready_seconds));
    ready_since(pod)?.checked_add(wait).ok()
}

/// Whether it counts as available.
pub(super) fn is_available(pod: &Pod, min_ready_seconds: i32, now: Timestamp) -> bool {
    available_from(pod, min_ready_seconds).is_some_and(|from| from <= now)
}

/// When the next of these pods begins to count as available, if nothing happens.
pub(super) fn next_available<'a>(
    pods: impl IntoIterator<Item = &'a Pod>,
    min_ready_seconds: i32,
    now: Timestamp,
) -> Option<Timestamp> {
    let from = pods.into_iter().filter_map(|pod| available_from(pod, min_ready_seconds));
    from.filter(|from| *from > now).min()
}

/// How often its containers began anew.
pub(super) fn restarts(pod: &Pod) -> i32 {
    let status = pod.status.as_ref();
    let containers = status.and_then(|status| status.container_statuses.as_ref());
    let init = status.and_then(|status| status.init_container_statuses.as_ref());
    let statuses = containers.into_iter().chain(init).flatten();
    statuses.fold(0, |sum: i32, status: &ContainerStatus| sum.saturating_add(status.restart_count))
}

/// A pod as a template describes it, for its controller.
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
