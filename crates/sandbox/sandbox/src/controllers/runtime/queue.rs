//! Workqueue with delays and backoff.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fairway_backoff::Backoff;
use tokio::time::Instant;

/// The delay after failures. The first is long enough for other writers to finish; the longest is
/// short enough to notice a repair while a user is still watching.
pub(super) const RETRY_BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(5), max: Duration::from_secs(30) };

/// A queue of unique keys, each with the time when it is due.
#[derive(Debug)]
pub(in crate::controllers) struct Queue<K> {
    by_time: BTreeSet<(Instant, K)>,
    times: BTreeMap<K, Instant>,
    failures: BTreeMap<K, u32>,
}

impl<K: Ord + Clone> Default for Queue<K> {
    fn default() -> Self {
        Self { by_time: BTreeSet::new(), times: BTreeMap::new(), failures: BTreeMap::new() }
    }
}

impl<K: Ord + Clone> Queue<K> {
    /// Enqueues a key; an earlier due time of the same key wins.
    pub(in crate::controllers) fn add(&mut self, key: K, at: Instant) {
        if let Some(&earlier) = self.times.get(&key) {
            if earlier <= at {
                return;
            }
            self.by_time.remove(&(earlier, key.clone()));
        }
        self.times.insert(key.clone(), at);
        self.by_time.insert((at, key));
    }

    /// When the next key is due.
    pub(in crate::controllers) fn next_due(&self) -> Option<Instant> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Takes a key that is due.
    pub(in crate::controllers) fn take(&mut self, now: Instant) -> Option<K> {
        if self.next_due()? > now {
            return None;
        }
        let (_, key) = self.by_time.pop_first()?;
        self.times.remove(&key);
        Some(key)
    }

    /// Enqueues a failed key with exponential backoff.
    pub(in crate::controllers) fn failed(&mut self, key: K, now: Instant) {
        let failures = self.failures.entry(key.clone()).or_default();
        *failures = failures.saturating_add(1);
        let pause = RETRY_BACKOFF.after(*failures);
        self.add(key, now + pause);
    }

    /// Resets the backoff of a key.
    pub(in crate::controllers) fn succeeded(&mut self, key: &K) {
        self.failures.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(queue: &mut Queue<&'static str>, now: Instant) -> Vec<&'static str> {
        std::iter::from_fn(|| queue.take(now)).collect()
    }

    #[tokio::test]
    async fn queue_keeps_earliest_time_of_a_key() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut queue = Queue::default();
        for (key, seconds) in [("a", 5), ("b", 3), ("a", 2), ("b", 9), ("c", 1)] {
            queue.add(key, at(seconds));
        }
        assert_eq!(queue.next_due(), Some(at(1)));
        assert_eq!(drain(&mut queue, at(0)), [] as [&str; 0]);
        assert_eq!(drain(&mut queue, at(2)), ["c", "a"]);
        assert_eq!(drain(&mut queue, at(9)), ["b"]);
        assert_eq!(queue.next_due(), None);
    }

    #[tokio::test]
    async fn queue_backs_off_until_success() {
        let now = Instant::now();
        let mut queue = Queue::default();
        let mut pause = || {
            queue.failed("a", now);
            let delay = queue.next_due().unwrap() - now;
            queue.take(now + delay);
            delay
        };
        let first: Vec<_> = (0..4).map(|_| pause().as_millis()).collect();
        assert_eq!(first, [5, 10, 20, 40]);
        for _ in 0..100 {
            pause();
        }
        assert_eq!(pause(), RETRY_BACKOFF.max);
        queue.succeeded(&"a");
        queue.failed("a", now);
        assert_eq!(queue.next_due(), Some(now + RETRY_BACKOFF.first));
    }
}
