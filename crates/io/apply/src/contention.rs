//! Contention: another client repeatedly changes an object that Fairway writes.

use std::time::Duration;

use fairway_backoff::Backoff;
use tokio::time::Instant;

/// Delay after a drift correction. It doubles with each one, so that contention does not load the API
/// server.
pub const REPAIR_BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(1), max: Duration::from_mins(5) };
/// Time without a correction after which the backoff starts over.
pub const CONTENTION_RESET_INTERVAL: Duration = Duration::from_mins(10);
/// Corrections without a reset from which they count as contention.
const CONTENTION_THRESHOLD: u32 = 5;

/// Backoff of the drift correction of one object: the first correction at once, later ones with
/// increasing delays.
#[derive(Debug, Default)]
pub struct ContentionBackoff {
    latest: Option<Instant>,
    corrections: u32,
}

impl ContentionBackoff {
    /// Earliest time of the next correction.
    pub fn next_correction(&self, now: Instant) -> Instant {
        let Some(latest) = self.latest.filter(|_| !self.is_reset(now)) else { return now };
        latest + REPAIR_BACKOFF.after(self.corrections)
    }

    /// Records a correction; returns their number if they count as contention.
    pub fn corrected(&mut self, now: Instant) -> Option<u32> {
        let before = if self.is_reset(now) { 0 } else { self.corrections };
        (self.latest, self.corrections) = (Some(now), before.saturating_add(1));
        self.is_contention().then_some(self.corrections)
    }

    /// Time at which contention ends, if no correction is necessary until then.
    pub fn end(&self) -> Option<Instant> {
        self.latest
            .filter(|_| self.is_contention())
            .map(|latest| latest + CONTENTION_RESET_INTERVAL)
    }

    /// Resets contention that has ended; returns whether there was any.
    pub fn reset_if_ended(&mut self, now: Instant) -> bool {
        let has_ended = self.end().is_some_and(|end| end <= now);
        if has_ended {
            *self = Self::default();
        }
        has_ended
    }

    /// Whether the next correction has no delay.
    pub fn is_reset(&self, now: Instant) -> bool {
        let age = |latest: Instant| now.saturating_duration_since(latest);
        self.latest.is_none_or(|latest| age(latest) >= CONTENTION_RESET_INTERVAL)
    }

    fn is_contention(&self) -> bool {
        self.corrections >= CONTENTION_THRESHOLD
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delays in seconds before corrections, if another client changes the object again at once.
    fn delays(
        contention: &mut ContentionBackoff,
        mut now: Instant,
        times: usize,
    ) -> (Vec<u64>, Instant) {
        let mut delays = Vec::new();
        for _ in 0..times {
            let next = contention.next_correction(now);
            delays.push((next - now).as_secs());
            now = next;
            contention.corrected(now);
        }
        (delays, now)
    }

    #[test]
    fn next_correction_backs_off() {
        let (mut contention, now) = (ContentionBackoff::default(), Instant::now());
        let (during_contention, later) = delays(&mut contention, now, 12);
        assert_eq!(during_contention, [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        let (after_reset, _) = delays(&mut contention, later + CONTENTION_RESET_INTERVAL, 3);
        assert_eq!(after_reset, [0, 1, 2]);
    }

    #[test]
    fn corrected_returns_count_until_contention_ends() {
        let (mut contention, now) = (ContentionBackoff::default(), Instant::now());
        let counts: Vec<_> = (0..6).map(|_| contention.corrected(now)).collect();
        assert_eq!(counts, [None, None, None, None, Some(5), Some(6)]);
        let end = now + CONTENTION_RESET_INTERVAL;
        assert_eq!(contention.end(), Some(end));
        assert!(!contention.reset_if_ended(now + CONTENTION_RESET_INTERVAL / 2));
        assert!(contention.reset_if_ended(end));
        assert!(contention.end().is_none() && !contention.reset_if_ended(end));
    }
}
