//! Status and conditions of a Job.

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{Job, JobCondition, JobStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::plan::JobState;
use crate::controllers::pod;

/// An event to record for a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum JobEvent {
    Completed,
    Failed(String, String),
    Suspended,
    Resumed,
}

/// The status with start time and `Suspended` condition. Resuming resets the start time.
pub(super) fn started_status(state: &JobState<'_>) -> (JobStatus, Vec<JobEvent>) {
    let mut status = state.job.status.clone().unwrap_or_default();
    let mut events = Vec::new();
    let suspended = state.spec.suspend == Some(true);
    let text =
        if suspended { ("JobSuspended", "Job suspended") } else { ("JobResumed", "Job resumed") };
    let mut conditions = status.conditions.take().unwrap_or_default();
    if set_condition(&mut conditions, SUSPENDED, suspended, text, state.now) {
        status.start_time = None;
        events.push(if suspended { JobEvent::Suspended } else { JobEvent::Resumed });
    }
    if status.start_time.is_none() && !suspended {
        status.start_time = Some(Time(state.now));
    }
    status.conditions = (!conditions.is_empty()).then_some(conditions);
    (status, events)
}

/// Sets counts after these numbers of pods were created and deleted, and the conditions of a
/// finished Job.
pub(super) fn set_counts(
    state: &JobState<'_>,
    created: usize,
    deleted: usize,
    result: Option<JobResult>,
    status: &mut JobStatus,
    events: &mut Vec<JobEvent>,
) {
    let active = state.active.len() + created - deleted;
    let terminating = state.terminating + deleted;
    let not_zero = |number: i32| (number != 0).then_some(number);
    status.active = number(active).and_then(not_zero);
    status.ready = number(state.active.iter().filter(|pod| pod::is_ready(pod)).count());
    status.terminating = number(terminating);
    status.succeeded = not_zero(state.count.succeeded);
    status.failed = not_zero(state.count.failed);
    status.uncounted_terminated_pods = Some(state.count.uncounted.clone());
    if let Some(result) = result {
        let has_ended = active == 0 && terminating == 0 && state.count.is_final();
        set_finished(state, result, has_ended, status, events);
    }
}

/// Sets the interim condition, and the final condition once all pods are terminated and counted.
fn set_finished(
    state: &JobState<'_>,
    result: JobResult,
    has_ended: bool,
    status: &mut JobStatus,
    events: &mut Vec<JobEvent>,
) {
    let conditions = status.conditions.get_or_insert_default();
    let text = (result.reason.as_str(), result.message.as_str());
    set_condition(conditions, result.interim_condition(), true, text, state.now);
    if !has_ended {
        return;
    }
    set_condition(conditions, result.end(), true, text, state.now);
    if result.succeeded {
        status.completion_time = Some(Time(state.now));
        events.push(JobEvent::Completed);
    } else {
        events.push(JobEvent::Failed(result.reason, result.message));
    }
}

fn number(count: usize) -> Option<i32> {
    i32::try_from(count).ok()
}

pub(super) const COMPLETE: &str = "Complete";
pub(super) const FAILED: &str = "Failed";
pub(super) const SUCCESS_CRITERIA_MET: &str = "SuccessCriteriaMet";
pub(super) const FAILURE_TARGET: &str = "FailureTarget";
pub(super) const SUSPENDED: &str = "Suspended";

/// The result of a Job, first as an interim and then as a final condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JobResult {
    pub(super) succeeded: bool,
    pub(super) reason: String,
    pub(super) message: String,
}

impl JobResult {
    pub(super) fn success() -> Self {
        let message = "Reached expected number of succeeded pods";
        Self { succeeded: true, reason: "CompletionsReached".into(), message: message.into() }
    }

    pub(super) fn failure(reason: &str, message: &str) -> Self {
        Self { succeeded: false, reason: reason.to_owned(), message: message.to_owned() }
    }

    /// Type of the interim condition, set while pods are still terminating.
    pub(super) fn interim_condition(&self) -> &'static str {
        if self.succeeded { SUCCESS_CRITERIA_MET } else { FAILURE_TARGET }
    }

    /// Type of the final condition.
    pub(super) fn end(&self) -> &'static str {
        if self.succeeded { COMPLETE } else { FAILED }
    }

    /// The result in an interim condition of the Job.
    pub(super) fn from_interim_condition(job: &Job) -> Option<Self> {
        let of = |condition: &JobCondition, succeeded| Self {
            succeeded,
            reason: condition.reason.clone().unwrap_or_default(),
            message: condition.message.clone().unwrap_or_default(),
        };
        let success = find(job, SUCCESS_CRITERIA_MET).map(|condition| of(condition, true));
        success.or_else(|| find(job, FAILURE_TARGET).map(|condition| of(condition, false)))
    }
}

/// The condition of this type with status True.
pub(super) fn find<'a>(job: &'a Job, type_: &str) -> Option<&'a JobCondition> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == type_ && condition.status == "True")
}

/// When a Job finished.
pub(super) fn finished_at(job: &Job) -> Option<Timestamp> {
    let end = find(job, COMPLETE).or_else(|| find(job, FAILED))?;
    end.last_transition_time.as_ref().map(|time| time.0)
}

/// Whether a Job is finished.
pub(super) fn is_finished(job: &Job) -> bool {
    find(job, COMPLETE).or_else(|| find(job, FAILED)).is_some()
}

/// Sets a condition; a missing condition that would be False is not added. Returns whether it
/// changed.
fn set_condition(
    conditions: &mut Vec<JobCondition>,
    type_: &str,
    status: bool,
    (reason, message): (&str, &str),
    now: Timestamp,
) -> bool {
    let word = if status { "True" } else { "False" };
    let known = conditions.iter_mut().find(|condition| condition.type_ == type_);
    let condition = JobCondition {
        type_: type_.to_owned(),
        status: word.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        last_probe_time: Some(Time(now)),
        last_transition_time: Some(Time(now)),
    };
    match known {
        Some(known) if known.status == word => false,
        Some(known) => {
            *known = condition;
            true
        }
        None if status => {
            conditions.push(condition);
            true
        }
        None => false,
    }
}
