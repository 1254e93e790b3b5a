//! How long to wait before something that failed is tried again.

use jiff::{SignedDuration, Timestamp};

/// The first wait, as the kubelet has it.
const FIRST: SignedDuration = SignedDuration::from_secs(10);
/// The longest one.
const LONGEST: SignedDuration = SignedDuration::from_mins(5);
/// Whoever ran that long begins anew.
const FORGIVEN: SignedDuration = SignedDuration::from_mins(10);

/// The failures of one container so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Backoff {
    /// How long the next wait is, after a first failure.
    delay: Option<SignedDuration>,
}

impl Backoff {
    /// Until when to wait, if it failed at that time; the first failure waits for nothing.
    pub(crate) fn until(&self, failed: Timestamp) -> Timestamp {
        self.delay.map_or(failed, |delay| failed.saturating_add(delay).unwrap_or(Timestamp::MAX))
    }

    /// How long it waits.
    pub(crate) fn delay(&self) -> SignedDuration {
        self.delay.unwrap_or(SignedDuration::ZERO)
    }

    /// It was tried again.
    #[must_use]
    pub(crate) fn tried(&self) -> Self {
        let next = self.delay.map_or(FIRST, |delay| (delay * 2).min(LONGEST));
        Self { delay: Some(next) }
    }

    /// It ended after having run that long.
    #[must_use]
    pub(crate) fn ran(self, long: SignedDuration) -> Self {
        if long >= FORGIVEN { Self::default() } else { self }
    }
}

/// As the kubelet writes durations: `10s`, `1m20s`, `5m0s`.
pub(crate) fn written(duration: SignedDuration) -> String {
    let seconds = duration.as_secs();
    if seconds < 60 { format!("{seconds}s") } else { format!("{}m{}s", seconds / 60, seconds % 60) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_five_minutes_after_a_first_immediate_try() {
        let mut backoff = Backoff::default();
        let mut waits = Vec::new();
        for _ in 0..8 {
            waits.push(written(backoff.delay()));
            backoff = backoff.tried();
        }
        assert_eq!(waits, ["0s", "10s", "20s", "40s", "1m20s", "2m40s", "5m0s", "5m0s"]);
    }

    #[test]
    fn ten_minutes_of_work_are_forgiven() {
        let backoff = Backoff::default().tried().tried();
        assert_eq!(backoff.clone().ran(SignedDuration::from_mins(9)), backoff);
        assert_eq!(backoff.ran(SignedDuration::from_mins(10)), Backoff::default());
    }
}
