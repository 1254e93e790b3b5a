//! The one place that reads the clock, sleeps and draws random numbers for jitter. Decisions take
//! `now` and the random number as arguments.
#![expect(clippy::disallowed_methods, reason = "the only crate that may read the clock")]

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

/// The current time.
pub fn now() -> Timestamp {
    Timestamp::now()
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
    fn random_unit_stays_in_range_and_varies() {
        let units: Vec<f64> = (0..100).map(|_| random_unit()).collect();
        assert!(units.iter().all(|unit| (0.0..=1.0).contains(unit)));
        assert!(units.iter().any(|unit| *unit < 0.5) && units.iter().any(|unit| *unit > 0.5));
    }
}
