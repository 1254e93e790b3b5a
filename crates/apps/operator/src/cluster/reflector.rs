//! Reflectors: list and watch a kind, and publish its objects.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use fairway_watch::{WatchMonitor, WatchMonitors};
use futures::{Stream, StreamExt as _};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::DynamicObject;
use kube::discovery::ApiResource;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::{sync, text};

/// Objects by name. All are in one namespace, or cluster-scoped.
pub type Objects<K> = Arc<BTreeMap<String, Arc<K>>>;

/// Spawns reflectors as tasks, and monitors their watches.
#[derive(Clone)]
pub(super) struct Reflectors {
    client: Client,
    tasks: TaskTracker,
    monitors: WatchMonitors,
}

impl Reflectors {
    pub(super) fn new(client: Client, tasks: TaskTracker, monitors: WatchMonitors) -> Self {
        Self { client, tasks, monitors }
    }

    pub(super) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// Starts a reflector for a kind that every cluster has. `name` identifies the watch.
    pub(super) fn objects<K>(
        &self,
        name: &str,
        api: impl FnOnce(Client) -> Api<K>,
        config: watcher::Config,
    ) -> watch::Receiver<Option<Objects<K>>>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    {
        let (sender, receiver) = watch::channel(None);
        let monitor = self.monitors.monitor(name);
        let api = api(monitor.observe(&self.client));
        self.tasks.spawn(async move {
            publish(&monitor, watcher(api, config).default_backoff(), &sender).await;
        });
        receiver
    }

    /// Starts a reflector for a kind that the cluster may not serve, and publishes a value that is
    /// read from its objects. Without the CRD, the value is read from no objects. Watching the CRD
    /// avoids retries of a kind that the API server does not serve.
    pub(super) fn optional<T: PartialEq + Send + Sync + 'static>(
        &self,
        name: &str,
        resource: ApiResource,
        config: watcher::Config,
        read: fn(&Objects<DynamicObject>) -> T,
    ) -> watch::Receiver<Option<T>> {
        let crd = format!("{}.{}", resource.plural, resource.group);
        let crds = self.objects(
            &format!("customresourcedefinitions/{crd}"),
            Api::<CustomResourceDefinition>::all,
            watcher::Config::default().fields(&format!("metadata.name={crd}")),
        );
        let (objects_out, mut objects) = watch::channel(None);
        let (reflectors, name) = (self.clone(), name.to_owned());
        self.tasks.spawn(async move {
            let watch = OptionalWatch { name, resource, config };
            reflectors.publish_while_established(crds, &watch, &objects_out).await;
        });
        let (sender, receiver) = watch::channel(None);
        self.tasks.spawn(async move {
            loop {
                let value = objects.borrow_and_update().as_ref().map(read);
                sync::publish(&sender, value);
                tokio::select! {
                    changed = objects.changed() => if changed.is_err() { return },
                    () = sender.closed() => return,
                }
            }
        });
        receiver
    }
}

/// A watch of a kind that the cluster may not serve.
struct OptionalWatch {
    name: String,
    resource: ApiResource,
    config: watcher::Config,
}

impl Reflectors {
    /// Publishes the objects of a kind while its CRD is established, and none otherwise.
    async fn publish_while_established(
        &self,
        mut crds: watch::Receiver<Option<Objects<CustomResourceDefinition>>>,
        watch: &OptionalWatch,
        sender: &watch::Sender<Option<Objects<DynamicObject>>>,
    ) {
        loop {
            let Ok(established) =
                crds.wait_for(Option::is_some).await.map(|seen| is_established(seen.as_ref()))
            else {
                return;
            };
            if established {
                let monitor = self.monitors.monitor(&watch.name);
                let client = monitor.observe(&self.client);
                let api = Api::<DynamicObject>::all_with(client, &watch.resource);
                let events = watcher(api, watch.config.clone()).default_backoff();
                tokio::select! {
                    () = publish(&monitor, events, sender) => return,
                    changed = crds.wait_for(|seen| !is_established(seen.as_ref())) => {
                        if changed.is_err() { return; }
                    }
                }
            } else {
                sender.send_replace(Some(Arc::default()));
                tokio::select! {
                    () = sender.closed() => return,
                    changed = crds.changed() => if changed.is_err() { return; },
                }
            }
        }
    }
}

/// Whether the API server serves the kind of the CRD.
fn is_established(seen: Option<&Objects<CustomResourceDefinition>>) -> bool {
    let crds = seen.into_iter().flat_map(|seen| seen.values());
    let mut conditions = crds.filter_map(|crd| crd.status.as_ref()?.conditions.as_ref()).flatten();
    conditions.any(|condition| condition.type_ == "Established" && condition.status == "True")
}

/// Publishes the state that watch events add up to, until the last receiver is dropped.
async fn publish<K: Resource + Clone>(
    monitor: &WatchMonitor,
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
                let error = &error as &dyn std::error::Error;
                tracing::warn!(watch = monitor.name(), error, "watch failed; retrying");
                monitor.failed(text::cause(error));
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
        // Last, so that a receiver of the recovery finds the new state.
        monitor.updated();
    }
}

/// Whether two states have the same revisions of the same objects. The list after a failed watch
/// mostly repeats the known state, and receivers must not be woken for it.
fn same<K: Resource>(one: &BTreeMap<String, Arc<K>>, other: &BTreeMap<String, Arc<K>>) -> bool {
    let revision = |object: &Arc<K>| (object.uid(), object.resource_version());
    one.len() == other.len()
        && one.iter().zip(other).all(|((name, object), (other_name, other))| {
            name == other_name && revision(object) == revision(other)
        })
}
