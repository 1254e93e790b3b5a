//! The conditions of a Job.

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{Job, JobCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

pub(super) const COMPLETE: &str = "Complete";
pub(super) const FAILED: &str = "Failed";
pub(super) const SUCCESS_CRITERIA_MET: &str = "SuccessCriteriaMet";
pub(super) const FAILURE_TARGET: &str = "FailureTarget";
pub(super) const SUSPENDED: &str = "Suspended";

/// How a Job is going to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) succeeded: bool,
    pub(super) reason: String,
    pub(super) message: String,
}

impl Verdict {
    pub(super) fn success() -> Self {
        let message = "Reached expected number of succeeded pods";
        Self { succeeded: true, reason: "CompletionsReached".into(), message: message.into() }
    }

    pub(super) fn failure(reason: &str, message: &str) -> Self {
        Self { succeeded: false, reason: reason.to_owned(), message: message.to_owned() }
    }

    /// The type of the condition that announces the end.
    pub(super) fn announcement(&self) -> &'static str {
        if self.succeeded { SUCCESS_CRITERIA_MET } else { FAILURE_TARGET }
    }

    /// The type of the condition that is the end.
    pub(super) fn end(&self) -> &'static str {
        if self.succeeded { COMPLETE } else { FAILED }
    }

    /// What was announced before.
    pub(super) fn announced(job: &Job) -> Option<Self> {
        let of = |condition: &JobCondition, succeeded| Self {
            succeeded,
            reason: condition.reason.clone().unwrap_or_default(),
            message: condition.message.clone().unwrap_or_default(),
        };
        let success = find(job, SUCCESS_CRITERIA_MET).map(|condition| of(condition, true));
        success.or_else(|| find(job, FAILURE_TARGET).map(|condition| of(condition, false)))
    }
}

/// The condition of that type, if it is true.
pub(super) fn find<'a>(job: &'a Job, type_: &str) -> Option<&'a JobCondition> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == type_ && condition.status == "True")
}

/// When a Job has ended.
pub(super) fn finished_at(job: &Job) -> Option<Timestamp> {
    let end = find(job, COMPLETE).or_else(|| find(job, FAILED))?;
    end.last_transition_time.as_ref().map(|time| time.0)
}

/// Whether a Job has ended.
pub(super) fn is_finished(job: &Job) -> bool {
    find(job, COMPLETE).or_else(|| find(job, FAILED)).is_some()
}

/// Sets a condition; one that is not there yet and would be false is left out. Says whether
/// something changed.
pub(super) fn set(
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
