//! Health of watches, and which of them are stale.
//!
//! A watch that failed and recovered sends nothing until an object changes. After a timeout it is
//! therefore restarted with a list. If that fails, too, its last state is stale.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// Stale watches, with the error of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StaleWatches(BTreeMap<Subject, String>);

/// Subject of a watch: the objects of a kind, or its CRD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Objects(&'static str),
    Crd(&'static str),
}

impl StaleWatches {
    /// The watch of a kind is stale.
    #[cfg(test)]
    pub(crate) fn of(kind: &'static str, why: &str) -> Self {
        Self([(Subject::Objects(kind), why.to_owned())].into())
    }

    /// Error of the stale watch of a kind.
    pub(crate) fn why(&self, kind: &'static str) -> Option<&str> {
        let why = |subject| self.0.get(&subject).map(String::as_str);
        why(Subject::Objects(kind)).or_else(|| why(Subject::Crd(kind)))
    }
}

/// Creates monitors of watches, and publishes the stale ones.
#[derive(Clone)]
pub(super) struct WatchHealth {
    stale: watch::Sender<StaleWatches>,
    timeout: Duration,
}

impl WatchHealth {
    pub(super) fn new(timeout: Duration) -> (Self, watch::Receiver<StaleWatches>) {
        let (stale, receiver) = watch::channel(StaleWatches::default());
        (Self { stale, timeout }, receiver)
    }

    /// A monitor of the watch of a kind.
    pub(super) fn of_objects(&self, kind: &'static str) -> WatchMonitor {
        WatchMonitor::new(self.clone(), Subject::Objects(kind))
    }

    /// A monitor of the watch of a CRD.
    pub(super) fn of_crd(&self, kind: &'static str) -> WatchMonitor {
        WatchMonitor::new(self.clone(), Subject::Crd(kind))
    }
}

/// Monitor of one watch.
pub(super) struct WatchMonitor {
    health: WatchHealth,
    subject: Subject,
    has_synced: bool,
    failing: Option<Failing>,
}

/// A failing watch.
struct Failing {
    why: String,
    /// Time of its restart.
    restart_at: Instant,
    has_restarted: bool,
}

impl WatchMonitor {
    fn new(health: WatchHealth, subject: Subject) -> Self {
        Self { health, subject, has_synced: false, failing: None }
    }

    /// The kind of the watch.
    pub(super) fn kind(&self) -> &'static str {
        let (Subject::Objects(kind) | Subject::Crd(kind)) = self.subject;
        kind
    }

    /// Time of the restart, if the watch does not recover until then.
    pub(super) fn restart_at(&self) -> Option<Instant> {
        self.failing.as_ref().map(|failing| failing.restart_at)
    }

    /// Records an error.
    pub(super) fn failed(&mut self, why: String, now: Instant) {
        let restart_at = now + self.health.timeout;
        let first = Failing { why: String::new(), restart_at, has_restarted: false };
        let failing = self.failing.get_or_insert(first);
        failing.why = why;
        // Without a first list, or after a failed restart, the state is unknown.
        if !self.has_synced || failing.has_restarted {
            self.mark_stale();
        }
    }

    /// Records a restart.
    pub(super) fn restarted(&mut self, now: Instant) {
        let Some(failing) = &mut self.failing else { return };
        failing.restart_at = now + self.health.timeout;
        let is_second_restart = std::mem::replace(&mut failing.has_restarted, true);
        if is_second_restart {
            self.mark_stale();
        }
    }

    /// Records an event.
    pub(super) fn recovered(&mut self) {
        self.has_synced = true;
        self.failing = None;
        self.health.stale.send_if_modified(|stale| stale.0.remove(&self.subject).is_some());
    }

    /// Marks the watch as stale. The first error stays, so that the status does not change with retries.
    fn mark_stale(&self) {
        let Some(failing) = &self.failing else { return };
        self.health.stale.send_if_modified(|stale| {
            let before = stale.0.len();
            stale.0.entry(self.subject).or_insert_with(|| failing.why.clone());
            stale.0.len() > before
        });
    }
}

impl Drop for WatchMonitor {
    // An ended watch is not stale.
    fn drop(&mut self) {
        self.recovered();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_mins(2);
    const KIND: &str = "operators";

    fn monitor() -> (WatchMonitor, watch::Receiver<StaleWatches>, Instant) {
        let (health, stale) = WatchHealth::new(TIMEOUT);
        (health.of_objects(KIND), stale, Instant::now())
    }

    fn why(stale: &watch::Receiver<StaleWatches>) -> Option<String> {
        stale.borrow().why(KIND).map(str::to_owned)
    }

    #[test]
    fn watch_without_first_list_is_stale() {
        let (mut monitor, stale, now) = monitor();
        monitor.failed("forbidden".to_owned(), now);
        assert_eq!(why(&stale).as_deref(), Some("forbidden"));
        monitor.failed("unavailable".to_owned(), now);
        assert_eq!(why(&stale).as_deref(), Some("forbidden"), "the first error stays");
        monitor.recovered();
        assert_eq!(why(&stale), None);
    }

    #[test]
    fn watch_is_stale_after_failed_restart() {
        let (mut monitor, stale, now) = monitor();
        monitor.recovered();
        assert_eq!(monitor.restart_at(), None);
        monitor.failed("cut".to_owned(), now);
        monitor.failed("cut again".to_owned(), now + TIMEOUT / 2);
        assert_eq!((why(&stale), monitor.restart_at()), (None, Some(now + TIMEOUT)));
        monitor.restarted(now + TIMEOUT);
        assert_eq!(why(&stale), None, "it may have recovered");
        monitor.failed("forbidden".to_owned(), now + TIMEOUT);
        assert_eq!(why(&stale).as_deref(), Some("forbidden"));
        monitor.recovered();
        assert_eq!((why(&stale), monitor.restart_at()), (None, None));
    }

    #[test]
    fn watch_with_stalled_list_is_stale() {
        let (mut monitor, stale, now) = monitor();
        monitor.recovered();
        monitor.failed("cut".to_owned(), now);
        monitor.restarted(now + TIMEOUT);
        monitor.restarted(now + TIMEOUT * 2);
        assert_eq!(why(&stale).as_deref(), Some("cut"));
        drop(monitor);
        assert_eq!(why(&stale), None, "the watch has ended");
    }

    #[test]
    fn watch_of_objects_is_stale_with_its_crd() {
        let (health, stale) = WatchHealth::new(TIMEOUT);
        let (mut objects, mut crd) = (health.of_objects(KIND), health.of_crd(KIND));
        objects.recovered();
        crd.failed("forbidden".to_owned(), Instant::now());
        objects.recovered();
        assert_eq!(why(&stale).as_deref(), Some("forbidden"));
    }
}
