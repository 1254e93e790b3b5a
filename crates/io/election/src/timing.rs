//! How long a lease lasts, and how often it is renewed.

use std::time::Duration;

/// The durations of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long others wait for a sign of life before they take over.
    pub lease: Duration,
    /// How long after its last renewal a leader goes on. What is between this and `lease` is for
    /// clocks that run at different speeds, and for writes that are on their way.
    pub renew: Duration,
    /// The time between two requests; none takes longer.
    pub retry: Duration,
}

impl Default for Timing {
    /// Those of the existing operator: an API server may be away for a minute and a half, as it
    /// is while it is updated, and no leader changes.
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(137),
            renew: Duration::from_secs(107),
            retry: Duration::from_secs(26),
        }
    }
}

/// Why durations do not make an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimingError {
    /// Two could lead at once.
    #[error("the lease duration must be longer than the renew deadline")]
    Renew,
    /// There would be no second try.
    #[error("the renew deadline must be at least twice the retry interval, which must not be zero")]
    Retry,
}

impl Timing {
    /// Whether at most one leads, and a request that fails is made again.
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
    fn durations_that_make_no_election() {
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
