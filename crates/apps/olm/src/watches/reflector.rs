//! Reflectors: list and watch a kind, and publish the state that its events add up to.

use std::sync::Arc;

use futures::{Stream, StreamExt as _};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::TaskTracker;

use super::health::{WatchHealth, WatchMonitor};
use super::{WatchReceiver, named};
use crate::request::watch_error;

/// Starts a reflector as a task. It ends when the last receiver is dropped.
pub(super) fn reflect<K, T, S>(
    monitor: WatchMonitor,
    watch: impl Fn() -> S + Send + 'static,
    tasks: &TaskTracker,
    add: fn(&mut T, K),
    remove: fn(&mut T, K),
) -> WatchReceiver<T>
where
    K: Send + 'static,
    T: Clone + Default + PartialEq + Send + Sync + 'static,
    S: Stream<Item = watcher::Result<Event<K>>> + Send,
{
    let (sender, receiver) = watch::channel(None);
    tasks.spawn(async move { publish(monitor, watch, &sender, add, remove).await });
    receiver
}

/// Publishes the state that events add up to, until the last receiver is dropped.
async fn publish<K, T: Clone + Default + PartialEq, S>(
    mut monitor: WatchMonitor,
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
        let restart_at = monitor.restart_at();
        let event = tokio::select! {
            event = events.next() => event,
            () = sleep_until(restart_at.unwrap_or_else(Instant::now)), if restart_at.is_some() => {
                monitor.restarted(Instant::now());
                events = Box::pin(watch());
                continue;
            }
            () = sender.closed() => return,
        };
        match event {
            None => return,
            Some(Err(error)) => {
                monitor.failed(watch_error(&error), Instant::now());
                let error = &error as &dyn std::error::Error;
                tracing::warn!(kind = monitor.kind(), error, "watch failed; retrying");
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
        // Last, so that a receiver of the recovery finds the new state.
        monitor.recovered();
    }
}

/// Starts a reflector for a kind that the cluster may not serve. Watching its CRD avoids retries of
/// a kind that the API server does not serve.
pub(super) fn reflect_optional<K, T, S>(
    client: &Client,
    crd: &'static str,
    health: &WatchHealth,
    tasks: &TaskTracker,
    watch: impl Fn() -> S + Send + Sync + 'static,
    add: fn(&mut T, K),
    remove: fn(&mut T, K),
) -> WatchReceiver<T>
where
    K: Send + 'static,
    T: Clone + Default + PartialEq + Send + Sync + 'static,
    S: Stream<Item = watcher::Result<Event<K>>> + Send,
{
    let api = Api::<PartialObjectMeta<CustomResourceDefinition>>::all(client.clone());
    let mut defined: WatchReceiver<bool> = reflect(
        health.of_crd(crd),
        move || watcher(api.clone(), named(crd)).default_backoff(),
        tasks,
        |defined, _| *defined = true,
        |defined, _| *defined = false,
    );
    let (sender, receiver) = watch::channel(None);
    let health = health.clone();
    tasks.spawn(async move {
        let is = |seen: &Option<Arc<bool>>, there: bool| seen.as_deref() == Some(&there);
        loop {
            let there = match defined.wait_for(Option::is_some).await {
                Ok(seen) => is(&seen, true),
                Err(_) => return,
            };
            if there {
                let monitor = health.of_objects(crd);
                tokio::select! {
                    () = publish(monitor, &watch, &sender, add, remove) => return,
                    gone = defined.wait_for(|seen| is(seen, false)) => if gone.is_err() { return },
                }
            } else {
                sender.send_replace(Some(Arc::default()));
                tokio::select! {
                    () = sender.closed() => return,
                    changed = defined.changed() => if changed.is_err() { return },
                }
            }
        }
    });
    receiver
}
