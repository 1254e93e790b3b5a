//! Derives the error of a run from its Deployment, its Pods and their events. Each cause has its
//! own reason and an actionable message.

use std::sync::Arc;

use fairway_api::reason::{Reason, preflight_failed};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStatus, Event, Pod};
use kube::ResourceExt as _;

use crate::text;

/// An error of a preflight, as the condition `PreflightFailed` reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PreflightError {
    pub(super) reason: Reason,
    pub(super) message: String,
    /// Whether a retry would fail in the same way.
    pub(super) is_permanent: bool,
}

impl PreflightError {
    /// An error that a retry may resolve.
    pub(super) fn transient(reason: Reason, message: String) -> Self {
        Self { reason, message, is_permanent: false }
    }

    /// An error that a retry does not resolve.
    pub(super) fn permanent(reason: Reason, message: String) -> Self {
        Self { reason, message, is_permanent: true }
    }
}

/// Watched objects of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct RunObservation {
    pub(super) deployment: Option<Arc<Deployment>>,
    /// `None` before the first list.
    pub(super) pods: Option<Vec<Arc<Pod>>>,
    pub(super) events: Vec<Arc<Event>>,
}

impl RunObservation {
    /// Number of crashes of the run's containers, which should never exit; `None` if unknown.
    pub(super) fn crashes(&self) -> Option<u32> {
        let pods = self.pods.as_ref()?;
        Some(pods.iter().map(|pod| container_crashes(pod)).sum())
    }

    /// Error of the run. `has_results` is whether the run has ever written results.
    pub(super) fn error(&self, has_results: bool) -> Option<PreflightError> {
        let mut pods: Vec<_> = self.pods.iter().flatten().collect();
        // The newest Pod comes first. Older ones may be terminating.
        pods.sort_by_key(|pod| std::cmp::Reverse(pod.creation_timestamp()));
        let of_pods = pods.into_iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
        let mut errors = of_pods.map(|pod| self.pod_error(pod, has_results));
        match errors.next() {
            Some(error) => error.or_else(|| errors.flatten().next()),
            None => self.deployment_error(),
        }
    }

    fn pod_error(&self, pod: &Pod, has_results: bool) -> Option<PreflightError> {
        eviction_error(pod)
            .or_else(|| scheduling_error(pod))
            .or_else(|| container_error(pod, &self.pod_events(pod), has_results))
            .or_else(|| self.mount_error(pod))
    }

    fn deployment_error(&self) -> Option<PreflightError> {
        let status = self.deployment.as_ref()?.status.as_ref()?;
        let failure =
            status.conditions.iter().flatten().find(|condition| {
                condition.type_ == "ReplicaFailure" && condition.status == "True"
            })?;
        Some(creation_error(failure.message.as_deref().unwrap_or_default()))
    }

    /// Events of a Pod, the latest first.
    fn pod_events(&self, pod: &Pod) -> Vec<&Event> {
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

    /// A volume that cannot be mounted is reported by events only, not by the Pod status.
    fn mount_error(&self, pod: &Pod) -> Option<PreflightError> {
        if has_started(pod) {
            return None;
        }
        let event = self.pod_events(pod).into_iter().find(|event| {
            matches!(event.reason.as_deref(), Some("FailedMount" | "FailedAttachVolume"))
        })?;
        let message = quoted(event.message.as_deref());
        let message = format!("cannot mount a volume of the preflight Pod: {message}");
        Some(PreflightError::transient(preflight_failed::VOLUME_MOUNT_FAILED, message))
    }
}

/// Why Pods, or the Deployment itself, are not created. Refusals by admission are recognised by
/// their messages.
pub(super) fn creation_error(message: &str) -> PreflightError {
    const REFUSALS: [&str; 5] =
        ["admission webhook", "denied", "violates", "forbidden", "security context constraint"];
    let lower = message.to_lowercase();
    // Quota, or a ServiceAccount that does not exist yet: not a refusal of these Pods in
    // particular.
    let is_unready = ["exceeded quota", "service account"].iter().any(|it| lower.contains(it));
    let is_refused = REFUSALS.iter().any(|refusal| lower.contains(refusal)) && !is_unready;
    let message = quoted(Some(message));
    if is_refused {
        let hint = if lower.contains("security context constraint") {
            "; apply the SecurityContextConstraints of deploy/operator/openshift.yaml"
        } else {
            ""
        };
        let message = format!("the cluster refuses the preflight Pods: {message}{hint}");
        return PreflightError::transient(preflight_failed::ADMISSION_DENIED, message);
    }
    let message = format!("cannot create the preflight: {message}");
    PreflightError::transient(preflight_failed::DEPLOYMENT_FAILED, message)
}

fn eviction_error(pod: &Pod) -> Option<PreflightError> {
    let status = pod.status.as_ref()?;
    if status.phase.as_deref() != Some("Failed") {
        return None;
    }
    let message = quoted(status.message.as_deref());
    match status.reason.as_deref() {
        Some("Evicted") => Some(PreflightError::transient(
            preflight_failed::EVICTED,
            format!("the node evicted the preflight Pod: {message}"),
        )),
        Some(reason @ ("Preempting" | "Shutdown" | "NodeShutdown" | "Terminated")) => {
            Some(PreflightError::transient(
                preflight_failed::KILLED,
                format!("the node terminated the preflight Pod ({reason}): {message}"),
            ))
        }
        // Rejected by the kubelet: NodeAffinity, OutOfcpu, OutOfmemory, UnexpectedAdmissionError.
        Some(reason) => Some(PreflightError::transient(
            preflight_failed::UNSCHEDULABLE,
            format!("the node rejected the preflight Pod ({reason}): {message}"),
        )),
        None => None,
    }
}

fn scheduling_error(pod: &Pod) -> Option<PreflightError> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let placed = conditions.iter().find(|condition| condition.type_ == "PodScheduled")?;
    (placed.status == "False").then(|| {
        let message = quoted(placed.message.as_deref());
        let message = format!("cannot schedule the preflight Pod: {message}");
        PreflightError::transient(preflight_failed::UNSCHEDULABLE, message)
    })
}

/// Text of another component in one line, or a placeholder.
fn quoted(message: Option<&str>) -> String {
    let line = text::one_line(message.unwrap_or_default());
    if line.is_empty() { "no further details".to_owned() } else { line }
}

/// Error texts of binaries without the subcommand `preflight`.
const UNKNOWN_SUBCOMMAND_TEXTS: [&str; 4] = [
    "unrecognized subcommand 'preflight'",
    "unknown command \"preflight\"",
    "unknown subcommand",
    "unexpected argument 'preflight'",
];

/// Exit code of a binary that is called with invalid arguments.
const USAGE_EXIT_CODE: i32 = 2;

/// Exit codes of SIGKILL and SIGTERM, sent by the kernel or an administrator.
const KILL_EXIT_CODES: [i32; 2] = [128 + 9, 128 + 15];

/// Exit codes of shells and container runtimes if the command cannot be executed.
const NOT_EXECUTABLE_EXIT_CODES: [i32; 3] = [126, 127, 128];

/// Status of the Pod's only container.
fn container_status(pod: &Pod) -> Option<&ContainerStatus> {
    pod.status.as_ref()?.container_statuses.as_ref()?.first()
}

/// Whether the container ever started.
fn has_started(pod: &Pod) -> bool {
    container_status(pod).is_some_and(|status| {
        let state = status.state.as_ref();
        status.restart_count > 0
            || state.is_some_and(|state| state.running.is_some() || state.terminated.is_some())
    })
}

/// Number of crashes. A container that waits for its restart has ended once more than it was
/// restarted.
fn container_crashes(pod: &Pod) -> u32 {
    let Some(status) = container_status(pod) else { return 0 };
    let restarts = u32::try_from(status.restart_count).unwrap_or_default();
    let is_down = status.state.as_ref().is_some_and(|state| {
        state.terminated.is_some()
            || state.waiting.as_ref().and_then(|waiting| waiting.reason.as_deref())
                == Some("CrashLoopBackOff")
    });
    restarts + u32::from(is_down)
}

/// Error of the container.
fn container_error(pod: &Pod, events: &[&Event], has_results: bool) -> Option<PreflightError> {
    let status = container_status(pod)?;
    let state = status.state.as_ref()?;
    if let Some(waiting) = &state.waiting {
        let reason = waiting.reason.as_deref().unwrap_or_default();
        let message = waiting.message.as_deref();
        if let Some(error) = pull_error(reason, message, events) {
            return Some(error);
        }
        if matches!(
            reason,
            "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError"
        ) {
            return Some(start_error(message));
        }
    }
    // After a restart with results, the previous termination does not matter.
    let is_well = state.running.is_some() && has_results;
    let last = status.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    let ended = state.terminated.as_ref().or(last.filter(|_| !is_well));
    ended.map(|ended| termination_error(ended, has_results))
}

fn start_error(message: Option<&str>) -> PreflightError {
    let message = format!("cannot start the preflight container: {}", quoted(message));
    PreflightError::transient(preflight_failed::START_FAILED, message)
}

fn termination_error(ended: &ContainerStateTerminated, has_results: bool) -> PreflightError {
    let message = ended.message.as_deref();
    let reason = ended.reason.as_deref().unwrap_or_default();
    if reason == "OOMKilled" {
        let message = "the preflight exceeded its memory limit".to_owned();
        return PreflightError::transient(preflight_failed::OOM_KILLED, message);
    }
    if matches!(reason, "ContainerCannotRun" | "StartError")
        || (NOT_EXECUTABLE_EXIT_CODES.contains(&ended.exit_code) && !has_results)
    {
        return start_error(message);
    }
    if !has_results && is_unknown_subcommand(ended.exit_code, message.unwrap_or_default()) {
        let message = "the target release is too old to support preflights".to_owned();
        return PreflightError::permanent(preflight_failed::PREFLIGHT_NOT_SUPPORTED, message);
    }
    if KILL_EXIT_CODES.contains(&ended.exit_code) {
        let signal = ended.exit_code - 128;
        let message = format!("signal {signal} terminated the preflight of the target release");
        return PreflightError::transient(preflight_failed::KILLED, message);
    }
    let (code, message) = (ended.exit_code, quoted(message));
    let message = format!("the preflight of the target release exited with code {code}: {message}");
    PreflightError::transient(preflight_failed::CRASH_LOOP_BACK_OFF, message)
}

/// Whether the binary does not support preflights. The exit code alone is not sufficient: crashes
/// may have it, too.
fn is_unknown_subcommand(code: i32, message: &str) -> bool {
    let lower = message.to_lowercase();
    UNKNOWN_SUBCOMMAND_TEXTS.iter().any(|sentence| lower.contains(sentence))
        || (code == USAGE_EXIT_CODE && lower.contains("usage:"))
}

/// Waiting reasons of containers whose image is missing.
const PULL_REASONS: [&str; 6] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "RegistryUnavailable",
];

/// Error texts of registries and container runtimes for rejected credentials.
const UNAUTHORIZED_TEXTS: [&str; 8] = [
    "unauthorized",
    "authentication required",
    "authorization failed",
    "no basic auth credentials",
    "access denied",
    "access to the requested resource is not authorized",
    "401",
    "403",
];

/// Error of an image pull, with the most specific message.
fn pull_error(reason: &str, message: Option<&str>, events: &[&Event]) -> Option<PreflightError> {
    if !PULL_REASONS.contains(&reason) {
        return None;
    }
    // `ImagePullBackOff` does not contain the cause. An earlier event does.
    let names_cause = |event: &&&Event| {
        let message = event.message.as_deref().unwrap_or_default();
        event.reason.as_deref() == Some("Failed") && message.contains("pull image")
    };
    let cause = events.iter().find(names_cause).and_then(|event| event.message.as_deref());
    let own = message.filter(|_| reason != "ImagePullBackOff");
    let message = quoted(own.or(cause).or(message));
    let lower = message.to_lowercase();
    Some(if UNAUTHORIZED_TEXTS.iter().any(|refusal| lower.contains(refusal)) {
        let message =
            format!("the registry denied the node access to the release image: {message}");
        PreflightError::transient(preflight_failed::IMAGE_PULL_UNAUTHORIZED, message)
    } else {
        let message = format!("the node cannot pull the release image: {message}");
        PreflightError::transient(preflight_failed::IMAGE_PULL_BACK_OFF, message)
    })
}

#[cfg(test)]
mod tests;
