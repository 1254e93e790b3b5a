//! Durations of leader election.

use std::time::Duration;

/// Durations of leader election, as in client-go's `LeaderElectionConfig`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Lease duration: time without a renewal after which another candidate takes over.
    pub lease: Duration,
    /// Renew deadline: time without a renewal after which a leader stops. The difference to `lease` is
    /// for clock drift and for writes in flight.
    pub renew: Duration,
    /// Interval and timeout of requests.
    pub retry: Duration,
}

impl Default for Timing {
    /// The durations of the Go operator: an API server may be unavailable for 90 seconds, as during
    /// its own update, without a change of the leader.
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(137),
            renew: Duration::from_secs(107),
            retry: Duration::from_secs(26),
        }
    }
}

/// Durations that contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimingError {
    /// Two replicas could lead at once.
    #[error("the lease duration must be longer than the renew deadline")]
    Renew,
    /// A failed request could not be repeated in time.
    #[error("the renew deadline must be at least twice the retry interval, which must not be zero")]
    Retry,
}

impl Timing {
    /// Checks that at most one replica leads, and that a failed request is repeated.
    pub fn check(self) -> Result<Self, TimingError> {
        if self.renew >= self.lease {
            return Err(TimingError::Renew);
        }
        if self.retry.is_zero() || self.retry.saturating_mul(2) > self.renew {
            return Err(TimingError::Retry);
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_rejects_contradicting_durations() {
        let timing = |lease, renew, retry| Timing {
            lease: Duration::from_secs(lease),
            renew: Duration::from_secs(renew),
            retry: Duration::from_secs(retry),
        };
        assert_eq!(Timing::default().check(), Ok(Timing::default()));
        for (timing, expected) in [
            (timing(270, 240, 60), None),
            (timing(10, 10, 1), Some(TimingError::Renew)),
            (timing(10, 11, 1), Some(TimingError::Renew)),
            (timing(10, 9, 5), Some(TimingError::Retry)),
            (timing(10, 9, 0), Some(TimingError::Retry)),
        ] {
            assert_eq!(timing.check().err(), expected, "{timing:?}");
        }
    }
}
