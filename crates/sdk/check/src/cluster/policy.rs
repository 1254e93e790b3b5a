//! Rate limit, timeouts and retries of requests.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fairway_backoff::Backoff;
use tokio::time::{Instant, sleep_until, timeout};

use crate::CannotTell;

/// Rate limit, timeouts and retries of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestPolicy {
    /// Minimum time between two requests, to limit the load of the API server.
    pub interval: Duration,
    /// Maximum number of attempts of a request.
    pub attempts: u32,
    /// Delay before the second attempt; it doubles with each further one.
    pub first_delay: Duration,
    /// Maximum delay, even if the server requests more.
    pub max_delay: Duration,
    /// Timeout of one request.
    pub timeout: Duration,
}

impl Default for RequestPolicy {
    /// Ten requests per second, and about half a minute for an API server that restarts.
    fn default() -> Self {
        Self {
            interval: Duration::from_millis(100),
            attempts: 6,
            first_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(10),
            timeout: Duration::from_secs(30),
        }
    }
}

impl RequestPolicy {
    /// Delay before the next attempt; `None` if there is none.
    pub(super) fn delay(&self, attempt: u32, failure: &Failure) -> Option<Duration> {
        if attempt.saturating_add(1) >= self.attempts || !failure.is_transient() {
            return None;
        }
        let backoff = Backoff { first: self.first_delay, max: self.max_delay };
        let delay = backoff.after(attempt.saturating_add(1));
        Some(delay.max(failure.retry_after()).min(self.max_delay))
    }
}

/// Why a request failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The API server refused the request, or is not reachable.
    Refused(kube::Error),
    /// The request timed out.
    TimedOut(Duration),
}

impl Failure {
    /// Whether a retry may succeed.
    fn is_transient(&self) -> bool {
        match self {
            Self::Refused(kube::Error::Api(status)) => {
                matches!(status.code, 429 | 500 | 502 | 503 | 504)
            }
            Self::Refused(kube::Error::HyperError(_) | kube::Error::Service(_))
            | Self::TimedOut(_) => true,
            Self::Refused(_) => false,
        }
    }

    /// Delay that the server requests (`Retry-After`).
    fn retry_after(&self) -> Duration {
        let Self::Refused(kube::Error::Api(status)) = self else { return Duration::ZERO };
        let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
        Duration::from_secs(seconds.into())
    }

    /// Converts the error of a request for a resource.
    pub(super) fn to_cannot_tell(&self, what: String) -> CannotTell {
        let words = match self {
            Self::Refused(kube::Error::Api(status)) => match status.code {
                404 => return CannotTell::NotServed(what),
                401 | 403 => {
                    return CannotTell::Forbidden { what, words: status.message.clone() };
                }
                _ => status.message.clone(),
            },
            Self::Refused(error) => error.to_string(),
            Self::TimedOut(time) => format!("timed out after {} seconds", time.as_secs()),
        };
        CannotTell::Unreadable { what, words }
    }
}

/// Rate limiter.
pub(super) struct RateLimiter {
    policy: RequestPolicy,
    next: Mutex<Option<Instant>>,
}

impl RateLimiter {
    pub(super) fn new(policy: RequestPolicy) -> Self {
        Self { policy, next: Mutex::new(None) }
    }

    pub(super) fn policy(&self) -> &RequestPolicy {
        &self.policy
    }

    /// Waits until the next request may be sent.
    pub(super) async fn wait_turn(&self) {
        let wait_turn = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            let wait_turn = next.map_or(now, |next| next.max(now));
            *next = Some(wait_turn + self.policy.interval);
            wait_turn
        };
        sleep_until(wait_turn).await;
    }

    pub(super) async fn wait(&self, delay: Duration) {
        sleep_until(Instant::now() + delay).await;
    }

    pub(super) async fn with_timeout<T>(
        &self,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, Failure> {
        let response = timeout(self.policy.timeout, request).await;
        response.map_err(|_| Failure::TimedOut(self.policy.timeout))?.map_err(Failure::Refused)
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn refused(code: u16, retry_after: u32) -> Failure {
        let status = serde_json::json!({
            "status": "Failure",
            "code": code,
            "message": "in the server's words",
            "details": { "retryAfterSeconds": retry_after },
        });
        let status: Status = serde_json::from_value(status).unwrap();
        Failure::Refused(kube::Error::Api(status.boxed()))
    }

    #[test]
    fn delay_only_for_transient_errors() {
        let policy = RequestPolicy::default();
        for (code, again) in [
            (400, false),
            (403, false),
            (404, false),
            (410, false),
            (429, true),
            (500, true),
            (503, true),
        ] {
            assert_eq!(policy.delay(0, &refused(code, 0)).is_some(), again, "{code}");
        }
        assert!(policy.delay(0, &Failure::TimedOut(Duration::from_secs(1))).is_some());
    }

    #[test]
    fn delay_grows_up_to_maximum() {
        let policy = RequestPolicy::default();
        let pauses: Vec<_> =
            (0..6).map(|attempt| policy.delay(attempt, &refused(503, 0))).collect();
        let seconds = [1, 2, 4, 8, 10].map(|seconds| Some(Duration::from_secs(seconds)));
        assert_eq!(pauses[..5], seconds);
        assert_eq!(pauses[5], None);
        let asked = |seconds| policy.delay(0, &refused(429, seconds));
        assert_eq!(asked(5), Some(Duration::from_secs(5)), "as long as the server wants");
        assert_eq!(asked(3600), Some(Duration::from_secs(10)), "within limits");
    }

    #[test]
    fn errors_name_the_resource_and_the_cause() {
        let rendered = |failure: Failure| failure.to_cannot_tell("nodes".to_owned()).to_string();
        insta::assert_snapshot!(rendered(refused(404, 0)), @"the cluster does not serve nodes");
        insta::assert_snapshot!(rendered(refused(403, 0)), @"the check is not permitted to read nodes: in the server's words");
        insta::assert_snapshot!(rendered(refused(500, 0)), @"cannot read nodes: in the server's words");
        insta::assert_snapshot!(rendered(Failure::TimedOut(Duration::from_secs(30))), @"cannot read nodes: timed out after 30 seconds");
    }
}
