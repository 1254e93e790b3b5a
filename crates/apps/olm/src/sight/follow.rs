//! Following objects: a list, then what changes.

use std::sync::Arc;

use futures::{Stream, StreamExt as _};
use kube::runtime::watcher::{self, Event};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::TaskTracker;

use super::Seen;
use super::blind::Eye;
use crate::error_text::of_watch;

/// Publishes what events add up to, on a task of its own, until nobody looks any more.
pub(super) fn follow<K, T, S>(
    eye: Eye,
    watch: impl Fn() -> S + Send + 'static,
    tasks: &TaskTracker,
    add: fn(&mut T, K),
    remove: fn(&mut T, K),
) -> Seen<T>
where
    K: Send + 'static,
    T: Clone + Default + PartialEq + Send + Sync + 'static,
    S: Stream<Item = watcher::Result<Event<K>>> + Send,
{
    let (sender, receiver) = watch::channel(None);
    tasks.spawn(async move { publish(eye, watch, &sender, add, remove).await });
    receiver
}

/// Publishes what events add up to, until nobody looks any more.
pub(super) async fn publish<K, T: Clone + Default + PartialEq, S>(
    mut eye: Eye,
    watch: impl Fn() -> S,
    sender: &watch::Sender<Option<Arc<T>>>,
    add: fn(&mut T, K),
    remove: fn(&mut T, K),
) where
    S: Stream<Item = watcher::Result<Event<K>>>,
{
    let (mut listed, mut known) = (T::default(), T::default());
    let mut events = Box::pin(watch());
    loop {
        let anew_at = eye.anew_at();
        let event = tokio::select! {
            event = events.next() => event,
            () = sleep_until(anew_at.unwrap_or_else(Instant::now)), if anew_at.is_some() => {
                eye.begins_anew(Instant::now());
                events = Box::pin(watch());
                continue;
            }
            () = sender.closed() => return,
        };
        match event {
            None => return,
            Some(Err(error)) => {
                eye.fails(of_watch(&error), Instant::now());
                let error = &error as &dyn std::error::Error;
                tracing::warn!(kind = eye.kind(), error, "watch failed; retrying");
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
        // Last, so that whoever hears of it finds what is seen.
        eye.sees();
    }
}
