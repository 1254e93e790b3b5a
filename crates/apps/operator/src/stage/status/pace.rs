//! How often the status is written: what somebody waits for at once, troubles that may be over in a
//! moment once in a while, mere progress now and then.

use std::time::Duration;

use fairway_api::reason::{failing, progressing};
use fairway_api::{ClusterVersionStatus, Conditions as _, OperatorCondition};
use tokio::time::Instant;

/// The time between two writes of progress: people see that it goes on, and hundreds of clusters'
/// worth of watchers are not woken up for every object.
const INTERVAL: Duration = Duration::from_secs(15);

/// Writes of progress that may follow each other at once, after a quiet time.
const BURST: u32 = 2;

/// The time between two writes of troubles: while a cluster is installed, every component that is
/// new fails until it has reported, which takes a moment.
const TROUBLED: Duration = Duration::from_secs(2);

/// What is new in a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Something that people and programs wait for.
    Edge,
    /// Whether the rollout fails, and why, and nothing else.
    Trouble,
    /// How far the rollout is, and nothing else.
    Progress,
}

impl News {
    /// What is new in the second of two.
    pub(super) fn between(
        before: Option<&ClusterVersionStatus>,
        after: Option<&ClusterVersionStatus>,
    ) -> Self {
        let (Some(before), Some(after)) = (before, after) else { return Self::Edge };
        let mut rest = after.clone();
        keep_progress(before, &mut rest);
        if rest == *before {
            return Self::Progress;
        }
        keep_trouble(before, &mut rest);
        if rest == *before { Self::Trouble } else { Self::Edge }
    }
}

/// Takes from the first what `Progressing` is about, and how `Failing` puts the same reason: there
/// components speak for themselves, and may do so every second.
fn keep_progress(before: &ClusterVersionStatus, after: &mut ClusterVersionStatus) {
    if let Some(said) = before.conditions.find(progressing::TYPE)
        && let Some(now_said) = condition(after, progressing::TYPE)
    {
        now_said.message.clone_from(&said.message);
        now_said.reason.clone_from(&said.reason);
    }
    if let Some(said) = before.conditions.find(failing::TYPE)
        && let Some(now_said) = condition(after, failing::TYPE)
        && (&said.status, &said.reason) == (&now_said.status, &now_said.reason)
    {
        now_said.message.clone_from(&said.message);
    }
}

/// Takes from the first whether it fails.
fn keep_trouble(before: &ClusterVersionStatus, after: &mut ClusterVersionStatus) {
    let Some(said) = before.conditions.find(failing::TYPE) else { return };
    if let Some(now_said) = condition(after, failing::TYPE) {
        now_said.clone_from(said);
    }
}

fn condition<'a>(
    status: &'a mut ClusterVersionStatus,
    type_: &str,
) -> Option<&'a mut OperatorCondition> {
    status.conditions.iter_mut().find(|condition| condition.type_ == type_)
}

/// When troubles and progress may be written again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// When progress may be written however much was written before.
    calm: Option<Instant>,
    /// When troubles may be written.
    trouble: Option<Instant>,
}

impl Pace {
    /// Whether news may be written now.
    pub(super) fn allows(&self, news: News, now: Instant) -> bool {
        self.due(news).is_none_or(|due| due <= now)
    }

    /// When news may be written; at any time, if nothing is said.
    pub(super) fn due(&self, news: News) -> Option<Instant> {
        match news {
            News::Edge => None,
            News::Trouble => self.trouble,
            News::Progress => self.calm?.checked_sub(INTERVAL * (BURST - 1)),
        }
    }

    /// Notes that news were written.
    pub(super) fn note(&mut self, news: News, now: Instant) {
        match news {
            News::Edge => {}
            News::Trouble => self.trouble = Some(now + TROUBLED),
            News::Progress => self.calm = Some(self.calm.unwrap_or(now).max(now) + INTERVAL),
        }
    }
}

#[cfg(test)]
mod tests {
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
        assert!(pace.due(News::Progress).is_some_and(|due| due < later));
    }

    #[test]
    fn what_fails_is_told_at_once_and_what_follows_a_moment_later() {
        let begin = Instant::now();
        let mut pace = Pace::default();
        assert!(pace.allows(News::Trouble, begin));
        pace.note(News::Trouble, begin);
        assert!(!pace.allows(News::Trouble, begin));
        assert!(pace.allows(News::Edge, begin) && pace.allows(News::Progress, begin));
        assert_eq!(pace.due(News::Trouble), Some(begin + TROUBLED));
        assert!(pace.allows(News::Trouble, begin + TROUBLED));
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
        assert_eq!(news(&|after| say(after, failing.clone())), News::Trouble);
        let both = |after: &mut ClusterVersionStatus| {
            say(after, failing.clone());
            say(after, waiting.clone());
        };
        assert_eq!(news(&both), News::Trouble);
        let not_failing = OperatorCondition::new("Failing", false).message("all is said");
        assert_eq!(news(&|after| say(after, not_failing.clone())), News::Progress);
        assert_eq!(news(&|after| after.observed_generation = 2), News::Edge);
        assert_eq!(news(&|after| after.history.clear()), News::Edge);
        assert_eq!(News::between(None, Some(&before)), News::Edge);
    }
}
