//! Cache of the managed objects of one kind, and the subscriptions to their changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use fairway_apply::{MANAGED, REQUEST_TIMEOUT, WriteError};
use fairway_release::ObjectId;
use futures::{Stream, StreamExt as _};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt as _};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use super::discovery::Kind;
use super::error::{ApplyError, is_gone};
use super::live_object::LiveObject;
use super::server_defaults::ServerDefaults;
use crate::sync::lock;

/// Page size of lists. A CRD has up to some 100 KiB, and as much again in `managedFields`; a page is
/// held in memory.
const PAGE_SIZE: u32 = 25;

/// Namespace (empty for cluster-scoped kinds) and name of an object.
pub(super) type Key = (String, String);

/// Cache of the managed objects of one kind, kept in sync by a watch.
pub(super) struct KindCache {
    state: Mutex<State>,
    sync_state: watch::Sender<CacheState>,
    listeners: ChangeListeners,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<Key, LiveObject>,
    /// Objects of a list that is not complete yet.
    listed: BTreeMap<Key, LiveObject>,
    /// Responses of writes since that list began; `None` if no list is in progress. The list may be
    /// older than they are.
    written: Option<BTreeMap<Key, LiveObject>>,
    /// Identities of the objects whose changes are published.
    managed: BTreeMap<Key, ObjectId>,
    /// Objects that the API server changes with every write.
    server_defaults: BTreeMap<Key, ServerDefaults>,
}

/// State of the cache.
#[derive(Clone, Default)]
enum CacheState {
    #[default]
    Unsynced,
    Failed(String),
    Synced,
    Ended,
}

/// How a watch gets the initial list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lists {
    /// The watch sends it first (KEP-3157).
    Streamed,
    /// By a list request.
    Requested,
}

/// Why a watch ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The API server does not serve the kind.
    Gone,
    /// The API server does not stream lists.
    NoStreaming,
}

impl KindCache {
    pub(super) fn new(listeners: ChangeListeners) -> Self {
        Self { state: Mutex::default(), sync_state: watch::Sender::default(), listeners }
    }

    /// Creates a cache of a kind without objects, which needs no initial list.
    pub(super) fn new_empty(listeners: ChangeListeners) -> Self {
        Self { sync_state: watch::Sender::new(CacheState::Synced), ..Self::new(listeners) }
    }

    /// Watches the kind while the API server serves it. Streamed lists save a request; old API
    /// servers need a list request. `streams_lists` is a hint, so relaxed ordering is enough.
    pub(super) async fn follow(&self, client: Client, kind: &Kind, streams_lists: &AtomicBool) {
        let api: Api<LiveObject> = Api::all_with(client, &kind.resource);
        let (label, value) = MANAGED;
        let listing =
            watcher::Config::default().labels(&format!("{label}={value}")).page_size(PAGE_SIZE);
        let name = &kind.resource.kind;
        if streams_lists.load(Ordering::Relaxed) {
            let streaming = listing.clone().streaming_lists();
            let events = watcher(api.clone(), streaming).default_backoff();
            match self.apply_event(name, Lists::Streamed, events).await {
                End::Gone => return,
                End::NoStreaming => streams_lists.store(false, Ordering::Relaxed),
            }
        }
        self.apply_event(name, Lists::Requested, watcher(api, listing).default_backoff()).await;
    }

    /// Processes events until the watch ends.
    async fn apply_event(
        &self,
        kind: &str,
        lists: Lists,
        events: impl Stream<Item = watcher::Result<Event<LiveObject>>>,
    ) -> End {
        let mut events = std::pin::pin!(events);
        let mut is_listed = false;
        while let Some(event) = events.next().await {
            is_listed |= matches!(event, Ok(Event::InitDone));
            match event {
                Err(error) if is_gone(&error) => {
                    tracing::info!(kind, "kind no longer served; watch ended");
                    return End::Gone;
                }
                // Old API servers reject the parameters; new ones with an old etcd fail.
                Err(_) if lists == Lists::Streamed && !is_listed => return End::NoStreaming,
                Ok(event) => {
                    let changed = lock(&self.state).apply_event(event);
                    if let Some(changed) = changed {
                        self.sync_state.send_if_modified(|sync_state| {
                            let first = !matches!(sync_state, CacheState::Synced);
                            *sync_state = CacheState::Synced;
                            first
                        });
                        self.listeners.notify(&changed);
                    }
                }
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(kind, error, "watch failed; retrying");
                    self.sync_state.send_if_modified(|sync_state| {
                        let unsynced = !matches!(sync_state, CacheState::Synced);
                        if unsynced {
                            *sync_state = CacheState::Failed(crate::text::cause(error));
                        }
                        unsynced
                    });
                }
            }
        }
        End::Gone
    }

    /// Ends the cache and publishes all objects as changed, so that their kind is looked up again.
    pub(super) fn end(&self) {
        self.sync_state.send_replace(CacheState::Ended);
        let State { managed, .. } = std::mem::take(&mut *lock(&self.state));
        self.listeners.notify(&managed.into_values().collect::<Vec<_>>());
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(*self.sync_state.borrow(), CacheState::Ended)
    }

    /// Waits until the initial list is complete.
    pub(super) async fn synced(&self) -> Result<(), ApplyError> {
        let mut sync_state = self.sync_state.subscribe();
        let looked = sync_state.wait_for(|sync_state| !matches!(sync_state, CacheState::Unsynced));
        match timeout(REQUEST_TIMEOUT, looked).await {
            Ok(Ok(sync_state)) => match &*sync_state {
                CacheState::Failed(why) => Err(ApplyError::Unwatched(why.clone())),
                CacheState::Ended => Err(ApplyError::Unwatched(
                    "the API server no longer serves this kind".to_owned(),
                )),
                CacheState::Synced | CacheState::Unsynced => Ok(()),
            },
            Ok(Err(_)) | Err(_) => Err(WriteError::NoAnswer.into()),
        }
    }

    /// Publishes changes of an object from now on.
    pub(super) fn manage(&self, key: Key, id: ObjectId) {
        lock(&self.state).managed.insert(key, id);
    }

    pub(super) fn live(&self, key: &Key) -> Option<LiveObject> {
        lock(&self.state).objects.get(key).cloned()
    }

    /// Whether the API server makes the same changes to the same desired object as before.
    pub(super) fn has_server_defaults(&self, key: &Key, server_defaults: &ServerDefaults) -> bool {
        lock(&self.state).server_defaults.get(key) == Some(server_defaults)
    }

    /// Records the changes of the API server to a desired object; `None` if it made none.
    pub(super) fn set_server_defaults(&self, key: Key, server_defaults: Option<ServerDefaults>) {
        let mut state = lock(&self.state);
        match server_defaults {
            Some(server_defaults) => state.server_defaults.insert(key, server_defaults),
            None => state.server_defaults.remove(&key),
        };
    }

    /// Stores the response of a write, so that the event of the watch is no change. The watch may
    /// already have a later state, or the object that replaced it.
    pub(super) fn store(&self, key: Key, live: LiveObject) {
        let mut state = lock(&self.state);
        if state.objects.get(&key).is_some_and(|known| live.has_lower_version_than(known)) {
            return;
        }
        if let Some(written) = &mut state.written {
            written.insert(key.clone(), live.clone());
        }
        state.objects.insert(key, live);
    }
}

impl State {
    /// Applies an event; returns the changed objects, or `None` while a list is not complete.
    fn apply_event(&mut self, event: Event<LiveObject>) -> Option<Vec<ObjectId>> {
        match event {
            Event::Init => {
                self.listed.clear();
                self.written = Some(BTreeMap::new());
                None
            }
            Event::InitApply(live) => {
                self.listed.insert(key(&live), live);
                None
            }
            Event::InitDone => Some(self.replace()),
            Event::Apply(live) => Some(self.insert(key(&live), live)),
            Event::Delete(live) => Some(self.remove(&key(&live), &live)),
        }
    }

    fn insert(&mut self, key: Key, live: LiveObject) -> Vec<ObjectId> {
        let known = self.objects.get(&key);
        if known.is_some_and(|known| live.is_older_than(known) || live.is_same_as(known)) {
            return Vec::new();
        }
        let changed = self.managed.get(&key).cloned();
        self.objects.insert(key, live);
        changed.into_iter().collect()
    }

    fn remove(&mut self, key: &Key, last: &LiveObject) -> Vec<ObjectId> {
        if self.objects.get(key).is_some_and(|known| last.is_older_than(known)) {
            return Vec::new();
        }
        let changed = self.objects.remove(key).and_then(|_| self.managed.get(key).cloned());
        changed.into_iter().collect()
    }

    /// Replaces the objects by a complete list, also by older ones: after a restore of etcd, all
    /// `resourceVersions` are lower, and numbers are used a second time for other contents. Only
    /// responses of writes during the list are compared with it.
    fn replace(&mut self) -> Vec<ObjectId> {
        let mut listed = std::mem::take(&mut self.listed);
        for (key, written) in self.written.take().unwrap_or_default() {
            if listed.get(&key).is_some_and(|live| live.is_older_than(&written)) {
                listed.insert(key, written);
            }
        }
        let before = std::mem::replace(&mut self.objects, listed);
        let gone = before.keys().filter(|key| !self.objects.contains_key(*key));
        let changed = self.objects.iter().filter(|(key, live)| {
            before.get(*key).is_none_or(|known| !live.has_same_content_as(known))
        });
        let changed = gone.chain(changed.map(|(key, _)| key));
        changed.filter_map(|key| self.managed.get(key)).cloned().collect()
    }
}

fn key(live: &LiveObject) -> Key {
    (live.namespace().unwrap_or_default(), live.name_any())
}

/// Changed or deleted managed objects since the last call, each once.
pub struct Changes(Arc<PendingChanges>);

impl Changes {
    /// Waits until at least one object has changed.
    pub async fn next(&mut self) -> BTreeSet<ObjectId> {
        loop {
            // Created before the check, so that a change after the check still wakes it.
            let noticed = self.0.noticed.notified();
            let changed = std::mem::take(&mut *lock(&self.0.changed));
            if !changed.is_empty() {
                return changed;
            }
            noticed.await;
        }
    }
}

#[derive(Default)]
struct PendingChanges {
    changed: Mutex<BTreeSet<ObjectId>>,
    noticed: Notify,
}

/// Subscribers of changes. A dropped subscriber is removed by the next subscription.
#[derive(Clone, Default)]
pub(super) struct ChangeListeners(Arc<Mutex<Vec<Weak<PendingChanges>>>>);

impl ChangeListeners {
    pub(super) fn subscribe(&self) -> Changes {
        let pending = Arc::new(PendingChanges::default());
        let mut listeners = lock(&self.0);
        listeners.retain(|listener| listener.strong_count() > 0);
        listeners.push(Arc::downgrade(&pending));
        Changes(pending)
    }

    pub(super) fn notify(&self, changed: &[ObjectId]) {
        if changed.is_empty() {
            return;
        }
        let listeners = lock(&self.0);
        for listener in listeners.iter().filter_map(Weak::upgrade) {
            lock(&listener.changed).extend(changed.iter().cloned());
            listener.noticed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use serde_json::json;

    use super::*;

    fn live(name: &str, version: u64) -> LiveObject {
        let version = version.to_string();
        LiveObject::pack(json!({"metadata": {"name": name, "resourceVersion": version}}))
    }

    fn id(name: &str) -> ObjectId {
        ObjectId { name: name.to_owned(), ..ObjectId::default() }
    }

    /// Objects `a` and `b` are managed and cached at versions 10 and 11.
    fn state() -> State {
        let mut state = State::default();
        for name in ["a", "b"] {
            state.managed.insert((String::new(), name.to_owned()), id(name));
        }
        state.apply_event(Event::Init);
        state.apply_event(Event::InitApply(live("a", 10)));
        state.apply_event(Event::InitApply(live("b", 11)));
        state.apply_event(Event::InitDone);
        state
    }

    #[test]
    fn take_in_returns_changed_managed_objects() {
        let mut state = state();
        for (event, recorded) in [
            (Event::Apply(live("a", 12)), vec![id("a")]),
            (Event::Apply(live("a", 12)), vec![]),
            (Event::Apply(live("a", 9)), vec![]),
            (Event::Apply(live("foreign", 13)), vec![]),
            (Event::Delete(live("b", 9)), vec![]),
            (Event::Delete(live("b", 14)), vec![id("b")]),
            (Event::Delete(live("b", 14)), vec![]),
            (Event::Delete(live("foreign", 15)), vec![]),
        ] {
            let shown = format!("{event:?}");
            assert_eq!(state.apply_event(event), Some(recorded), "{shown}");
        }
    }

    #[test]
    fn take_in_of_list_returns_missed_changes() {
        let mut state = state();
        assert_eq!(state.apply_event(Event::Init), None);
        assert_eq!(state.apply_event(Event::InitApply(live("a", 10))), None);
        assert_eq!(state.apply_event(Event::InitDone), Some(vec![id("b")]));
        state.apply_event(Event::Init);
        state.apply_event(Event::InitApply(live("a", 20)));
        state.apply_event(Event::InitApply(live("b", 21)));
        assert_eq!(state.apply_event(Event::InitDone), Some(vec![id("a"), id("b")]));
    }

    #[test]
    fn list_with_lower_versions_replaces_objects() {
        let mut state = state();
        let key = |name: &str| (String::new(), name.to_owned());
        // A restore of etcd: `a` is older, and `b` has its old number with another content.
        let other = json!({"metadata": {"name": "b", "resourceVersion": "11"}, "data": {"x": "y"}});
        state.apply_event(Event::Init);
        state.apply_event(Event::InitApply(live("a", 4)));
        state.apply_event(Event::InitApply(LiveObject::pack(other.clone())));
        assert_eq!(state.apply_event(Event::InitDone), Some(vec![id("a"), id("b")]));
        assert!(state.objects[&key("a")].is_same_as(&live("a", 4)));
        assert_eq!(state.objects[&key("b")].object(), other);
        // Events of the restored server count, although their numbers are lower than before.
        assert_eq!(state.apply_event(Event::Apply(live("a", 5))), Some(vec![id("a")]));
        assert_eq!(state.apply_event(Event::Delete(live("a", 6))), Some(vec![id("a")]));
    }

    #[test]
    fn list_older_than_own_write_keeps_the_write() {
        let cache = KindCache::new(ChangeListeners::default());
        let key = (String::new(), "a".to_owned());
        cache.manage(key.clone(), id("a"));
        let apply_event = |event| lock(&cache.state).apply_event(event);
        apply_event(Event::Init);
        apply_event(Event::InitApply(live("a", 5)));
        cache.store(key.clone(), live("a", 7));
        assert_eq!(apply_event(Event::InitDone), Some(vec![]));
        assert!(cache.live(&key).is_some_and(|known| known.is_same_as(&live("a", 7))));
        // The next list began after the write, and has another past.
        apply_event(Event::Init);
        apply_event(Event::InitApply(live("a", 6)));
        assert_eq!(apply_event(Event::InitDone), Some(vec![id("a")]));
        assert!(cache.live(&key).is_some_and(|known| known.is_same_as(&live("a", 6))));
    }

    #[test]
    fn events_about_another_object_of_the_same_name_are_applied() {
        let object = |uid: &str, version: &str| {
            let metadata = json!({"name": "a", "uid": uid, "resourceVersion": version});
            LiveObject::pack(json!({ "metadata": metadata }))
        };
        let mut state = state();
        state.apply_event(Event::Apply(object("lost", "30")));
        assert_eq!(state.apply_event(Event::Apply(object("new", "20"))), Some(vec![id("a")]));
        assert_eq!(state.apply_event(Event::Apply(object("new", "19"))), Some(vec![]));
    }

    #[test]
    fn take_in_after_own_write_returns_nothing() {
        let cache = KindCache::new(ChangeListeners::default());
        let key = (String::new(), "a".to_owned());
        cache.manage(key.clone(), id("a"));
        cache.store(key.clone(), live("a", 7));
        cache.store(key.clone(), live("a", 5));
        assert_eq!(lock(&cache.state).apply_event(Event::Apply(live("a", 7))), Some(vec![]));
        assert!(cache.live(&key).is_some_and(|known| known.is_same_as(&live("a", 7))));
    }

    #[tokio::test]
    async fn take_in_without_streaming_falls_back_to_list() {
        let cache = KindCache::new(ChangeListeners::default());
        let failed = || {
            let status = kube::core::Status { code: 500, ..kube::core::Status::default() };
            Err(watcher::Error::WatchError(Box::new(status)))
        };
        let apply_event = |lists, events: Vec<_>| {
            let events = futures::stream::iter(events).chain(futures::stream::pending());
            cache.apply_event("Widget", lists, events).now_or_never()
        };
        let first = || vec![Ok(Event::Init), failed()];
        assert_eq!(apply_event(Lists::Streamed, first()), Some(End::NoStreaming));
        assert_eq!(apply_event(Lists::Requested, first()), None);
        let later = vec![Ok(Event::Init), Ok(Event::InitDone), failed()];
        assert_eq!(apply_event(Lists::Streamed, later), None, "it worked before");
    }

    #[tokio::test]
    async fn end_publishes_all_objects() {
        let listeners = ChangeListeners::default();
        let mut changes = listeners.subscribe();
        let cache = KindCache::new(listeners);
        cache.manage((String::new(), "a".to_owned()), id("a"));
        let failed = |code| {
            let status = kube::core::Status { code, ..kube::core::Status::default() };
            Err(watcher::Error::InitialListFailed(kube::Error::Api(Box::new(status))))
        };
        let then =
            |last| futures::stream::iter([failed(500), last]).chain(futures::stream::pending());
        let restarts =
            cache.apply_event("Widget", Lists::Requested, then(failed(503))).now_or_never();
        assert!(restarts.is_none(), "the watch retries while the API server restarts");
        let end =
            |code| cache.apply_event("Widget", Lists::Requested, then(failed(code))).now_or_never();
        assert_eq!(end(404), Some(End::Gone));
        cache.end();
        assert_eq!(changes.next().await, [id("a")].into());
        assert!(cache.has_ended() && cache.synced().await.is_err());
    }
}

#[cfg(test)]
mod changes_tests {
    use futures::FutureExt as _;

    use super::*;

    fn id(name: &str) -> ObjectId {
        ObjectId { name: name.to_owned(), ..ObjectId::default() }
    }

    #[tokio::test]
    async fn changes_reach_every_subscriber_once() {
        let listeners = ChangeListeners::default();
        let (mut one, mut other) = (listeners.subscribe(), listeners.subscribe());
        listeners.notify(&[id("a"), id("b")]);
        listeners.notify(&[id("a")]);
        assert_eq!(one.next().await, BTreeSet::from([id("a"), id("b")]));
        listeners.notify(&[id("c")]);
        assert_eq!(one.next().await, BTreeSet::from([id("c")]));
        assert_eq!(other.next().await, BTreeSet::from([id("a"), id("b"), id("c")]));
        assert!(one.next().now_or_never().is_none());
    }
}
