//! Retries with exponential backoff.

use std::future::Future;
use std::time::Duration;

use super::PullError;

/// First delay: long enough after a connection that the server closed.
const INITIAL_BACKOFF: Duration = Duration::from_millis(200);
/// Maximum delay. After a longer `Retry-After`, the next scan contacts the registry again.
const MAX_BACKOFF: Duration = Duration::from_secs(20);

/// Remaining attempts and the next delay, which triples after each retry.
pub(crate) struct Backoff {
    left: u32,
    wait: Duration,
}

impl Backoff {
    pub(crate) fn new(attempts: u32) -> Self {
        Self { left: attempts.saturating_sub(1), wait: INITIAL_BACKOFF }
    }

    /// No retries, for local files.
    pub(crate) fn never() -> Self {
        Self::new(1)
    }

    /// Runs an attempt until it succeeds, fails permanently, or no attempt is left.
    pub(crate) async fn run<T, F>(mut self, mut attempt: impl FnMut() -> F) -> Result<T, PullError>
    where
        F: Future<Output = Result<T, PullError>>,
    {
        loop {
            match attempt().await {
                Err(error) if self.retry(&error).await => {}
                done => return done,
            }
        }
    }

    /// Waits before the next attempt; `false` if the error is permanent or no attempt is left.
    pub(crate) async fn retry(&mut self, error: &PullError) -> bool {
        let requested = match error {
            PullError::Status { retry_after, .. } => retry_after.unwrap_or_default(),
            _ => Duration::ZERO,
        };
        if self.left == 0 || !error.is_transient() || requested > MAX_BACKOFF {
            return false;
        }
        // A registry does not announce that it has recovered, so there is nothing else to wait for.
        fairway_clock::pause(self.wait.max(requested)).await;
        self.left -= 1;
        self.wait = (self.wait * 3).min(MAX_BACKOFF);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status_error(status: u16, seconds: Option<u64>) -> PullError {
        let retry_after = seconds.map(Duration::from_secs);
        PullError::Status { url: String::new(), status, retry_after }
    }

    async fn delays(error: &PullError) -> Vec<Duration> {
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
    async fn retry_with_transient_errors_backs_off() {
        let milliseconds =
            |waits: Vec<Duration>| -> Vec<u128> { waits.iter().map(Duration::as_millis).collect() };
        for status in [429, 500, 503] {
            let waits = milliseconds(delays(&status_error(status, None)).await);
            assert_eq!(waits, [200, 600, 1800], "{status}");
        }
        for status in [400, 405, 418] {
            assert!(delays(&status_error(status, None)).await.is_empty(), "{status}");
        }
        assert_eq!(milliseconds(delays(&status_error(429, Some(1))).await), [1000, 1000, 1800]);
        assert!(delays(&status_error(429, Some(3600))).await.is_empty());
        let gone = PullError::NotFound { url: String::new() };
        assert!(delays(&gone).await.is_empty());
    }
}
