//! How often the status is written: what somebody waits for at once, mere progress now and then.

use std::time::Duration;

use fairway_api::reason::progressing;
use fairway_api::{ClusterVersionStatus, Conditions as _};
use tokio::time::Instant;

/// The time between two writes of progress: people see that it goes on, and hundreds of clusters'
/// worth of watchers are not woken up for every object.
const INTERVAL: Duration = Duration::from_secs(15);

/// Writes of progress that may follow each other at once, after a quiet time.
const BURST: u32 = 2;

/// What is new in a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Something that people and programs wait for.
    Edge,
    /// How far the rollout is, and nothing else.
    Progress,
}

impl News {
    /// What is new in the second of two.
    pub(super) fn between(
        before: Option<&ClusterVersionStatus>,
        after: Option<&ClusterVersionStatus>,
    ) -> Self {
        match (before, after) {
            (Some(before), Some(after)) if is_progress(before, after) => Self::Progress,
            _ => Self::Edge,
        }
    }
}

/// Whether the second says nothing new but what `Progressing` is about.
fn is_progress(before: &ClusterVersionStatus, after: &ClusterVersionStatus) -> bool {
    let Some(said) = before.conditions.find(progressing::TYPE) else { return false };
    let mut as_before = after.clone();
    let now_said = as_before.conditions.iter_mut().find(|one| one.type_ == progressing::TYPE);
    if let Some(now_said) = now_said {
        now_said.message.clone_from(&said.message);
        now_said.reason.clone_from(&said.reason);
    }
    as_before == *before
}

/// When progress may be written again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// When it may be written however much was written before.
    calm: Option<Instant>,
}

impl Pace {
    /// Whether news may be written now.
    pub(super) fn allows(&self, news: News, now: Instant) -> bool {
        news == News::Edge || self.due().is_none_or(|due| due <= now)
    }

    /// When progress may be written.
    pub(super) fn due(&self) -> Option<Instant> {
        self.calm?.checked_sub(INTERVAL * (BURST - 1))
    }

    /// Notes that news were written.
    pub(super) fn note(&mut self, news: News, now: Instant) {
        if news == News::Progress {
            self.calm = Some(self.calm.unwrap_or(now).max(now) + INTERVAL);
        }
    }
}

#[cfg(test)]
mod tests {
    use fairway_api::OperatorCondition;
    use fairway_testkit::objects;

    use super::*;

    #[test]
    fn progress_is_written_now_and_then() {
        let begin = Instant::now();
        let mut pace = Pace::default();
        let mut written = Vec::new();
        for second in 0..60 {
            let now = begin + Duration::from_secs(second);
            if pace.allows(News::Progress, now) {
                pace.note(News::Progress, now);
                written.push(second);
            }
            assert!(pace.allows(News::Edge, now), "what is waited for never waits");
            pace.note(News::Edge, now);
        }
        assert_eq!(written, [0, 1, 15, 30, 45]);
        let later = begin + Duration::from_mins(10);
        assert!(pace.allows(News::Progress, later));
        assert!(pace.due().is_some_and(|due| due < later));
    }

    #[test]
    fn what_is_progress_and_what_is_more() {
        let mut before = objects::status_at("5.0.1");
        let progressing = |holds, message: &str| {
            OperatorCondition::new(progressing::TYPE, holds).message(message)
        };
        let mut set = |condition| before.conditions.set(condition, objects::beginning().0);
        set(progressing(true, "1 of 2"));
        let news = |change: &dyn Fn(&mut ClusterVersionStatus)| {
            let mut after = before.clone();
            change(&mut after);
            News::between(Some(&before), Some(&after))
        };
        let say = |after: &mut ClusterVersionStatus, condition| {
            after.conditions.set(condition, objects::beginning().0);
        };
        let waiting = progressing(true, "1 of 2, waiting").reason("ClusterOperatorUpdating");
        assert_eq!(news(&|after| say(after, waiting.clone())), News::Progress);
        assert_eq!(news(&|after| say(after, progressing(false, "done"))), News::Edge);
        let failing = OperatorCondition::new("Failing", true);
        assert_eq!(news(&|after| say(after, failing.clone())), News::Edge);
        assert_eq!(news(&|after| after.observed_generation = 2), News::Edge);
        assert_eq!(news(&|after| after.history.clear()), News::Edge);
        assert_eq!(News::between(None, Some(&before)), News::Edge);
    }
}
