//! How long is waited before something is tried again.

use std::time::Duration;

use fairway_backoff::{Backoff, jittered};

/// How long is waited before something is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The pause after the first failure; it doubles with each.
    pub first: Duration,
    /// The longest pause.
    pub longest: Duration,
    /// How long a manifest may fail before it is told: most errors are gone by then, and a new
    /// cluster has many, since everything is begun at once.
    pub grace: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            // What is missing is usually on its way.
            first: Duration::from_secs(1),
            // Who repairs something waits no longer than that to see it.
            longest: Duration::from_mins(3),
            grace: Duration::from_secs(15),
        }
    }
}

impl Pace {
    /// The pause after so many failures in a row. `jitter` is from 0 to 1: it spreads manifests
    /// that failed together.
    pub(super) fn pause(&self, failures: u32, jitter: f64) -> Duration {
        let backoff = Backoff { first: self.first, max: self.longest };
        jittered(backoff.after(failures), 0.2, jitter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let pace = Pace::default();
        let seconds = |failures, jitter| pace.pause(failures, jitter).as_secs_f64();
        let pauses: Vec<f64> = (1..11).map(|failures| seconds(failures, 0.0)).collect();
        assert_eq!(pauses, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 180.0, 180.0]);
        assert!((seconds(1, 1.0) - 1.2).abs() < 1e-9);
        assert!((seconds(u32::MAX, 7.0) - 216.0).abs() < 1e-9);
    }
}
