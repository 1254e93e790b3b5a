//! The age of a watch.

use std::time::Duration;

use tokio::time::Instant;

/// When the data of a watch was last confirmed, and when the watch was last active.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchAge {
    /// Time of the last confirmation; before the first one, the time at which the watch was opened.
    confirmed: Instant,
    /// Time of the last confirmation that an error does not revoke.
    certain: Instant,
    /// Time of the last response, event or error.
    active: Instant,
    /// The last error; `None` if the watch has recovered.
    error: Option<String>,
}

impl WatchAge {
    /// A watch that is opened now.
    pub fn new(now: Instant) -> Self {
        Self { confirmed: now, certain: now, active: now, error: None }
    }

    /// The API server accepted a watch request. An error that follows revokes it: some failures are
    /// reported as the first event of a watch.
    pub fn started(&mut self, now: Instant) {
        self.certain = self.confirmed;
        self.received(now);
        self.error = None;
    }

    /// The API server sent a part of a watch, such as a bookmark.
    pub fn received(&mut self, now: Instant) {
        (self.confirmed, self.active) = (now, now);
    }

    /// A list is complete, or an event arrived.
    pub fn updated(&mut self, now: Instant) {
        (self.confirmed, self.certain, self.active) = (now, now, now);
        self.error = None;
    }

    /// A list or watch failed.
    pub fn failed(&mut self, error: String, now: Instant) {
        self.confirmed = self.certain;
        self.active = now;
        self.error = Some(error);
    }

    /// Time since the last confirmation.
    pub fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.confirmed)
    }

    /// Time since the last activity. A watch retries until it succeeds, so one that is inactive for
    /// longer than its timeouts does not recover by itself.
    pub fn inactive(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.active)
    }

    /// Time at which the watch becomes stale.
    pub fn stale_at(&self, max_age: Duration) -> Instant {
        self.confirmed + max_age
    }

    /// Whether the watch is stale.
    pub fn is_stale(&self, now: Instant, max_age: Duration) -> bool {
        now >= self.stale_at(max_age)
    }

    /// The last error; `None` if the watch has recovered.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_AGE: Duration = Duration::from_mins(10);
    const RENEWAL: Duration = Duration::from_secs(290);

    fn minutes(minutes: u64) -> Duration {
        Duration::from_mins(minutes)
    }

    #[test]
    fn watch_without_list_is_stale_after_maximum_age() {
        let now = Instant::now();
        let mut age = WatchAge::new(now);
        age.failed("forbidden".to_owned(), now + minutes(9));
        assert!(!age.is_stale(now + minutes(9), MAX_AGE));
        assert!(age.is_stale(now + minutes(10), MAX_AGE));
        assert_eq!((age.stale_at(MAX_AGE), age.error()), (now + MAX_AGE, Some("forbidden")));
        age.updated(now + minutes(11));
        assert!(!age.is_stale(now + minutes(11), MAX_AGE) && age.error().is_none());
    }

    #[test]
    fn idle_watch_without_bookmarks_is_never_stale() {
        let begin = Instant::now();
        let mut age = WatchAge::new(begin);
        for renewal in 1..100 {
            let now = begin + RENEWAL * renewal;
            assert!(!age.is_stale(now, MAX_AGE), "renewal {renewal}");
            age.started(now);
        }
    }

    #[test]
    fn bookmark_confirms_watch() {
        let now = Instant::now();
        let mut age = WatchAge::new(now);
        age.received(now + minutes(9));
        assert_eq!(age.age(now + minutes(12)), minutes(3));
    }

    #[test]
    fn start_followed_by_error_does_not_confirm_watch() {
        let now = Instant::now();
        let mut age = WatchAge::new(now);
        age.updated(now);
        for minute in 1..10 {
            let now = now + minutes(minute);
            age.started(now);
            // The error itself arrives as a part of the watch.
            age.received(now);
            age.failed("conversion failed".to_owned(), now);
            assert_eq!(age.age(now), minutes(minute));
        }
        assert!(age.is_stale(now + minutes(10), MAX_AGE));
        assert_eq!(age.inactive(now + minutes(10)), minutes(1), "it retries");
    }

    #[test]
    fn error_after_event_keeps_the_event() {
        let now = Instant::now();
        let mut age = WatchAge::new(now);
        age.started(now + minutes(1));
        age.updated(now + minutes(3));
        age.failed("cut".to_owned(), now + minutes(4));
        assert_eq!(age.age(now + minutes(4)), minutes(1));
    }
}
