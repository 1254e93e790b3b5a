//! When a Job has succeeded or failed.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::JobStatus;

use super::conditions::Verdict;
use super::view::View;
use crate::controllers::pod;

/// How many failures are allowed where nothing is said.
const DEFAULT_BACK_OFF_LIMIT: i32 = 6;

/// Whether enough pods have succeeded.
pub(super) fn is_complete(view: &View<'_>) -> bool {
    let succeeded = view.count.all_succeeded();
    match view.spec.completions {
        None => succeeded > 0 && view.active.is_empty(),
        Some(completions) => succeeded >= completions,
    }
}

/// Why the Job has failed, if it has.
pub(super) fn failure(view: &View<'_>, status: &JobStatus) -> Option<Verdict> {
    let limit = view.spec.backoff_limit.unwrap_or(DEFAULT_BACK_OFF_LIMIT);
    if view.count.all_failed() > limit || restarts_exceed(view, limit) {
        let message = "Job has reached the specified backoff limit";
        return Some(Verdict::failure("BackoffLimitExceeded", message));
    }
    let message = "Job was active longer than specified deadline";
    let is_over = deadline(view, status).is_some_and(|deadline| deadline <= view.now);
    is_over.then(|| Verdict::failure("DeadlineExceeded", message))
}

/// Where containers are started again in their pods, these failures count.
fn restarts_exceed(view: &View<'_>, limit: i32) -> bool {
    let template = view.spec.template.spec.as_ref();
    if template.and_then(|spec| spec.restart_policy.as_deref()) != Some("OnFailure") {
        return false;
    }
    let running = view.pods.iter().filter(|pod| !pod::is_finished(pod));
    let restarts = running.map(pod::restarts).fold(0, i32::saturating_add);
    if limit == 0 { restarts > 0 } else { restarts >= limit }
}

/// When the Job has been active for too long.
pub(super) fn deadline(view: &View<'_>, status: &JobStatus) -> Option<Timestamp> {
    if view.spec.suspend == Some(true) {
        return None;
    }
    let allowed = SignedDuration::from_secs(view.spec.active_deadline_seconds?);
    status.start_time.as_ref()?.0.checked_add(allowed).ok()
}
