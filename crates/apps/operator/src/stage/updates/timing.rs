//! When the update service is asked next.

use std::ops::RangeInclusive;
use std::time::Duration;

use fairway_backoff::Backoff;
use tokio::time::Instant;

/// How often the update service is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The time between two questions while all is well. Clusters that were started together
    /// spread over it.
    pub every: RangeInclusive<Duration>,
    /// The time before the first repetition after a failure; it doubles with each, up to `every`.
    pub retry: Duration,
    /// The least time between two questions, however fast somebody changes what is asked.
    pub gap: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            // What update services are used to from each cluster.
            every: Duration::from_mins(2)..=Duration::from_mins(4),
            // Most failures are restarts and lost packets.
            retry: Duration::from_secs(10),
            // Not felt by whoever chooses a channel.
            gap: Duration::from_secs(1),
        }
    }
}

/// When the update service is asked next.
#[derive(Debug)]
pub(super) struct Timing {
    pace: Pace,
    begun: Option<Instant>,
    due: Option<Instant>,
    failures: u32,
}

impl Timing {
    pub(super) fn new(pace: Pace) -> Self {
        Self { pace, begun: None, due: None, failures: 0 }
    }

    /// When the next question is due. The first one is due at once.
    pub(super) fn due(&self, now: Instant) -> Instant {
        self.due.unwrap_or(now)
    }

    /// What is asked, or the way there, is another now: no need to wait any longer.
    pub(super) fn changed(&mut self, now: Instant) {
        self.failures = 0;
        self.due = self.begun.map(|begun| (begun + self.pace.gap).max(now));
    }

    /// A question was sent.
    pub(super) fn begun(&mut self, now: Instant) {
        self.begun = Some(now);
    }

    /// It was answered, or it failed. `jitter` is from 0 to 1.
    pub(super) fn ended(&mut self, now: Instant, succeeded: bool, jitter: f64) {
        let (least, most) = (*self.pace.every.start(), *self.pace.every.end());
        let regular = least + most.saturating_sub(least).mul_f64(jitter.clamp(0.0, 1.0));
        let wait = if succeeded {
            self.failures = 0;
            regular
        } else {
            self.failures = self.failures.saturating_add(1);
            Backoff { first: self.pace.retry, max: regular }.after(self.failures)
        };
        let soonest = self.begun.map_or(now, |begun| begun + self.pace.gap);
        self.due = Some((now + wait).max(soonest));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_first_question_is_due_at_once() {
        let now = Instant::now();
        assert_eq!(Timing::new(Pace::default()).due(now), now);
    }

    #[test]
    fn answers_are_fetched_again_after_two_to_four_minutes() {
        let now = Instant::now();
        for (jitter, seconds) in [(0.0, 120), (0.5, 180), (1.0, 240), (7.0, 240), (-1.0, 120)] {
            let mut timing = Timing::new(Pace::default());
            timing.begun(now);
            timing.ended(now, true, jitter);
            assert_eq!(timing.due(now) - now, seconds * SECOND, "{jitter}");
        }
    }

    #[test]
    fn failures_are_repeated_less_and_less_often() {
        let now = Instant::now();
        let mut timing = Timing::new(Pace::default());
        let mut waits = Vec::new();
        for succeeded in [false, false, false, false, false, false, true, false] {
            timing.begun(now);
            timing.ended(now, succeeded, 0.5);
            waits.push((timing.due(now) - now).as_secs());
        }
        assert_eq!(waits, [10, 20, 40, 80, 160, 180, 180, 10]);
    }

    #[test]
    fn a_change_is_asked_about_at_once() {
        let begin = Instant::now();
        let mut timing = Timing::new(Pace::default());
        timing.begun(begin);
        timing.ended(begin, true, 0.0);
        timing.changed(begin + 30 * SECOND);
        assert_eq!(timing.due(begin), begin + 30 * SECOND);
    }

    #[test]
    fn changes_cannot_make_it_hurry() {
        let begin = Instant::now();
        let mut timing = Timing::new(Pace::default());
        timing.begun(begin);
        timing.changed(begin);
        assert_eq!(timing.due(begin), begin + SECOND);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Changed,
        Ended(bool, f64),
        Waits(u32),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            Just(Step::Changed),
            (any::<bool>(), -1.0..2.0)
                .prop_map(|(succeeded, jitter)| Step::Ended(succeeded, jitter)),
            (0..300_u32).prop_map(Step::Waits),
        ]
    }

    proptest! {
        #[test]
        fn never_hurried_and_never_starved(steps in prop::collection::vec(step(), 1..60)) {
            let pace = Pace::default();
            let mut timing = Timing::new(pace.clone());
            let mut now = Instant::now();
            let mut begun: Option<Instant> = None;
            for step in steps {
                match step {
                    Step::Changed => timing.changed(now),
                    Step::Waits(seconds) => now += seconds * SECOND,
                    Step::Ended(succeeded, jitter) => {
                        now = now.max(timing.due(now));
                        prop_assert!(begun.is_none_or(|begun| now >= begun + pace.gap));
                        begun = Some(now);
                        timing.begun(now);
                        timing.ended(now, succeeded, jitter);
                        prop_assert!(timing.due(now) <= now + *pace.every.end());
                    }
                }
            }
        }
    }
}
