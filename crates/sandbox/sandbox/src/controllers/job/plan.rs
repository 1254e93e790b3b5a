//! What becomes of a Job and its pods.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::{Job, JobStatus};
use k8s_openapi::api::core::v1::Pod;

use super::back_off::BackOff;
use super::conditions::{self, Verdict};
use super::status::{self, News};
use super::tracking::is_tracked;
use super::verdict::{deadline, failure, is_complete};
use super::view::View;
use crate::controllers::departure::in_order_of_departure;
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

/// What becomes of a Job that has not ended, and of the pods that are its own.
pub(super) fn plan(job: &Job, pods: &[Pod], back_off: BackOff, now: Timestamp) -> Plan {
    let view = View::new(job, pods, now);
    let back_off = back_off.after(&view.count.news, now);
    let (mut status, mut news) = status::begun(&view);
    let failed = Verdict::announced(job).or_else(|| failure(&view, &status));
    let (actions, again) = match &failed {
        Some(verdict) => (stop(&view, verdict), None),
        None => go_on(&view, &status, back_off),
    };
    let verdict = failed.or_else(|| is_complete(&view).then(Verdict::success));
    let made = actions.iter().filter(|action| **action == Action::Create).count();
    status::conclude(&view, made, actions.len() - made, verdict, &mut status, &mut news);
    Plan { actions, status, untrack: view.count.to_untrack, back_off, news, again }
}

/// All pods go; those of a failed Job have failed with it.
fn stop(view: &View<'_>, verdict: &Verdict) -> Vec<Action> {
    let leave = if verdict.succeeded { Action::Dismiss } else { Action::Stop };
    view.active.iter().cloned().map(Box::new).map(leave).collect()
}

/// What becomes of the pods while the Job goes on, and when to look again.
fn go_on(
    view: &View<'_>,
    status: &JobStatus,
    back_off: BackOff,
) -> (Vec<Action>, Option<Timestamp>) {
    let deadline = deadline(view, status);
    if view.job.metadata.deletion_timestamp.is_some() {
        return (Vec::new(), deadline);
    }
    let (wanted, active) = (wanted(view), view.active.len());
    if active > wanted {
        let leaving = in_order_of_departure(view.active.clone()).into_iter().take(active - wanted);
        return (leaving.take(BURST).map(Box::new).map(Action::Dismiss).collect(), deadline);
    }
    let missing = wanted.saturating_sub(view.to_wait_for()).saturating_sub(active);
    match back_off.until().filter(|until| *until > view.now && missing > 0) {
        Some(until) => (Vec::new(), deadline.into_iter().chain([until]).min()),
        None => (vec![Action::Create; missing.min(BURST)], deadline),
    }
}

/// How many pods are to run.
fn wanted(view: &View<'_>) -> usize {
    let spec = &view.spec;
    let parallelism = usize::try_from(spec.parallelism.unwrap_or(1)).unwrap_or(0);
    let succeeded = view.count.all_succeeded();
    match spec.completions {
        _ if spec.suspend == Some(true) => 0,
        // The first success ends it; those that run may go on.
        None if succeeded > 0 => view.active.len(),
        None => parallelism,
        Some(completions) => {
            usize::try_from(completions.saturating_sub(succeeded)).unwrap_or(0).min(parallelism)
        }
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
