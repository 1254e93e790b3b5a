//! Telling that kept objects changed.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use fairway_release::ObjectId;
use tokio::sync::Notify;

/// Objects that changed or vanished since they were last asked for, each once.
pub struct Changes(Arc<Pending>);

impl Changes {
    /// Waits until something has changed, and says what.
    pub async fn next(&mut self) -> BTreeSet<ObjectId> {
        loop {
            let noticed = self.0.noticed.notified();
            let changed = std::mem::take(&mut *self.0.lock());
            if !changed.is_empty() {
                return changed;
            }
            noticed.await;
        }
    }
}

#[derive(Default)]
struct Pending {
    changed: Mutex<BTreeSet<ObjectId>>,
    noticed: Notify,
}

impl Pending {
    /// No code of others runs under the lock, so a poisoned one guards whole values.
    fn lock(&self) -> MutexGuard<'_, BTreeSet<ObjectId>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever wants to know.
#[derive(Clone, Default)]
pub(super) struct Listeners(Arc<Mutex<Vec<Weak<Pending>>>>);

impl Listeners {
    pub(super) fn listen(&self) -> Changes {
        let pending = Arc::new(Pending::default());
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| listener.strong_count() > 0);
        listeners.push(Arc::downgrade(&pending));
        Changes(pending)
    }

    pub(super) fn tell(&self, changed: &[ObjectId]) {
        if changed.is_empty() {
            return;
        }
        let listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for listener in listeners.iter().filter_map(Weak::upgrade) {
            listener.lock().extend(changed.iter().cloned());
            listener.noticed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn id(name: &str) -> ObjectId {
        ObjectId { name: name.to_owned(), ..ObjectId::default() }
    }

    #[tokio::test]
    async fn everybody_hears_of_everything_once() {
        let listeners = Listeners::default();
        let (mut one, mut other) = (listeners.listen(), listeners.listen());
        listeners.tell(&[id("a"), id("b")]);
        listeners.tell(&[id("a")]);
        assert_eq!(one.next().await, BTreeSet::from([id("a"), id("b")]));
        listeners.tell(&[id("c")]);
        assert_eq!(one.next().await, BTreeSet::from([id("c")]));
        assert_eq!(other.next().await, BTreeSet::from([id("a"), id("b"), id("c")]));
        assert!(one.next().now_or_never().is_none(), "there is nothing new");
    }
}
