//! How fast a cluster is asked, and how often again.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fairway_backoff::Backoff;
use tokio::time::{Instant, sleep_until, timeout};

use crate::CannotTell;

/// How fast a cluster is asked, and how often again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The time from one request to the next: whatever else goes on in a cluster is more important.
    pub between: Duration,
    /// How often a request is sent that the server could not answer.
    pub attempts: u32,
    /// The pause before the second attempt; each of the following is twice as long.
    pub first_pause: Duration,
    /// And none is longer than this, whatever the server asks for.
    pub longest_pause: Duration,
    /// How long a server has for one answer.
    pub answer: Duration,
}

impl Default for Patience {
    /// Ten requests a second, and about half a minute for a server that restarts.
    fn default() -> Self {
        Self {
            between: Duration::from_millis(100),
            attempts: 6,
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(10),
            answer: Duration::from_secs(30),
        }
    }
}

impl Patience {
    /// How long to wait before a request is sent again; `None` where that is of no use.
    pub(super) fn pause(&self, attempt: u32, failure: &Failure) -> Option<Duration> {
        if attempt.saturating_add(1) >= self.attempts || !failure.may_pass() {
            return None;
        }
        let backoff = Backoff { first: self.first_pause, max: self.longest_pause };
        let pause = backoff.after(attempt.saturating_add(1));
        Some(pause.max(failure.asks_for()).min(self.longest_pause))
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server or the way to it does not give one.
    Refused(kube::Error),
    /// It takes too long.
    Slow(Duration),
}

impl Failure {
    /// Whether the same request may succeed later.
    fn may_pass(&self) -> bool {
        match self {
            Self::Refused(kube::Error::Api(status)) => {
                matches!(status.code, 429 | 500 | 502 | 503 | 504)
            }
            Self::Refused(kube::Error::HyperError(_) | kube::Error::Service(_)) | Self::Slow(_) => {
                true
            }
            Self::Refused(_) => false,
        }
    }

    /// What the server wants to be given.
    fn asks_for(&self) -> Duration {
        let Self::Refused(kube::Error::Api(status)) = self else { return Duration::ZERO };
        let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
        Duration::from_secs(seconds.into())
    }

    /// What it means for a check that asked for this.
    pub(super) fn about(&self, what: String) -> CannotTell {
        let words = match self {
            Self::Refused(kube::Error::Api(status)) => match status.code {
                404 => return CannotTell::NotServed(what),
                401 | 403 => {
                    return CannotTell::Forbidden { what, words: status.message.clone() };
                }
                _ => status.message.clone(),
            },
            Self::Refused(error) => error.to_string(),
            Self::Slow(time) => format!("timed out after {} seconds", time.as_secs()),
        };
        CannotTell::Unreadable { what, words }
    }
}

/// One request after the other.
pub(super) struct Pace {
    patience: Patience,
    next: Mutex<Option<Instant>>,
}

impl Pace {
    pub(super) fn new(patience: Patience) -> Self {
        Self { patience, next: Mutex::new(None) }
    }

    pub(super) fn patience(&self) -> &Patience {
        &self.patience
    }

    /// Waits until it is time for another request.
    pub(super) async fn turn(&self) {
        let turn = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            let turn = next.map_or(now, |next| next.max(now));
            *next = Some(turn + self.patience.between);
            turn
        };
        sleep_until(turn).await;
    }

    pub(super) async fn wait(&self, pause: Duration) {
        sleep_until(Instant::now() + pause).await;
    }

    pub(super) async fn in_time<T>(
        &self,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, Failure> {
        let answer = timeout(self.patience.answer, request).await;
        answer.map_err(|_| Failure::Slow(self.patience.answer))?.map_err(Failure::Refused)
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
    fn only_what_may_pass_is_asked_again() {
        let patience = Patience::default();
        for (code, again) in [
            (400, false),
            (403, false),
            (404, false),
            (410, false),
            (429, true),
            (500, true),
            (503, true),
        ] {
            assert_eq!(patience.pause(0, &refused(code, 0)).is_some(), again, "{code}");
        }
        assert!(patience.pause(0, &Failure::Slow(Duration::from_secs(1))).is_some());
    }

    #[test]
    fn pauses_grow_and_end() {
        let patience = Patience::default();
        let pauses: Vec<_> =
            (0..6).map(|attempt| patience.pause(attempt, &refused(503, 0))).collect();
        let seconds = [1, 2, 4, 8, 10].map(|seconds| Some(Duration::from_secs(seconds)));
        assert_eq!(pauses[..5], seconds);
        assert_eq!(pauses[5], None);
        let asked = |seconds| patience.pause(0, &refused(429, seconds));
        assert_eq!(asked(5), Some(Duration::from_secs(5)), "as long as the server wants");
        assert_eq!(asked(3600), Some(Duration::from_secs(10)), "within limits");
    }

    #[test]
    fn people_are_told_what_is_wrong() {
        let told = |failure: Failure| failure.about("nodes".to_owned()).to_string();
        insta::assert_snapshot!(told(refused(404, 0)), @"the cluster does not serve nodes");
        insta::assert_snapshot!(told(refused(403, 0)), @"the check is not permitted to read nodes: in the server's words");
        insta::assert_snapshot!(told(refused(500, 0)), @"cannot read nodes: in the server's words");
        insta::assert_snapshot!(told(Failure::Slow(Duration::from_secs(30))), @"cannot read nodes: timed out after 30 seconds");
    }
}
