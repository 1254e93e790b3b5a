//! When to try again.

use std::time::Duration;

use super::PullError;

/// Enough for a connection that was closed at the wrong moment.
const FIRST_WAIT: Duration = Duration::from_millis(200);
/// A registry that asks for more is asked again in the next scan.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// Counts attempts, and waits longer after each.
pub(crate) struct Backoff {
    left: u32,
    wait: Duration,
}

impl Backoff {
    pub(crate) fn new(attempts: u32) -> Self {
        Self { left: attempts.saturating_sub(1), wait: FIRST_WAIT }
    }

    /// For what is as it is.
    pub(crate) fn never() -> Self {
        Self::new(1)
    }

    /// Waits if it is worth trying again, and says whether it is.
    pub(crate) async fn retry(&mut self, error: &PullError) -> bool {
        let asked = match error {
            PullError::Status { retry_after, .. } => retry_after.unwrap_or_default(),
            _ => Duration::ZERO,
        };
        if self.left == 0 || !error.is_transient() || asked > LONGEST_WAIT {
            return false;
        }
        // A registry does not announce that it has recovered, so there is nothing else to wait for.
        fairway_clock::pause(self.wait.max(asked)).await;
        self.left -= 1;
        self.wait = (self.wait * 3).min(LONGEST_WAIT);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, seconds: Option<u64>) -> PullError {
        let retry_after = seconds.map(Duration::from_secs);
        PullError::Status { url: String::new(), status, retry_after }
    }

    async fn waited(error: &PullError) -> Vec<Duration> {
        let mut backoff = Backoff::new(4);
        let mut waits = Vec::new();
        loop {
            let begin = tokio::time::Instant::now();
            if !backoff.retry(error).await {
                return waits;
            }
            waits.push(begin.elapsed());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_may_pass_is_tried_again_and_ever_later() {
        let milliseconds =
            |waits: Vec<Duration>| -> Vec<u128> { waits.iter().map(Duration::as_millis).collect() };
        for status in [429, 500, 503] {
            let waits = milliseconds(waited(&answered(status, None)).await);
            assert_eq!(waits, [200, 600, 1800], "{status}");
        }
        for status in [400, 405, 418] {
            assert!(waited(&answered(status, None)).await.is_empty(), "{status}");
        }
        assert_eq!(milliseconds(waited(&answered(429, Some(1))).await), [1000, 1000, 1800]);
        assert!(waited(&answered(429, Some(3600))).await.is_empty());
        let gone = PullError::NotFound { url: String::new() };
        assert!(waited(&gone).await.is_empty());
    }
}
