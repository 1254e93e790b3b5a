//! Pods to create and delete for a Job.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::{Job, JobSpec, JobStatus};
use k8s_openapi::api::core::v1::Pod;

use super::status::{self, JobEvent, JobResult};
use super::tracking::{FinishedPod, PodCounts, count, is_tracked, waits_for_end};
use crate::controllers::deletion_rank::by_deletion_rank;
use crate::controllers::pod;
use crate::controllers::pod::BURST_REPLICAS;

/// A change of pods.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum JobAction {
    /// Create a pod.
    Create,
    /// Delete a pod, which counts as failed.
    DeleteAsFailed(Box<Pod>),
    /// Delete a pod that is no longer needed and does not count.
    Discard(Box<Pod>),
}

/// Changes, status, events, and time of the next reconciliation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct JobPlan {
    pub(super) actions: Vec<JobAction>,
    pub(super) status: JobStatus,
    /// Pods whose tracking finalizer is removed after the status is written.
    pub(super) untrack: Vec<Pod>,
    pub(super) backoff: Backoff,
    pub(super) events: Vec<JobEvent>,
    pub(super) requeue_at: Option<Timestamp>,
}

/// Plans the changes of an unfinished Job and of the pods that it owns.
pub(super) fn plan(job: &Job, pods: &[Pod], backoff: Backoff, now: Timestamp) -> JobPlan {
    let state = JobState::new(job, pods, now);
    let backoff = backoff.after(&state.count.newly_finished, now);
    let (mut status, mut events) = status::started_status(&state);
    let failed = JobResult::from_interim_condition(job).or_else(|| failure(&state, &status));
    let (actions, requeue_at) = match &failed {
        Some(result) => (stop(&state, result), None),
        None => sync_active(&state, &status, backoff),
    };
    let result = failed.or_else(|| is_complete(&state).then(JobResult::success));
    let created = actions.iter().filter(|action| **action == JobAction::Create).count();
    status::set_counts(&state, created, actions.len() - created, result, &mut status, &mut events);
    JobPlan { actions, status, untrack: state.count.to_untrack, backoff, events, requeue_at }
}

/// Deletes all pods; those of a failed Job count as failed.
fn stop(state: &JobState<'_>, result: &JobResult) -> Vec<JobAction> {
    let leave = if result.succeeded { JobAction::Discard } else { JobAction::DeleteAsFailed };
    state.active.iter().cloned().map(Box::new).map(leave).collect()
}

/// Changes of pods of an active Job, and the time of the next reconciliation.
fn sync_active(
    state: &JobState<'_>,
    status: &JobStatus,
    backoff: Backoff,
) -> (Vec<JobAction>, Option<Timestamp>) {
    let deadline = deadline(state, status);
    if state.job.metadata.deletion_timestamp.is_some() {
        return (Vec::new(), deadline);
    }
    let (desired, active) = (desired(state), state.active.len());
    if active > desired {
        let deleting = by_deletion_rank(state.active.clone()).into_iter().take(active - desired);
        return (
            deleting.take(BURST_REPLICAS).map(Box::new).map(JobAction::Discard).collect(),
            deadline,
        );
    }
    let missing = desired.saturating_sub(state.blocking_terminating()).saturating_sub(active);
    match backoff.until().filter(|until| *until > state.now && missing > 0) {
        Some(until) => (Vec::new(), deadline.into_iter().chain([until]).min()),
        None => (vec![JobAction::Create; missing.min(BURST_REPLICAS)], deadline),
    }
}

/// Number of pods that should run.
fn desired(state: &JobState<'_>) -> usize {
    let spec = &state.spec;
    let parallelism = usize::try_from(spec.parallelism.unwrap_or(1)).unwrap_or(0);
    let succeeded = state.count.all_succeeded();
    match spec.completions {
        _ if spec.suspend == Some(true) => 0,
        // Without `completions`, the first success completes the Job; running pods may finish.
        None if succeeded > 0 => state.active.len(),
        None => parallelism,
        Some(completions) => {
            usize::try_from(completions.saturating_sub(succeeded)).unwrap_or(0).min(parallelism)
        }
    }
}

/// For a finished Job: pods that still have the finalizer, and the expiry of
/// `ttlSecondsAfterFinished`.
pub(super) fn after_finish(job: &Job, pods: &[Pod]) -> (Vec<Pod>, Option<Timestamp>) {
    let marked = pods.iter().filter(|pod| is_tracked(pod)).cloned().collect();
    let allowed = job.spec.as_ref().and_then(|spec| spec.ttl_seconds_after_finished);
    let allowed = allowed.map(|seconds| SignedDuration::from_secs(i64::from(seconds)));
    let expires = allowed.and_then(|allowed| status::finished_at(job)?.checked_add(allowed).ok());
    (marked, expires)
}

/// A Job and its pods at one time.
pub(super) struct JobState<'a> {
    pub(super) job: &'a Job,
    pub(super) spec: JobSpec,
    /// All pods that the Job owns.
    pub(super) pods: &'a [Pod],
    /// Pods that run or are pending.
    pub(super) active: Vec<Pod>,
    /// Number of terminating pods.
    pub(super) terminating: usize,
    pub(super) count: PodCounts,
    pub(super) now: Timestamp,
}

impl<'a> JobState<'a> {
    pub(super) fn new(job: &'a Job, pods: &'a [Pod], now: Timestamp) -> Self {
        let leaves = |pod: &&Pod| pod::is_terminating(pod) && !pod::is_finished(pod);
        Self {
            job,
            spec: job.spec.clone().unwrap_or_default(),
            pods,
            active: pods.iter().filter(|pod| pod::is_active(pod)).cloned().collect(),
            terminating: pods.iter().filter(leaves).count(),
            count: count(job, pods),
            now,
        }
    }

    /// Number of terminating pods that delay replacements.
    pub(super) fn blocking_terminating(&self) -> usize {
        if waits_for_end(self.job) { self.terminating } else { 0 }
    }
}

/// Default of `spec.backoffLimit`.
const DEFAULT_BACKOFF_LIMIT: i32 = 6;

/// Whether enough pods succeeded.
pub(super) fn is_complete(state: &JobState<'_>) -> bool {
    let succeeded = state.count.all_succeeded();
    match state.spec.completions {
        None => succeeded > 0 && state.active.is_empty(),
        Some(completions) => succeeded >= completions,
    }
}

/// Failure of the Job, if any.
pub(super) fn failure(state: &JobState<'_>, status: &JobStatus) -> Option<JobResult> {
    let limit = state.spec.backoff_limit.unwrap_or(DEFAULT_BACKOFF_LIMIT);
    if state.count.all_failed() > limit || restarts_exceed(state, limit) {
        let message = "Job has reached the specified backoff limit";
        return Some(JobResult::failure("BackoffLimitExceeded", message));
    }
    let message = "Job was active longer than specified deadline";
    let is_over = deadline(state, status).is_some_and(|deadline| deadline <= state.now);
    is_over.then(|| JobResult::failure("DeadlineExceeded", message))
}

/// With `restartPolicy: OnFailure`, container restarts count against the backoff limit.
fn restarts_exceed(state: &JobState<'_>, limit: i32) -> bool {
    let template = state.spec.template.spec.as_ref();
    if template.and_then(|spec| spec.restart_policy.as_deref()) != Some("OnFailure") {
        return false;
    }
    let running = state.pods.iter().filter(|pod| !pod::is_finished(pod));
    let restarts = running.map(pod::restarts).fold(0, i32::saturating_add);
    if limit == 0 { restarts > 0 } else { restarts >= limit }
}

/// When `activeDeadlineSeconds` expires.
pub(super) fn deadline(state: &JobState<'_>, status: &JobStatus) -> Option<Timestamp> {
    if state.spec.suspend == Some(true) {
        return None;
    }
    let allowed = SignedDuration::from_secs(state.spec.active_deadline_seconds?);
    status.start_time.as_ref()?.0.checked_add(allowed).ok()
}

/// Delay after the first failure (upstream: `DefaultJobPodFailureBackOff`).
const INITIAL_BACKOFF: SignedDuration = SignedDuration::from_secs(10);

/// Maximum delay (upstream: `MaxJobPodFailureBackOff`).
const MAX_BACKOFF: SignedDuration = SignedDuration::from_mins(10);

/// Consecutive failures of a Job's pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Backoff {
    failures: u32,
    last: Option<Timestamp>,
}

impl Backoff {
    /// The backoff after these pods have finished.
    pub(super) fn after(self, finished: &[FinishedPod], now: Timestamp) -> Self {
        let mut ends: Vec<_> =
            finished.iter().map(|it| (finished_at(&it.pod).unwrap_or(now), it.succeeded)).collect();
        ends.sort_unstable();
        ends.into_iter().fold(self, |before, (at, succeeded)| {
            let failures = before.failures.saturating_add(1);
            if succeeded { Self::default() } else { Self { failures, last: Some(at) } }
        })
    }

    /// The time when pods may be created again.
    pub(super) fn until(self) -> Option<Timestamp> {
        let doublings = self.failures.checked_sub(1)?;
        let factor = 2_i32.saturating_pow(doublings);
        let pause = INITIAL_BACKOFF.checked_mul(factor).unwrap_or(MAX_BACKOFF).min(MAX_BACKOFF);
        self.last?.checked_add(pause).ok()
    }
}

/// When a pod finished: with its last container, or when it was deleted.
fn finished_at(pod: &Pod) -> Option<Timestamp> {
    let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
    let ends = statuses.into_iter().flatten().filter_map(|status| {
        let ended = status.state.as_ref()?.terminated.as_ref()?;
        ended.finished_at.as_ref().map(|time| time.0)
    });
    let deleted = || pod.metadata.deletion_timestamp.as_ref().map(|time| time.0);
    ends.max().or_else(deleted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ended(second: i64, succeeded: bool) -> FinishedPod {
        let at = Timestamp::from_second(second).unwrap().to_string();
        let pod =
            serde_json::from_value(json!({ "metadata": {}, "status": { "containerStatuses": [{
            "name": "c", "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": { "terminated": { "exitCode": 1, "finishedAt": at } },
        }] } }));
        FinishedPod { pod: pod.unwrap(), succeeded }
    }

    #[test]
    fn backoff_doubles_and_resets_after_success() {
        let now = Timestamp::from_second(1000).unwrap();
        let until = |finished: &[FinishedPod]| {
            Backoff::default().after(finished, now).until().map(Timestamp::as_second)
        };
        assert_eq!(until(&[]), None);
        assert_eq!(until(&[ended(5, true)]), None);
        assert_eq!(until(&[ended(5, false)]), Some(15));
        assert_eq!(until(&[ended(9, false), ended(5, false)]), Some(29));
        assert_eq!(until(&[ended(9, false), ended(5, false), ended(7, true)]), Some(19));
        assert_eq!(until(&[ended(5, false), ended(9, true)]), None);
        let many: Vec<_> = (0..50).map(|second| ended(second, false)).collect();
        assert_eq!(until(&many), Some(49 + 600));
    }
}
