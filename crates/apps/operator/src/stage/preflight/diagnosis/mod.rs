//! What stands in the way of a run, as its Deployment, its Pods and their events tell it. Each cause
//! has its own reason, and a sentence that somebody can act on.

mod container;
mod pull;

use std::sync::Arc;

use fairway_api::reason::{Reason, preflight_failed};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::ResourceExt as _;

use crate::text;

/// Something that stands in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) reason: Reason,
    pub(super) message: String,
    /// Whether it will be so each time: trying again helps nobody.
    pub(super) is_final: bool,
}

impl Trouble {
    /// Something that may pass.
    pub(super) fn passing(reason: Reason, message: String) -> Self {
        Self { reason, message, is_final: false }
    }

    /// Something that does not pass.
    pub(super) fn lasting(reason: Reason, message: String) -> Self {
        Self { reason, message, is_final: true }
    }
}

/// What is seen of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) deployment: Option<Arc<Deployment>>,
    /// Nothing before it was looked.
    pub(super) pods: Option<Vec<Arc<Pod>>>,
    pub(super) events: Vec<Arc<Event>>,
}

impl Seen {
    /// How often the program of the run has ended, which it never should; nothing where nobody knows.
    pub(super) fn crashes(&self) -> Option<u32> {
        let pods = self.pods.as_ref()?;
        Some(pods.iter().map(|pod| container::crashes(pod)).sum())
    }

    /// What stands in the way, if anything does. `has_results` is whether the run ever said
    /// anything.
    pub(super) fn trouble(&self, has_results: bool) -> Option<Trouble> {
        let mut pods: Vec<_> = self.pods.iter().flatten().collect();
        // The latest is the one that counts: others may be on their way out.
        pods.sort_by_key(|pod| std::cmp::Reverse(pod.creation_timestamp()));
        let of_pods = pods.into_iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
        let mut troubles = of_pods.map(|pod| self.trouble_of(pod, has_results));
        match troubles.next() {
            Some(trouble) => trouble.or_else(|| troubles.flatten().next()),
            None => self.trouble_of_deployment(),
        }
    }

    fn trouble_of(&self, pod: &Pod, has_results: bool) -> Option<Trouble> {
        evicted(pod)
            .or_else(|| unschedulable(pod))
            .or_else(|| container::trouble(pod, &self.events_of(pod), has_results))
            .or_else(|| self.not_mounted(pod))
    }

    fn trouble_of_deployment(&self) -> Option<Trouble> {
        let status = self.deployment.as_ref()?.status.as_ref()?;
        let failure =
            status.conditions.iter().flatten().find(|condition| {
                condition.type_ == "ReplicaFailure" && condition.status == "True"
            })?;
        Some(not_created(failure.message.as_deref().unwrap_or_default()))
    }

    /// What was told about a Pod, the latest first.
    fn events_of(&self, pod: &Pod) -> Vec<&Event> {
        let name = pod.name_any();
        let about = |event: &&Event| event.involved_object.name.as_deref() == Some(name.as_str());
        let mut events: Vec<&Event> =
            self.events.iter().map(|event| &**event).filter(about).collect();
        let time = |event: &&Event| {
            let last = event.last_timestamp.as_ref().map(|time| time.0);
            std::cmp::Reverse(last.or_else(|| event.event_time.as_ref().map(|time| time.0)))
        };
        events.sort_by_key(time);
        events
    }

    /// A volume that cannot be mounted keeps a Pod waiting without a word in its status.
    fn not_mounted(&self, pod: &Pod) -> Option<Trouble> {
        if container::has_started(pod) {
            return None;
        }
        let told = self.events_of(pod).into_iter().find(|event| {
            matches!(event.reason.as_deref(), Some("FailedMount" | "FailedAttachVolume"))
        })?;
        let words = quoted(told.message.as_deref());
        let message = format!("cannot mount a volume of the preflight Pod: {words}");
        Some(Trouble::passing(preflight_failed::VOLUME_MOUNT_FAILED, message))
    }
}

/// Why Pods, or the Deployment itself, are not created. Whoever refuses them says so in these words.
pub(super) fn not_created(words: &str) -> Trouble {
    const REFUSALS: [&str; 5] =
        ["admission webhook", "denied", "violates", "forbidden", "security context constraint"];
    let lower = words.to_lowercase();
    // The namespace is full, or not ready for them: nobody refuses these Pods in particular.
    let is_unready = ["exceeded quota", "service account"].iter().any(|it| lower.contains(it));
    let is_refused = REFUSALS.iter().any(|refusal| lower.contains(refusal)) && !is_unready;
    let words = quoted(Some(words));
    if is_refused {
        let hint = if lower.contains("security context constraint") {
            "; apply the SecurityContextConstraints of deploy/operator/openshift.yaml"
        } else {
            ""
        };
        let message = format!("the cluster refuses the preflight Pods: {words}{hint}");
        return Trouble::passing(preflight_failed::ADMISSION_DENIED, message);
    }
    let message = format!("cannot create the preflight: {words}");
    Trouble::passing(preflight_failed::DEPLOYMENT_FAILED, message)
}

fn evicted(pod: &Pod) -> Option<Trouble> {
    let status = pod.status.as_ref()?;
    if status.phase.as_deref() != Some("Failed") {
        return None;
    }
    let words = quoted(status.message.as_deref());
    match status.reason.as_deref() {
        Some("Evicted") => Some(Trouble::passing(
            preflight_failed::EVICTED,
            format!("the node evicted the preflight Pod: {words}"),
        )),
        Some(reason @ ("Preempting" | "Shutdown" | "NodeShutdown" | "Terminated")) => {
            Some(Trouble::passing(
                preflight_failed::KILLED,
                format!("the node terminated the preflight Pod ({reason}): {words}"),
            ))
        }
        // The node itself does not take it: NodeAffinity, OutOfcpu, OutOfmemory, UnexpectedAdmissionError.
        Some(reason) => Some(Trouble::passing(
            preflight_failed::UNSCHEDULABLE,
            format!("the node rejected the preflight Pod ({reason}): {words}"),
        )),
        None => None,
    }
}

fn unschedulable(pod: &Pod) -> Option<Trouble> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let placed = conditions.iter().find(|condition| condition.type_ == "PodScheduled")?;
    (placed.status == "False").then(|| {
        let words = quoted(placed.message.as_deref());
        let message = format!("cannot schedule the preflight Pod: {words}");
        Trouble::passing(preflight_failed::UNSCHEDULABLE, message)
    })
}

/// What somebody else says, in one line; a sentence that ends there.
fn quoted(words: Option<&str>) -> String {
    let line = text::one_line(words.unwrap_or_default());
    if line.is_empty() { "no further details".to_owned() } else { line }
}

#[cfg(test)]
mod tests;
