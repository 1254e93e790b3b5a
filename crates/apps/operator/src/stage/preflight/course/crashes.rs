//! How often the program of a run has ended of late.

use jiff::{SignedDuration, Timestamp};

/// How often it may end before the run is given up: once is bad luck, and twice may be.
pub(super) const CRASHES: usize = 3;

/// Within that time: a program that does not work ends every few minutes, and a node that is
/// restarted now and then ends every one.
const WITHIN: SignedDuration = SignedDuration::from_hours(1);

/// When it has ended, of late.
#[derive(Debug, Default)]
pub(super) struct Crashes {
    /// How often it had ended in all when it was last looked; nothing before the first look. What was
    /// before that, nobody knows when.
    seen: Option<u32>,
    times: Vec<Timestamp>,
}

impl Crashes {
    /// So often it has ended in all.
    pub(super) fn see(&mut self, count: u32, now: Timestamp) {
        let before = self.seen.replace(count).unwrap_or(count);
        let new = usize::try_from(count.saturating_sub(before)).unwrap_or(CRASHES).min(CRASHES);
        self.times.retain(|time| now.duration_since(*time) < WITHIN);
        self.times.extend(std::iter::repeat_n(now, new));
    }

    /// Whether that is more than bad luck.
    pub(super) fn are_enough(&self) -> bool {
        self.times.len() >= CRASHES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_crashes_that_follow_each_other_count() {
        for (looks, are_enough) in [
            (&[(0, 0), (1, 1), (2, 2), (3, 3)][..], true),
            (&[(0, 0), (0, 1), (40, 2), (59, 3)], true),
            // Nodes are restarted now and then.
            (&[(0, 0), (1, 1), (600, 2), (1200, 3)], false),
            (&[(0, 0), (1, 1), (2, 2), (62, 3)], false),
            // An operator that goes on with a run does not know when it crashed.
            (&[(0, 7), (1, 8)], false),
            (&[(0, 7), (1, 8), (2, 10)], true),
            // Another Pod begins at nothing.
            (&[(0, 2), (1, 0), (2, 1)], false),
            (&[(0, 0), (1, 1_000_000)], true),
        ] {
            let mut crashes = Crashes::default();
            for (minute, count) in looks {
                crashes.see(*count, Timestamp::from_second(minute * 60).unwrap());
            }
            assert_eq!(crashes.are_enough(), are_enough, "{looks:?}");
        }
    }
}
