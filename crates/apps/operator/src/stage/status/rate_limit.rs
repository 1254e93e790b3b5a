//! Rate limit of status writes: transitions at once, failures every 2 s, progress every 15 s.

use std::time::Duration;

use fairway_api::reason::{failing, progressing};
use fairway_api::{ClusterVersionStatus, Conditions as _, OperatorCondition};
use tokio::time::Instant;

/// Interval of progress writes: often enough for users, without waking the watchers of ClusterVersion
/// for every object.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(15);

/// Progress writes that may follow each other at once after an idle time.
const PROGRESS_BURST: u32 = 2;

/// Interval of failure writes: during an installation, every new component fails until its first
/// report.
const FAILURE_INTERVAL: Duration = Duration::from_secs(2);

/// Kind of a status change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeKind {
    /// A change that clients wait for.
    Transition,
    /// Only `Failing` and its reason.
    Failure,
    /// Only the progress of the rollout.
    Progress,
}

impl ChangeKind {
    /// The kind of the change between two statuses.
    pub(super) fn between(
        before: Option<&ClusterVersionStatus>,
        after: Option<&ClusterVersionStatus>,
    ) -> Self {
        let (Some(before), Some(after)) = (before, after) else { return Self::Transition };
        let mut rest = after.clone();
        keep_progress(before, &mut rest);
        if rest == *before {
            return Self::Progress;
        }
        keep_failing(before, &mut rest);
        if rest == *before { Self::Failure } else { Self::Transition }
    }
}

/// Copies the progress from the first status: message and reason of `Progressing`, and the message of
/// `Failing` for the same reason, which quotes components and may change every second.
fn keep_progress(before: &ClusterVersionStatus, after: &mut ClusterVersionStatus) {
    if let Some(before) = before.conditions.find(progressing::TYPE)
        && let Some(after) = condition(after, progressing::TYPE)
    {
        after.message.clone_from(&before.message);
        after.reason.clone_from(&before.reason);
    }
    if let Some(before) = before.conditions.find(failing::TYPE)
        && let Some(after) = condition(after, failing::TYPE)
        && (&before.status, &before.reason) == (&after.status, &after.reason)
    {
        after.message.clone_from(&before.message);
    }
}

/// Copies `Failing` from the first status.
fn keep_failing(before: &ClusterVersionStatus, after: &mut ClusterVersionStatus) {
    let Some(before) = before.conditions.find(failing::TYPE) else { return };
    if let Some(after) = condition(after, failing::TYPE) {
        after.clone_from(before);
    }
}

fn condition<'a>(
    status: &'a mut ClusterVersionStatus,
    type_: &str,
) -> Option<&'a mut OperatorCondition> {
    status.conditions.iter_mut().find(|condition| condition.type_ == type_)
}

/// Earliest times of the next writes by kind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WriteRateLimit {
    /// End of the intervals of all progress writes so far.
    progress: Option<Instant>,
    /// Earliest time of the next failure write.
    failure: Option<Instant>,
}

impl WriteRateLimit {
    /// Whether a change may be written now.
    pub(super) fn allows(&self, change: ChangeKind, now: Instant) -> bool {
        self.due(change).is_none_or(|due| due <= now)
    }

    /// Earliest time of a write; `None` if it may be written at once.
    pub(super) fn due(&self, change: ChangeKind) -> Option<Instant> {
        match change {
            ChangeKind::Transition => None,
            ChangeKind::Failure => self.failure,
            ChangeKind::Progress => {
                self.progress?.checked_sub(PROGRESS_INTERVAL * (PROGRESS_BURST - 1))
            }
        }
    }

    /// Records a write.
    pub(super) fn record(&mut self, change: ChangeKind, now: Instant) {
        match change {
            ChangeKind::Transition => {}
            ChangeKind::Failure => self.failure = Some(now + FAILURE_INTERVAL),
            ChangeKind::Progress => {
                self.progress = Some(self.progress.unwrap_or(now).max(now) + PROGRESS_INTERVAL);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fairway_testkit::objects;

    use super::*;

    #[test]
    fn progress_writes_are_limited() {
        let begin = Instant::now();
        let mut rate_limit = WriteRateLimit::default();
        let mut written = Vec::new();
        for second in 0..60 {
            let now = begin + Duration::from_secs(second);
            if rate_limit.allows(ChangeKind::Progress, now) {
                rate_limit.record(ChangeKind::Progress, now);
                written.push(second);
            }
            assert!(
                rate_limit.allows(ChangeKind::Transition, now),
                "transitions are never delayed"
            );
            rate_limit.record(ChangeKind::Transition, now);
        }
        assert_eq!(written, [0, 1, 15, 30, 45]);
        let later = begin + Duration::from_mins(10);
        assert!(rate_limit.allows(ChangeKind::Progress, later));
        assert!(rate_limit.due(ChangeKind::Progress).is_some_and(|due| due < later));
    }

    #[test]
    fn failure_writes_have_an_interval() {
        let begin = Instant::now();
        let mut rate_limit = WriteRateLimit::default();
        assert!(rate_limit.allows(ChangeKind::Failure, begin));
        rate_limit.record(ChangeKind::Failure, begin);
        assert!(!rate_limit.allows(ChangeKind::Failure, begin));
        assert!(
            rate_limit.allows(ChangeKind::Transition, begin)
                && rate_limit.allows(ChangeKind::Progress, begin)
        );
        assert_eq!(rate_limit.due(ChangeKind::Failure), Some(begin + FAILURE_INTERVAL));
        assert!(rate_limit.allows(ChangeKind::Failure, begin + FAILURE_INTERVAL));
    }

    #[test]
    fn between_of_each_change() {
        let mut before = objects::status_at("5.0.1");
        let progressing = |holds, message: &str| {
            OperatorCondition::new(progressing::TYPE, holds).message(message)
        };
        let mut set = |condition| before.conditions.set(condition, objects::beginning().0);
        set(progressing(true, "1 of 2"));
        let change = |change: &dyn Fn(&mut ClusterVersionStatus)| {
            let mut after = before.clone();
            change(&mut after);
            ChangeKind::between(Some(&before), Some(&after))
        };
        let set = |after: &mut ClusterVersionStatus, condition| {
            after.conditions.set(condition, objects::beginning().0);
        };
        let waiting = progressing(true, "1 of 2, waiting").reason("ClusterOperatorUpdating");
        assert_eq!(change(&|after| set(after, waiting.clone())), ChangeKind::Progress);
        assert_eq!(change(&|after| set(after, progressing(false, "done"))), ChangeKind::Transition);
        let failing = OperatorCondition::new("Failing", true);
        assert_eq!(change(&|after| set(after, failing.clone())), ChangeKind::Failure);
        let both = |after: &mut ClusterVersionStatus| {
            set(after, failing.clone());
            set(after, waiting.clone());
        };
        assert_eq!(change(&both), ChangeKind::Failure);
        let not_failing = OperatorCondition::new("Failing", false).message("another message");
        assert_eq!(change(&|after| set(after, not_failing.clone())), ChangeKind::Progress);
        assert_eq!(change(&|after| after.observed_generation = 2), ChangeKind::Transition);
        assert_eq!(change(&|after| after.history.clear()), ChangeKind::Transition);
        assert_eq!(ChangeKind::between(None, Some(&before)), ChangeKind::Transition);
    }
}
