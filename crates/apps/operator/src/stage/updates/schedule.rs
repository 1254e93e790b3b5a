//! Schedule of requests to the update service.

use std::ops::RangeInclusive;
use std::time::Duration;

use fairway_backoff::Backoff;
use tokio::time::Instant;

/// Intervals of requests to the update service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestIntervals {
    /// Interval after a success. Clusters that started together spread over it.
    pub every: RangeInclusive<Duration>,
    /// Delay after the first failure; it doubles with each further one, up to `every`.
    pub retry: Duration,
    /// Minimum time between two requests, also if the spec changes often.
    pub gap: Duration,
}

impl Default for RequestIntervals {
    fn default() -> Self {
        Self {
            // The interval of the Go operator.
            every: Duration::from_mins(2)..=Duration::from_mins(4),
            // Most failures are restarts and lost packets.
            retry: Duration::from_secs(10),
            // Short enough for a user who sets a channel.
            gap: Duration::from_secs(1),
        }
    }
}

/// Schedule of requests.
#[derive(Debug)]
pub(super) struct RequestSchedule {
    pace: RequestIntervals,
    begun: Option<Instant>,
    due: Option<Instant>,
    failures: u32,
}

impl RequestSchedule {
    pub(super) fn new(pace: RequestIntervals) -> Self {
        Self { pace, begun: None, due: None, failures: 0 }
    }

    /// Time of the next request. The first one is due at once.
    pub(super) fn due(&self, now: Instant) -> Instant {
        self.due.unwrap_or(now)
    }

    /// The query or the connection settings have changed: the next request is due after the minimum
    /// interval.
    pub(super) fn changed(&mut self, now: Instant) {
        self.failures = 0;
        self.due = self.begun.map(|begun| (begun + self.pace.gap).max(now));
    }

    /// A request was sent.
    pub(super) fn begun(&mut self, now: Instant) {
        self.begun = Some(now);
    }

    /// A request has ended. `jitter` is from 0 to 1.
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
    fn due_of_first_request_is_now() {
        let now = Instant::now();
        assert_eq!(RequestSchedule::new(RequestIntervals::default()).due(now), now);
    }

    #[test]
    fn due_after_success_is_two_to_four_minutes() {
        let now = Instant::now();
        for (jitter, seconds) in [(0.0, 120), (0.5, 180), (1.0, 240), (7.0, 240), (-1.0, 120)] {
            let mut schedule = RequestSchedule::new(RequestIntervals::default());
            schedule.begun(now);
            schedule.ended(now, true, jitter);
            assert_eq!(schedule.due(now) - now, seconds * SECOND, "{jitter}");
        }
    }

    #[test]
    fn due_after_failures_backs_off() {
        let now = Instant::now();
        let mut schedule = RequestSchedule::new(RequestIntervals::default());
        let mut waits = Vec::new();
        for succeeded in [false, false, false, false, false, false, true, false] {
            schedule.begun(now);
            schedule.ended(now, succeeded, 0.5);
            waits.push((schedule.due(now) - now).as_secs());
        }
        assert_eq!(waits, [10, 20, 40, 80, 160, 180, 180, 10]);
    }

    #[test]
    fn due_after_change_is_now() {
        let begin = Instant::now();
        let mut schedule = RequestSchedule::new(RequestIntervals::default());
        schedule.begun(begin);
        schedule.ended(begin, true, 0.0);
        schedule.changed(begin + 30 * SECOND);
        assert_eq!(schedule.due(begin), begin + 30 * SECOND);
    }

    #[test]
    fn due_after_change_keeps_minimum_gap() {
        let begin = Instant::now();
        let mut schedule = RequestSchedule::new(RequestIntervals::default());
        schedule.begun(begin);
        schedule.changed(begin);
        assert_eq!(schedule.due(begin), begin + SECOND);
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
        fn due_is_never_before_gap_and_never_after_interval(steps in prop::collection::vec(step(), 1..60)) {
            let pace = RequestIntervals::default();
            let mut schedule = RequestSchedule::new(pace.clone());
            let mut now = Instant::now();
            let mut begun: Option<Instant> = None;
            for step in steps {
                match step {
                    Step::Changed => schedule.changed(now),
                    Step::Waits(seconds) => now += seconds * SECOND,
                    Step::Ended(succeeded, jitter) => {
                        now = now.max(schedule.due(now));
                        prop_assert!(begun.is_none_or(|begun| now >= begun + pace.gap));
                        begun = Some(now);
                        schedule.begun(now);
                        schedule.ended(now, succeeded, jitter);
                        prop_assert!(schedule.due(now) <= now + *pace.every.end());
                    }
                }
            }
        }
    }
}
