//! Watches of a preflight run.

use std::collections::VecDeque;
use std::sync::Arc;

use fairway_watch::WatchMonitors;
use futures::{Stream, StreamExt as _};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client, ResourceExt as _};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use super::Objects;
use super::reflector::Reflectors;

/// Maximum number of events of a run's Pods. Repeated failures of a Pod are one event with a count, so
/// this is enough for several Pods with several causes.
const MAX_EVENTS: usize = 64;

/// Latest state of a run's objects. Dropping the value ends the watches.
pub(crate) struct PreflightWatches {
    pub(crate) deployments: watch::Receiver<Option<Objects<Deployment>>>,
    pub(crate) pods: watch::Receiver<Option<Objects<Pod>>>,
    /// The latest warnings about Pods of the Deployment.
    pub(crate) events: watch::Receiver<Vec<Arc<Event>>>,
}

impl PreflightWatches {
    /// Watches the objects with these labels, and events of the Pods of a Deployment.
    pub(crate) fn open(client: &Client, namespace: &str, labels: &str, deployment: &str) -> Self {
        // Not published: the run has a timeout of its own.
        let monitors = WatchMonitors::default();
        let follow = Reflectors::new(client.clone(), TaskTracker::new(), monitors);
        let labelled = watcher::Config::default().labels(labels);
        let deployments = |client| Api::namespaced(client, namespace);
        let pods = |client| Api::namespaced(client, namespace);
        let events = Api::<Event>::namespaced(client.clone(), namespace);
        let warnings = watcher::Config::default().fields("involvedObject.kind=Pod,type=Warning");
        let (sender, receiver) = watch::channel(Vec::new());
        let recent = RecentEvents::new(deployment);
        follow.tasks().spawn(publish(watcher(events, warnings).default_backoff(), recent, sender));
        Self {
            deployments: follow.objects("deployments", deployments, labelled.clone()),
            pods: follow.objects("pods", pods, labelled),
            events: receiver,
        }
    }

    /// Waits for a change.
    pub(crate) async fn changed(&mut self) {
        // The watches hold their senders until all receivers are gone, so this never fails.
        let _ = tokio::select! {
            changed = self.deployments.changed() => changed,
            changed = self.pods.changed() => changed,
            changed = self.events.changed() => changed,
        };
    }
}

/// The latest events about Pods of a Deployment, within a limit. Events of other objects of the
/// namespace, which may be many, are not stored.
struct RecentEvents {
    /// Start of the names of its Pods.
    prefix: String,
    /// The latest event is the last one.
    events: VecDeque<Arc<Event>>,
}

impl RecentEvents {
    fn new(deployment: &str) -> Self {
        Self { prefix: format!("{deployment}-"), events: VecDeque::new() }
    }

    /// Adds an event, or replaces its previous version. Returns whether it is about a Pod of the
    /// Deployment.
    fn add(&mut self, event: Event) -> bool {
        let pod = event.involved_object.name.as_deref().unwrap_or_default();
        if !pod.starts_with(&self.prefix) {
            return false;
        }
        self.remove(&event);
        if self.events.len() >= MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(Arc::new(event));
        true
    }

    /// Removes an event. Returns whether it was stored.
    fn remove(&mut self, event: &Event) -> bool {
        let (before, name) = (self.events.len(), event.name_any());
        self.events.retain(|stored| stored.name_any() != name);
        self.events.len() < before
    }
}

/// Publishes the events of a watch, until the last receiver is dropped. The events of a new list are
/// added to the known ones: expired events still name the cause of an error.
async fn publish(
    events: impl Stream<Item = watcher::Result<watcher::Event<Event>>>,
    mut recent: RecentEvents,
    sender: watch::Sender<Vec<Arc<Event>>>,
) {
    let mut events = std::pin::pin!(events);
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = sender.closed() => return,
        };
        let is_changed = match event {
            None => return,
            Some(Err(error)) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(kind = "events", error, "watch failed; retrying");
                false
            }
            Some(Ok(watcher::Event::Init | watcher::Event::InitDone)) => false,
            Some(Ok(watcher::Event::InitApply(event) | watcher::Event::Apply(event))) => {
                recent.add(event)
            }
            Some(Ok(watcher::Event::Delete(event))) => recent.remove(&event),
        };
        if is_changed {
            sender.send_replace(recent.events.iter().cloned().collect());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::stream;
    use serde_json::json;

    use super::*;

    fn event(name: &str, pod: &str) -> Event {
        let object = json!({"kind": "Pod", "name": pod});
        let event = json!({"metadata": {"name": name}, "involvedObject": object});
        serde_json::from_value(event).unwrap()
    }

    fn names(recent: &RecentEvents) -> Vec<String> {
        recent.events.iter().map(|event| event.name_any()).collect()
    }

    #[test]
    fn add_keeps_the_latest_events_of_own_pods() {
        let mut recent = RecentEvents::new("preflight");
        assert!(!recent.add(event("other", "dns-1")));
        for number in 0..10_000 {
            assert!(recent.add(event(&format!("e{number}"), "preflight-1")));
        }
        assert_eq!(recent.events.len(), MAX_EVENTS);
        assert_eq!(names(&recent).last().map(String::as_str), Some("e9999"));
    }

    #[test]
    fn add_of_known_event_replaces_it() {
        let mut recent = RecentEvents::new("preflight");
        for name in ["a", "b", "a"] {
            recent.add(event(name, "preflight-1"));
        }
        assert_eq!(names(&recent), ["b", "a"]);
        assert!(recent.remove(&event("b", "preflight-1")));
        assert!(!recent.remove(&event("b", "preflight-1")));
        assert_eq!(names(&recent), ["a"]);
    }

    #[tokio::test]
    async fn publish_of_foreign_events_wakes_no_receiver() {
        let (sender, mut receiver) = watch::channel(Vec::new());
        let storm = (0..10_000).map(|number| event(&format!("e{number}"), "dns-1"));
        let own = [event("own", "preflight-1")];
        // Counted in one task: the order of accesses is that of the test.
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let events = storm.chain(own).map(|event| Ok(watcher::Event::Apply(event)));
        let events = stream::iter(events).inspect(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        publish(events, RecentEvents::new("preflight"), sender).await;
        assert_eq!(count.load(Ordering::Relaxed), 10_001);
        assert_eq!(receiver.borrow_and_update().len(), 1);
    }
}
