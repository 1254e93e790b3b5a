//! Following objects: a list, then what changes.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use futures::{Stream, StreamExt as _};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

/// Objects by name. They are in one namespace, or in none.
pub type Objects<K> = Arc<BTreeMap<String, Arc<K>>>;

/// What follows objects, and where its tasks go.
#[derive(Clone)]
pub(super) struct Following {
    tasks: TaskTracker,
}

impl Following {
    pub(super) fn new(tasks: TaskTracker) -> Self {
        Self { tasks }
    }

    pub(super) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// Follows the objects that a watch sees.
    pub(super) fn objects<K>(
        &self,
        api: Api<K>,
        config: watcher::Config,
    ) -> watch::Receiver<Option<Objects<K>>>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    {
        let (sender, receiver) = watch::channel(None);
        let kind = K::plural(&());
        self.tasks.spawn(async move {
            publish(&kind, watcher(api, config).default_backoff(), &sender).await;
        });
        receiver
    }
}

/// Publishes what events add up to, until nobody looks any more.
pub(super) async fn publish<K: Resource + Clone>(
    kind: &str,
    events: impl Stream<Item = watcher::Result<Event<K>>>,
    sender: &watch::Sender<Option<Objects<K>>>,
) {
    let mut listed = BTreeMap::new();
    let mut known: BTreeMap<String, Arc<K>> = BTreeMap::new();
    let mut events = std::pin::pin!(events);
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = sender.closed() => return,
        };
        match event {
            None => return,
            Some(Err(error)) => {
                tracing::warn!(
                    kind,
                    error = &error as &dyn std::error::Error,
                    "watch failed; retrying"
                );
                continue;
            }
            Some(Ok(Event::Init)) => {
                listed.clear();
                continue;
            }
            Some(Ok(Event::InitApply(object))) => {
                listed.insert(object.name_any(), Arc::new(object));
                continue;
            }
            Some(Ok(Event::InitDone)) => known = std::mem::take(&mut listed),
            Some(Ok(Event::Apply(object))) => {
                known.insert(object.name_any(), Arc::new(object));
            }
            Some(Ok(Event::Delete(object))) => {
                known.remove(&object.name_any());
            }
        }
        sender.send_if_modified(|published| {
            if published.as_ref().is_some_and(|published| same(published, &known)) {
                return false;
            }
            *published = Some(Arc::new(known.clone()));
            true
        });
    }
}

/// Whether two states have the same revisions of the same objects: a list after a broken watch
/// mostly repeats what is known.
fn same<K: Resource>(one: &BTreeMap<String, Arc<K>>, other: &BTreeMap<String, Arc<K>>) -> bool {
    let revision = |object: &Arc<K>| (object.uid(), object.resource_version());
    one.len() == other.len()
        && one.iter().zip(other).all(|((name, object), (other_name, other))| {
            name == other_name && revision(object) == revision(other)
        })
}
