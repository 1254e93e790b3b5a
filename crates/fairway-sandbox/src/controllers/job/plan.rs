//! What becomes of a Job and its pods.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::{Job, JobSpec, JobStatus};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::back_off::BackOff;
use super::conditions::{self, SUSPENDED, Verdict};
use super::tracking::{Count, count, is_tracked, waits_for_end};
use crate::controllers::departure::in_order_of_departure;
use crate::controllers::pod;
use crate::controllers::pod_control::BURST;

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    /// A pod is made.
    Create,
    /// A pod goes, and counts as failed.
    Stop(Box<Pod>),
    /// A pod goes and does not count, as it is not wanted any more.
    Dismiss(Box<Pod>),
}

/// What is to be done, what is to be said, and when to look again.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plan {
    pub(super) actions: Vec<Action>,
    pub(super) status: JobStatus,
    /// The pods whose finalizers go once the status is written.
    pub(super) untrack: Vec<Pod>,
    pub(super) back_off: BackOff,
    pub(super) news: Vec<News>,
    pub(super) again: Option<Timestamp>,
}

/// What people are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum News {
    Completed,
    Failed(String, String),
    Suspended,
    Resumed,
}

/// What becomes of a Job that has not ended, and of the pods that are its own.
pub(super) fn plan(job: &Job, pods: &[Pod], back_off: BackOff, now: Timestamp) -> Plan {
    let spec = job.spec.clone().unwrap_or_default();
    let count = count(job, pods);
    let back_off = back_off.after(&count.news, now);
    let active: Vec<_> = pods.iter().filter(|pod| pod::is_active(pod)).cloned().collect();
    let terminating = pods.iter().filter(|pod| pod::is_terminating(pod) && !pod::is_finished(pod));
    let terminating = terminating.count();

    let mut status = job.status.clone().unwrap_or_default();
    let mut news = Vec::new();
    note_suspension(&spec, &mut status, &mut news, now);
    let mut verdict =
        Verdict::announced(job).or_else(|| failure(&spec, &status, pods, &count, now));
    let (mut actions, mut again) = (Vec::new(), None);
    if let Some(verdict) = &verdict {
        let leave = |pod| if verdict.succeeded { Action::Dismiss(pod) } else { Action::Stop(pod) };
        actions.extend(active.iter().cloned().map(Box::new).map(leave));
    } else {
        if job.metadata.deletion_timestamp.is_none() {
            let waiting = if waits_for_end(job) { terminating } else { 0 };
            let until = back_off.until().filter(|until| *until > now);
            (actions, again) = manage(&spec, &count, &active, waiting, until);
        }
        verdict = is_complete(&spec, &count, active.len()).then(Verdict::success);
        again = again.into_iter().chain(deadline(&spec, &status)).min();
    }

    let made = actions.iter().filter(|action| **action == Action::Create).count();
    let leaving = actions.len() - made;
    let after = active.len() + made - leaving;
    let remaining = terminating + leaving;
    status.active = some(after);
    status.ready = number(active.iter().filter(|pod| pod::is_ready(pod)).count());
    status.terminating = number(remaining);
    status.succeeded = (count.succeeded != 0).then_some(count.succeeded);
    status.failed = (count.failed != 0).then_some(count.failed);
    status.uncounted_terminated_pods = Some(count.noted.clone());
    if let Some(verdict) = verdict {
        let ended = count.is_final() && after == 0 && remaining == 0;
        announce(&verdict, ended, &mut status, &mut news, now);
    }
    Plan { actions, status, untrack: count.to_untrack, back_off, news, again }
}

/// What becomes of the pods while the Job goes on, and when more of them may be made.
fn manage(
    spec: &JobSpec,
    count: &Count,
    active: &[Pod],
    waiting: usize,
    until: Option<Timestamp>,
) -> (Vec<Action>, Option<Timestamp>) {
    let wanted = wanted(spec, count, active.len());
    if active.len() > wanted {
        let surplus = active.len() - wanted;
        let leaving = in_order_of_departure(active.to_vec()).into_iter().take(surplus.min(BURST));
        return (leaving.map(Box::new).map(Action::Dismiss).collect(), None);
    }
    let missing = wanted.saturating_sub(waiting).saturating_sub(active.len());
    match until {
        Some(until) if missing > 0 => (Vec::new(), Some(until)),
        _ => (vec![Action::Create; missing.min(BURST)], None),
    }
}

/// How many pods are to run.
fn wanted(spec: &JobSpec, count: &Count, active: usize) -> usize {
    let parallelism = usize::try_from(spec.parallelism.unwrap_or(1)).unwrap_or(0);
    if spec.suspend == Some(true) {
        return 0;
    }
    match spec.completions {
        // The first success ends it; those that run may go on.
        None if count.all_succeeded() > 0 => active,
        None => parallelism,
        Some(completions) => {
            let missing = completions.saturating_sub(count.all_succeeded());
            usize::try_from(missing).unwrap_or(0).min(parallelism)
        }
    }
}

fn is_complete(spec: &JobSpec, count: &Count, active: usize) -> bool {
    match spec.completions {
        None => count.all_succeeded() > 0 && active == 0,
        Some(completions) => count.all_succeeded() >= completions,
    }
}

/// Why the Job has failed, if it has.
fn failure(
    spec: &JobSpec,
    status: &JobStatus,
    pods: &[Pod],
    count: &Count,
    now: Timestamp,
) -> Option<Verdict> {
    let limit = spec.backoff_limit.unwrap_or(6);
    if count.all_failed() > limit || restarts_exceed(spec, pods, limit) {
        let message = "Job has reached the specified backoff limit";
        return Some(Verdict::failure("BackoffLimitExceeded", message));
    }
    let deadline = deadline(spec, status)?;
    (deadline <= now).then(|| {
        Verdict::failure("DeadlineExceeded", "Job was active longer than specified deadline")
    })
}

/// Where containers are started again in their pods, these failures count.
fn restarts_exceed(spec: &JobSpec, pods: &[Pod], limit: i32) -> bool {
    let policy = spec.template.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref());
    if policy != Some("OnFailure") {
        return false;
    }
    let active = pods.iter().filter(|pod| !pod::is_finished(pod));
    let restarts = active.map(pod::restarts).fold(0, i32::saturating_add);
    if limit == 0 { restarts > 0 } else { restarts >= limit }
}

/// When the Job has been active for too long.
fn deadline(spec: &JobSpec, status: &JobStatus) -> Option<Timestamp> {
    if spec.suspend == Some(true) {
        return None;
    }
    let allowed = SignedDuration::from_secs(spec.active_deadline_seconds?);
    status.start_time.as_ref()?.0.checked_add(allowed).ok()
}

/// The time begins when the Job does, and again when it is resumed.
fn note_suspension(spec: &JobSpec, status: &mut JobStatus, news: &mut Vec<News>, now: Timestamp) {
    let suspended = spec.suspend == Some(true);
    let conditions = status.conditions.get_or_insert_default();
    let told =
        if suspended { ("JobSuspended", "Job suspended") } else { ("JobResumed", "Job resumed") };
    if conditions::set(conditions, SUSPENDED, suspended, told, now) {
        status.start_time = None;
        news.push(if suspended { News::Suspended } else { News::Resumed });
    }
    if conditions.is_empty() {
        status.conditions = None;
    }
    if status.start_time.is_none() && !suspended {
        status.start_time = Some(Time(now));
    }
}

/// First the end is announced; it is there once all pods are gone and counted.
fn announce(
    verdict: &Verdict,
    ended: bool,
    status: &mut JobStatus,
    news: &mut Vec<News>,
    now: Timestamp,
) {
    let conditions = status.conditions.get_or_insert_default();
    let told = (verdict.reason.as_str(), verdict.message.as_str());
    conditions::set(conditions, verdict.announcement(), true, told, now);
    if !ended {
        return;
    }
    conditions::set(conditions, verdict.end(), true, told, now);
    if verdict.succeeded {
        status.completion_time = Some(Time(now));
        news.push(News::Completed);
    } else {
        news.push(News::Failed(verdict.reason.clone(), verdict.message.clone()));
    }
}

/// What becomes of a Job that has ended: no pod stays marked, and the Job goes when its time is up.
pub(super) fn aftermath(job: &Job, pods: &[Pod]) -> (Vec<Pod>, Option<Timestamp>) {
    let marked = pods.iter().filter(|pod| is_tracked(pod)).cloned().collect();
    let allowed = job.spec.as_ref().and_then(|spec| spec.ttl_seconds_after_finished);
    let allowed = allowed.map(|seconds| SignedDuration::from_secs(i64::from(seconds)));
    let expires =
        allowed.and_then(|allowed| conditions::finished_at(job)?.checked_add(allowed).ok());
    (marked, expires)
}

fn some(count: usize) -> Option<i32> {
    number(count).filter(|count| *count != 0)
}

fn number(count: usize) -> Option<i32> {
    i32::try_from(count).ok()
}
