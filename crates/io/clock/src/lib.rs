//! The one place that reads the clock, sleeps and draws random numbers for jitter. Decisions take
//! `now` and the random number as arguments.
#![expect(clippy::disallowed_methods, reason = "the only crate that may read the clock")]

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

/// The current time.
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// All clocks of the host at one moment, for durations that must not be measured too short.
///
/// `Instant` is `CLOCK_MONOTONIC`, which stops while the host is suspended. `CLOCK_BOOTTIME` does not,
/// but both stop while a hypervisor pauses the guest; its wall clock is corrected after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// Time since the start of the process, without suspension.
    pub monotonic: Instant,
    /// Time since the boot of the host, with suspension.
    pub boot: Duration,
    /// The wall clock.
    pub wall: Timestamp,
}

impl ClockReading {
    /// Reads the clocks.
    pub fn now() -> Self {
        let boot = clock_gettime(ClockId::Boottime);
        // Negative only in a time namespace that is older than its host.
        let boot = Duration::try_from(boot).unwrap_or_default();
        Self { monotonic: Instant::now(), boot, wall: Timestamp::now() }
    }

    /// The time that has passed until then, by the clock that advanced most. A wall clock that is set
    /// forward counts as time: without other clocks it cannot be distinguished from a pause.
    pub fn elapsed_until(&self, now: &Self) -> Duration {
        let monotonic = now.monotonic.saturating_duration_since(self.monotonic);
        let boot = now.boot.saturating_sub(self.boot);
        let wall = Duration::try_from(now.wall.duration_since(self.wall)).unwrap_or_default();
        monotonic.max(boot).max(wall)
    }
}

/// The instant of a time. Callers must check the time again after the sleep: the system clock may be
/// changed meanwhile.
pub fn instant_of(time: Timestamp) -> Instant {
    let wait = time.duration_since(Timestamp::now());
    Instant::now() + wait.try_into().unwrap_or_default()
}

/// Sleeps until an instant; `None` sleeps for ever.
pub async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake).await,
        None => std::future::pending().await,
    }
}

/// Sleeps for a duration.
pub async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// A random number from 0 to 1, for jitter.
pub fn random_unit() -> f64 {
    let [a, b, c, d, ..] = random_bits().to_le_bytes();
    f64::from(u32::from_le_bytes([a, b, c, d])) / f64::from(u32::MAX)
}

/// 64 random bits for jitter and unique names; not for secrets.
pub fn random_bits() -> u64 {
    RandomState::new().hash_one(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elapsed_until_counts_the_clock_that_advanced_most() {
        let before = ClockReading::now();
        let after = |monotonic: u64, boot: u64, wall: i64| ClockReading {
            monotonic: before.monotonic + Duration::from_secs(monotonic),
            boot: before.boot + Duration::from_secs(boot),
            wall: before.wall + jiff::SignedDuration::from_secs(wall),
        };
        for (now, elapsed) in [
            (after(5, 5, 5), 5),
            // The host was suspended.
            (after(5, 65, 65), 65),
            // The guest was paused, and its wall clock corrected.
            (after(5, 5, 65), 65),
            // The wall clock was set back.
            (after(5, 5, -3600), 5),
        ] {
            assert_eq!(before.elapsed_until(&now), Duration::from_secs(elapsed), "{now:?}");
        }
        assert_eq!(after(5, 5, 5).elapsed_until(&before), Duration::ZERO);
    }

    #[test]
    fn clocks_advance() {
        let before = ClockReading::now();
        let after = ClockReading::now();
        assert!(after.boot >= before.boot && before.boot > Duration::ZERO);
        assert!(before.elapsed_until(&after) < Duration::from_mins(1));
    }

    #[test]
    fn random_unit_stays_in_range_and_varies() {
        let units: Vec<f64> = (0..100).map(|_| random_unit()).collect();
        assert!(units.iter().all(|unit| (0.0..=1.0).contains(unit)));
        assert!(units.iter().any(|unit| *unit < 0.5) && units.iter().any(|unit| *unit > 0.5));
    }
}
