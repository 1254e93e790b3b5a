//! Counting the pods of a Job, each of them once.
//!
//! A pod carries a finalizer until it is counted. It is first noted by its uid in the status, then
//! the finalizer goes, and only then the note becomes a number: whatever fails in between, nothing
//! is forgotten and nothing counts twice.

use k8s_openapi::api::batch::v1::{Job, UncountedTerminatedPods};
use k8s_openapi::api::core::v1::Pod;

use crate::controllers::pod;

/// What a pod carries until it is counted.
pub(super) const FINALIZER: &str = "batch.kubernetes.io/job-tracking";

/// The pods that have finished.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Count {
    /// Those that are counted for good.
    pub(super) succeeded: i32,
    /// Those that are counted for good.
    pub(super) failed: i32,
    /// Those that are noted.
    pub(super) noted: UncountedTerminatedPods,
    /// Those that were not noted before.
    pub(super) news: Vec<Finished>,
    /// Those that are noted and still have the finalizer.
    pub(super) to_untrack: Vec<Pod>,
}

/// How a pod has ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finished {
    pub(super) pod: Pod,
    pub(super) succeeded: bool,
}

impl Count {
    /// All pods that have succeeded, noted or counted.
    pub(super) fn all_succeeded(&self) -> i32 {
        self.succeeded.saturating_add(length(self.noted.succeeded.as_ref()))
    }

    /// All pods that have failed, noted or counted.
    pub(super) fn all_failed(&self) -> i32 {
        self.failed.saturating_add(length(self.noted.failed.as_ref()))
    }

    /// Whether everything is counted for good.
    pub(super) fn is_final(&self) -> bool {
        self.noted == UncountedTerminatedPods::default()
    }
}

/// Counts the pods that are a Job's own.
pub(super) fn count(job: &Job, pods: &[Pod]) -> Count {
    let status = job.status.clone().unwrap_or_default();
    let noted = status.uncounted_terminated_pods.unwrap_or_default();
    let tracked: Vec<_> = pods.iter().filter(|pod| is_tracked(pod)).collect();
    let is_tracked =
        |uid: &&String| tracked.iter().any(|pod| pod.metadata.uid.as_ref() == Some(uid));
    let split = |uids: Option<Vec<String>>| -> (Vec<String>, i32) {
        let uids = uids.unwrap_or_default();
        let still: Vec<_> = uids.iter().filter(is_tracked).cloned().collect();
        let counted = i32::try_from(uids.len() - still.len()).unwrap_or(i32::MAX);
        (still, counted)
    };
    let (mut succeeded, newly_succeeded) = split(noted.succeeded);
    let (mut failed, newly_failed) = split(noted.failed);
    let mut count = Count {
        succeeded: status.succeeded.unwrap_or(0).saturating_add(newly_succeeded),
        failed: status.failed.unwrap_or(0).saturating_add(newly_failed),
        ..Count::default()
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
        count.news.push(Finished { pod: pod.clone(), succeeded: has_succeeded });
    }
    let some = |uids: Vec<String>| (!uids.is_empty()).then_some(uids);
    count.noted = UncountedTerminatedPods { succeeded: some(succeeded), failed: some(failed) };
    count
}

/// Whether a pod has succeeded; `None` while it has not ended. One that somebody deletes has failed,
/// unless the Job is to wait for how it ends.
fn outcome(job: &Job, pod: &Pod) -> Option<bool> {
    match pod::phase(pod) {
        "Succeeded" => Some(true),
        "Failed" => Some(false),
        _ => (pod::is_terminating(pod) && !waits_for_end(job)).then_some(false),
    }
}

/// Whether a pod is replaced only after it has ended.
pub(super) fn waits_for_end(job: &Job) -> bool {
    let policy = job.spec.as_ref().and_then(|spec| spec.pod_replacement_policy.as_deref());
    policy == Some("Failed")
}

/// Whether a pod has the finalizer.
pub(super) fn is_tracked(pod: &Pod) -> bool {
    pod.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == FINALIZER)
}

fn length(uids: Option<&Vec<String>>) -> i32 {
    uids.map_or(0, |uids| i32::try_from(uids.len()).unwrap_or(i32::MAX))
}
