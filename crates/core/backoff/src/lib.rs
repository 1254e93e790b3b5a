//! Exponential backoff and jitter as pure values.
//!
//! [`Backoff`] computes the delay after a number of failures, and [`jittered`] spreads a duration
//! by a random number. The caller counts failures, draws the random number (`fairway-clock`) and
//! sleeps.

use std::time::Duration;

/// Exponential backoff: the delay doubles with each failure in a row, up to a maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The delay after the first failure.
    pub first: Duration,
    /// The maximum delay.
    pub max: Duration,
}

impl Backoff {
    /// The delay after the given number of failures in a row. Zero failures count as one.
    pub fn after(&self, failures: u32) -> Duration {
        let factor = 2_u32.saturating_pow(failures.saturating_sub(1));
        self.first.saturating_mul(factor).min(self.max)
    }
}

/// A duration that is up to `share` of itself longer, so that clients which start together spread
/// out. `unit` selects the addition: 0 adds nothing, 1 adds the full share. Values outside 0 to 1
/// are clamped.
pub fn jittered(duration: Duration, share: f64, unit: f64) -> Duration {
    let added = duration.as_secs_f64() * share * unit.clamp(0.0, 1.0);
    duration.saturating_add(Duration::try_from_secs_f64(added).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_after_each_failure_doubles_up_to_max() {
        let backoff = Backoff { first: Duration::from_secs(2), max: Duration::from_mins(2) };
        let delays = [0, 1, 2, 3, 6, 7, u32::MAX].map(|failures| backoff.after(failures).as_secs());
        assert_eq!(delays, [2, 2, 4, 8, 64, 120, 120]);
    }

    #[test]
    fn backoff_with_max_below_first_returns_max() {
        let backoff = Backoff { first: Duration::from_secs(2), max: Duration::from_secs(1) };
        assert_eq!(backoff.after(1), Duration::from_secs(1));
    }

    #[test]
    fn backoff_that_overflows_returns_max() {
        let backoff = Backoff { first: Duration::from_secs(u64::MAX / 2), max: Duration::MAX };
        assert_eq!(backoff.after(u32::MAX), Duration::MAX);
    }

    #[test]
    fn jittered_adds_at_most_the_share() {
        let hour = Duration::from_hours(1);
        for (unit, minutes) in [(0.0, 60), (0.5, 63), (1.0, 66), (7.0, 66), (-1.0, 60)] {
            assert_eq!(jittered(hour, 0.1, unit), Duration::from_mins(minutes), "{unit}");
        }
    }

    #[test]
    fn jittered_that_overflows_returns_a_valid_duration() {
        assert_eq!(jittered(Duration::MAX, 0.1, 1.0), Duration::MAX);
        assert_eq!(jittered(Duration::MAX, f64::MAX, 1.0), Duration::MAX);
        assert_eq!(jittered(Duration::from_secs(1), 0.1, f64::NAN), Duration::from_secs(1));
    }
}
