//! What a Job says about itself.

use k8s_openapi::api::batch::v1::JobStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::conditions::{self, SUSPENDED, Verdict};
use super::view::View;
use crate::controllers::pod;

/// What people are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum News {
    Completed,
    Failed(String, String),
    Suspended,
    Resumed,
}

/// The status with its beginning: the time runs from then, and again from when it is resumed.
pub(super) fn begun(view: &View<'_>) -> (JobStatus, Vec<News>) {
    let mut status = view.job.status.clone().unwrap_or_default();
    let mut news = Vec::new();
    let suspended = view.spec.suspend == Some(true);
    let told =
        if suspended { ("JobSuspended", "Job suspended") } else { ("JobResumed", "Job resumed") };
    let mut conditions = status.conditions.take().unwrap_or_default();
    if conditions::set(&mut conditions, SUSPENDED, suspended, told, view.now) {
        status.start_time = None;
        news.push(if suspended { News::Suspended } else { News::Resumed });
    }
    if status.start_time.is_none() && !suspended {
        status.start_time = Some(Time(view.now));
    }
    status.conditions = (!conditions.is_empty()).then_some(conditions);
    (status, news)
}

/// The numbers after so many pods were made and so many sent away, and the end, if it has come.
pub(super) fn conclude(
    view: &View<'_>,
    made: usize,
    sent_away: usize,
    verdict: Option<Verdict>,
    status: &mut JobStatus,
    news: &mut Vec<News>,
) {
    let active = view.active.len() + made - sent_away;
    let terminating = view.terminating + sent_away;
    let not_zero = |number: i32| (number != 0).then_some(number);
    status.active = number(active).and_then(not_zero);
    status.ready = number(view.active.iter().filter(|pod| pod::is_ready(pod)).count());
    status.terminating = number(terminating);
    status.succeeded = not_zero(view.count.succeeded);
    status.failed = not_zero(view.count.failed);
    status.uncounted_terminated_pods = Some(view.count.noted.clone());
    if let Some(verdict) = verdict {
        let has_ended = active == 0 && terminating == 0 && view.count.is_final();
        announce(view, verdict, has_ended, status, news);
    }
}

/// First the end is announced; it is there once all pods are gone and counted.
fn announce(
    view: &View<'_>,
    verdict: Verdict,
    has_ended: bool,
    status: &mut JobStatus,
    news: &mut Vec<News>,
) {
    let conditions = status.conditions.get_or_insert_default();
    let told = (verdict.reason.as_str(), verdict.message.as_str());
    conditions::set(conditions, verdict.announcement(), true, told, view.now);
    if !has_ended {
        return;
    }
    conditions::set(conditions, verdict.end(), true, told, view.now);
    if verdict.succeeded {
        status.completion_time = Some(Time(view.now));
        news.push(News::Completed);
    } else {
        news.push(News::Failed(verdict.reason, verdict.message));
    }
}

fn number(count: usize) -> Option<i32> {
    i32::try_from(count).ok()
}
