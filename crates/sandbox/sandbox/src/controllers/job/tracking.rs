//! Counts each pod of a Job exactly once (KEP-2307).
//!
//! A pod has a finalizer until it is counted. Its UID is first written to
//! `uncountedTerminatedPods`, then the finalizer is removed, then the UID becomes part of the
//! count. A failure between these steps neither loses a pod nor counts it twice.

use k8s_openapi::api::batch::v1::{Job, UncountedTerminatedPods};
use k8s_openapi::api::core::v1::Pod;

use crate::controllers::pod;

/// Finalizer of pods that are not counted yet.
pub(super) const FINALIZER: &str = "batch.kubernetes.io/job-tracking";

/// Finished pods of a Job.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PodCounts {
    /// Succeeded pods in the final count.
    pub(super) succeeded: i32,
    /// Failed pods in the final count.
    pub(super) failed: i32,
    /// UIDs of finished pods that are not in the final count.
    pub(super) uncounted: UncountedTerminatedPods,
    /// Pods that were not in `uncounted` before.
    pub(super) newly_finished: Vec<FinishedPod>,
    /// Pods in `uncounted` that still have the finalizer.
    pub(super) to_untrack: Vec<Pod>,
}

/// A finished pod.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FinishedPod {
    pub(super) pod: Pod,
    pub(super) succeeded: bool,
}

impl PodCounts {
    /// Succeeded pods, counted or not.
    pub(super) fn all_succeeded(&self) -> i32 {
        self.succeeded.saturating_add(length(self.uncounted.succeeded.as_ref()))
    }

    /// Failed pods, counted or not.
    pub(super) fn all_failed(&self) -> i32 {
        self.failed.saturating_add(length(self.uncounted.failed.as_ref()))
    }

    /// Whether all finished pods are in the final count.
    pub(super) fn is_final(&self) -> bool {
        self.uncounted == UncountedTerminatedPods::default()
    }
}

/// Counts the pods that a Job owns.
pub(super) fn count(job: &Job, pods: &[Pod]) -> PodCounts {
    let status = job.status.clone().unwrap_or_default();
    let uncounted = status.uncounted_terminated_pods.unwrap_or_default();
    let tracked: Vec<_> = pods.iter().filter(|pod| is_tracked(pod)).collect();
    let is_tracked =
        |uid: &&String| tracked.iter().any(|pod| pod.metadata.uid.as_ref() == Some(uid));
    let split = |uids: Option<Vec<String>>| -> (Vec<String>, i32) {
        let uids = uids.unwrap_or_default();
        let still: Vec<_> = uids.iter().filter(is_tracked).cloned().collect();
        let counted = i32::try_from(uids.len() - still.len()).unwrap_or(i32::MAX);
        (still, counted)
    };
    let (mut succeeded, newly_succeeded) = split(uncounted.succeeded);
    let (mut failed, newly_failed) = split(uncounted.failed);
    let mut count = PodCounts {
        succeeded: status.succeeded.unwrap_or(0).saturating_add(newly_succeeded),
        failed: status.failed.unwrap_or(0).saturating_add(newly_failed),
        ..PodCounts::default()
    };
    for pod in tracked {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        if succeeded.contains(&uid) || failed.contains(&uid) {
            count.to_untrack.push(pod.clone());
            continue;
        }
        let Some(has_succeeded) = outcome(job, pod) else { continue };
        if has_succeeded { &mut succeeded } else { &mut failed }.push(uid);
        count.to_untrack.push(pod.clone());
        count.newly_finished.push(FinishedPod { pod: pod.clone(), succeeded: has_succeeded });
    }
    let some = |uids: Vec<String>| (!uids.is_empty()).then_some(uids);
    count.uncounted = UncountedTerminatedPods { succeeded: some(succeeded), failed: some(failed) };
    count
}

/// Whether a pod succeeded; `None` while it runs. A deleted pod failed, unless the Job waits for
/// its termination.
fn outcome(job: &Job, pod: &Pod) -> Option<bool> {
    match pod::phase(pod) {
        "Succeeded" => Some(true),
        "Failed" => Some(false),
        _ => (pod::is_terminating(pod) && !waits_for_end(job)).then_some(false),
    }
}

/// Whether a pod is replaced only after its termination (`podReplacementPolicy: Failed`).
pub(super) fn waits_for_end(job: &Job) -> bool {
    let policy = job.spec.as_ref().and_then(|spec| spec.pod_replacement_policy.as_deref());
    policy == Some("Failed")
}

/// Whether a pod has the tracking finalizer.
pub(super) fn is_tracked(pod: &Pod) -> bool {
    pod.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == FINALIZER)
}

fn length(uids: Option<&Vec<String>>) -> i32 {
    uids.map_or(0, |uids| i32::try_from(uids.len()).unwrap_or(i32::MAX))
}
