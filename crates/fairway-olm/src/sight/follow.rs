//! Following objects: a list, then what changes.

use std::sync::Arc;

use futures::{Stream, StreamExt as _};
use kube::runtime::watcher::{self, Event};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use super::Seen;

/// Publishes what events add up to, on a task of its own, until nobody looks any more.
pub(super) fn follow<K, T>(
    kind: &'static str,
    events: impl Stream<Item = watcher::Result<Event<K>>> + Send + 'static,
    tasks: &TaskTracker,
    add: fn(&mut T, K),
    remove: fn(&mut T, K),
) -> Seen<T>
where
    K: Send + 'static,
    T: Clone + Default + PartialEq + Send + Sync + 'static,
{
    let (sender, receiver) = watch::channel(None);
    tasks.spawn(async move { publish(kind, events, &sender, add, remove).await });
    receiver
}

/// Publishes what events add up to, until nobody looks any more.
pub(super) async fn publish<K, T: Clone + Default + PartialEq>(
    kind: &str,
    events: impl Stream<Item = watcher::Result<Event<K>>>,
    sender: &watch::Sender<Option<Arc<T>>>,
    add: fn(&mut T, K),
    remove: fn(&mut T, K),
) {
    let (mut listed, mut known) = (T::default(), T::default());
    let mut events = std::pin::pin!(events);
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = sender.closed() => return,
        };
        match event {
            None => return,
            Some(Err(error)) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(kind, error, "cannot watch; trying again");
                continue;
            }
            Some(Ok(Event::Init)) => {
                listed = T::default();
                continue;
            }
            Some(Ok(Event::InitApply(object))) => {
                add(&mut listed, object);
                continue;
            }
            Some(Ok(Event::InitDone)) => known = std::mem::take(&mut listed),
            Some(Ok(Event::Apply(object))) => add(&mut known, object),
            Some(Ok(Event::Delete(object))) => remove(&mut known, object),
        }
        sender.send_if_modified(|published| {
            if published.as_ref().is_some_and(|published| **published == known) {
                return false;
            }
            *published = Some(Arc::new(known.clone()));
            true
        });
    }
}
