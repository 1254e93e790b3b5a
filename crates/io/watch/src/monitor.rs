//! Monitors of watches, and publication of the stale ones.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::age::WatchAge;
use crate::timeouts::MAX_WATCH_AGE;

/// A watch whose data is too old to act on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleWatch {
    /// Name of the watch, such as `configmaps/openshift-config/admin-acks`.
    pub name: String,
    /// Time of the last confirmation.
    pub since: Timestamp,
    /// The error at the time at which the watch became stale.
    pub error: Option<String>,
}

impl fmt::Display for StaleWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, since, error } = self;
        write!(f, "the watch of {name} is stale since {since:.0}")?;
        error.as_ref().map_or(Ok(()), |error| write!(f, ": {error}"))
    }
}

/// The stale watches by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StaleWatches(BTreeMap<String, StaleWatch>);

impl StaleWatches {
    /// The watch of that name, if it is stale.
    pub fn get(&self, name: &str) -> Option<&StaleWatch> {
        self.0.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &StaleWatch> {
        self.0.values()
    }
}

impl FromIterator<StaleWatch> for StaleWatches {
    fn from_iter<I: IntoIterator<Item = StaleWatch>>(watches: I) -> Self {
        Self(watches.into_iter().map(|watch| (watch.name.clone(), watch)).collect())
    }
}

/// Creates monitors of watches, and publishes the stale ones. Clones share them.
#[derive(Clone)]
pub struct WatchMonitors {
    shared: Arc<Shared>,
}

struct Shared {
    max_age: Duration,
    ages: Mutex<BTreeMap<String, WatchAge>>,
    stale: watch::Sender<StaleWatches>,
    /// Wakes [`WatchMonitors::run`] for a new watch, which may be the first.
    opened: Notify,
}

impl Default for WatchMonitors {
    fn default() -> Self {
        Self::new(MAX_WATCH_AGE)
    }
}

impl WatchMonitors {
    /// Monitors of watches with a maximum age.
    pub fn new(max_age: Duration) -> Self {
        let (ages, stale) = (Mutex::default(), watch::Sender::default());
        Self { shared: Arc::new(Shared { max_age, ages, stale, opened: Notify::new() }) }
    }

    /// The stale watches, while [`Self::run`] runs.
    pub fn stale(&self) -> watch::Receiver<StaleWatches> {
        self.shared.stale.subscribe()
    }

    /// A monitor of a watch. Its name is unique, and in messages and metrics.
    pub fn monitor(&self, name: impl Into<String>) -> WatchMonitor {
        let name = name.into();
        self.shared.lock().insert(name.clone(), WatchAge::new(Instant::now()));
        self.shared.opened.notify_one();
        WatchMonitor { entry: Arc::new(Entry { shared: Arc::clone(&self.shared), name }) }
    }

    /// The ages of all watches, by name.
    pub fn ages(&self) -> BTreeMap<String, WatchAge> {
        self.shared.lock().clone()
    }

    /// Publishes watches as they become stale. Never returns.
    pub async fn run(&self) {
        loop {
            let due = self.shared.publish(Instant::now());
            // A watch that recovers is published at once; only the next one to become stale matters
            // here. `Notify` keeps the permit of a watch that is opened before the wait.
            tokio::select! {
                () = fairway_clock::sleep_until(due) => {}
                () = self.shared.opened.notified() => {}
            }
        }
    }
}

impl Shared {
    /// No foreign code runs under the lock, so a poisoned lock is safe to use.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, WatchAge>> {
        self.ages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes the stale watches; returns when the next one becomes stale.
    fn publish(&self, now: Instant) -> Option<Instant> {
        // The lock is held until they are published, so that a watch that recovers meanwhile is
        // removed after it is added.
        let ages = self.lock();
        let wall_clock = fairway_clock::now();
        self.stale.send_if_modified(|stale| {
            let before = stale.0.len();
            for (name, age) in ages.iter().filter(|(_, age)| age.is_stale(now, self.max_age)) {
                // The first error stays, so that the status does not change with retries.
                stale.0.entry(name.clone()).or_insert_with(|| {
                    let watch = stale_watch(name, age, now, wall_clock);
                    tracing::error!(watch = name, since = %watch.since, error = watch.error, "watch is stale");
                    watch
                });
            }
            stale.0.len() > before
        });
        let fresh = ages.values().filter(|age| !age.is_stale(now, self.max_age));
        fresh.map(|age| age.stale_at(self.max_age)).min()
    }

    /// Changes the age of a watch, and publishes its recovery.
    fn update(&self, name: &str, change: impl FnOnce(&mut WatchAge, Instant)) {
        let mut ages = self.lock();
        let Some(age) = ages.get_mut(name) else { return };
        let now = Instant::now();
        change(age, now);
        if !age.is_stale(now, self.max_age) {
            self.recover(name);
        }
    }

    fn recover(&self, name: &str) {
        let is_news = self.stale.send_if_modified(|stale| stale.0.remove(name).is_some());
        if is_news {
            tracing::info!(watch = name, "watch recovered");
            self.opened.notify_one();
        }
    }
}

fn stale_watch(name: &str, age: &WatchAge, now: Instant, wall_clock: Timestamp) -> StaleWatch {
    let old = SignedDuration::try_from(age.age(now)).unwrap_or(SignedDuration::ZERO);
    StaleWatch {
        name: name.to_owned(),
        since: wall_clock.checked_sub(old).unwrap_or(wall_clock),
        error: age.error().map(str::to_owned),
    }
}

/// Monitor of one watch. Clones share it; the watch ends with the last one.
#[derive(Clone)]
pub struct WatchMonitor {
    entry: Arc<Entry>,
}

struct Entry {
    shared: Arc<Shared>,
    name: String,
}

impl Drop for Entry {
    // A watch that has ended is not stale.
    fn drop(&mut self) {
        self.shared.lock().remove(&self.name);
        self.shared.recover(&self.name);
    }
}

impl WatchMonitor {
    /// Name of the watch.
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// The API server accepted a watch request.
    pub(crate) fn started(&self) {
        self.update(WatchAge::started);
    }

    /// The API server sent a part of a watch.
    pub(crate) fn received(&self) {
        self.update(WatchAge::received);
    }

    /// A list is complete, or an event arrived.
    pub fn updated(&self) {
        self.update(WatchAge::updated);
    }

    /// A list or watch failed.
    pub fn failed(&self, error: impl Into<String>) {
        self.update(|age, now| age.failed(error.into(), now));
    }

    fn update(&self, change: impl FnOnce(&mut WatchAge, Instant)) {
        self.entry.shared.update(&self.entry.name, change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_AGE: Duration = Duration::from_mins(10);
    const MINUTE: Duration = Duration::from_mins(1);

    /// Names and errors of the stale watches.
    fn names(stale: &watch::Receiver<StaleWatches>) -> Vec<(String, Option<String>)> {
        stale.borrow().iter().map(|watch| (watch.name.clone(), watch.error.clone())).collect()
    }

    async fn pass(time: Duration) {
        fairway_clock::pause(time).await;
    }

    #[tokio::test(start_paused = true)]
    async fn silent_watch_is_published_until_it_recovers() {
        let monitors = WatchMonitors::new(MAX_AGE);
        let stale = monitors.stale();
        let test = async {
            let silent = monitors.monitor("silent");
            let (kept, bookmarked) = (monitors.monitor("kept"), monitors.monitor("bookmarked"));
            for _ in 0..11 {
                pass(MINUTE).await;
                kept.started();
                bookmarked.received();
            }
            assert_eq!(names(&stale), [("silent".to_owned(), None)]);
            silent.updated();
            assert_eq!(names(&stale), []);
            assert_eq!(kept.name(), "kept");
        };
        tokio::select! {
            () = monitors.run() => {}
            () = test => {}
        }
    }

    #[tokio::test(start_paused = true)]
    async fn failing_watch_is_published_with_its_first_error() {
        // Between two failures.
        let monitors = WatchMonitors::new(MAX_AGE + MINUTE / 2);
        let mut stale = monitors.stale();
        let test = async {
            pass(MINUTE).await;
            let monitor = monitors.monitor("clusteroperators");
            for retry in 0..12 {
                monitor.failed(format!("forbidden {retry}"));
                pass(MINUTE).await;
            }
            let expected = [("clusteroperators".to_owned(), Some("forbidden 10".to_owned()))];
            assert_eq!(names(&stale), expected);
            stale.mark_unchanged();
            for retry in 0..5 {
                monitor.failed(format!("unavailable {retry}"));
                pass(MINUTE).await;
            }
            assert!(!stale.has_changed().unwrap(), "retries do not change the status");
            drop(monitor);
            assert_eq!(names(&stale), [], "a watch that has ended is not stale");
            assert!(monitors.ages().is_empty());
        };
        tokio::select! {
            () = monitors.run() => {}
            () = test => {}
        }
    }

    #[tokio::test(start_paused = true)]
    async fn watch_becomes_stale_again_after_recovery() {
        let monitors = WatchMonitors::new(MAX_AGE);
        let stale = monitors.stale();
        let test = async {
            let monitor = monitors.monitor("pods");
            for _ in 0..3 {
                pass(MAX_AGE + MINUTE).await;
                assert_eq!(names(&stale).len(), 1);
                monitor.started();
                assert_eq!(names(&stale).len(), 0);
            }
        };
        tokio::select! {
            () = monitors.run() => {}
            () = test => {}
        }
    }

    #[test]
    fn stale_watch_names_watch_time_and_error() {
        let now = Instant::now();
        let wall_clock: Timestamp = "2026-01-01T00:10:00.5Z".parse().unwrap();
        let mut age = WatchAge::new(now);
        let show = |age: &WatchAge| {
            stale_watch("clusteroperators", age, now + MAX_AGE, wall_clock).to_string()
        };
        insta::assert_snapshot!(show(&age), @"the watch of clusteroperators is stale since 2026-01-01T00:00:00Z");
        age.failed("forbidden".to_owned(), now);
        insta::assert_snapshot!(show(&age), @"the watch of clusteroperators is stale since 2026-01-01T00:00:00Z: forbidden");
    }
}
