//! The objects of one kind that carry the managed label: an exact cache, by one watch.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fairway_apply::{MANAGED, REQUEST_TIMEOUT, WriteError};
use fairway_release::ObjectId;
use futures::{Stream, StreamExt as _};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt as _};
use tokio::sync::watch;
use tokio::time::timeout;

use super::changes::Listeners;
use super::discovery::Kind;
use super::error::{ApplyError, is_gone};
use super::live::Live;
use super::settled::Settled;

/// Definitions may have some 100 KiB each, and as much again that says who owns what in them: a
/// page of the first list is held in memory.
const PAGE: u32 = 25;

/// Where an object is: its namespace, empty for kinds without one, and its name.
pub(super) type Key = (String, String);

/// The managed objects of one kind.
pub(super) struct Watched {
    state: Mutex<State>,
    sight: watch::Sender<Sight>,
    listeners: Listeners,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<Key, Live>,
    /// What a list has told so far.
    listed: BTreeMap<Key, Live>,
    /// Objects that are to be told of, under the name that the release has for them.
    kept: BTreeMap<Key, ObjectId>,
    /// What the server made of objects that it does not have as they are wanted.
    settled: BTreeMap<Key, Settled>,
}

/// Whether the objects were seen.
#[derive(Clone, Default)]
enum Sight {
    #[default]
    NotYet,
    Refused(String),
    Seen,
    Ended,
}

/// How a watch learns which objects there are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lists {
    /// The API server sends them first.
    Streamed,
    /// By a list request.
    Asked,
}

/// Why a watch ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The API server does not serve the kind.
    Gone,
    /// The API server does not send lists as part of a watch.
    NoStreaming,
}

impl Watched {
    pub(super) fn new(listeners: Listeners) -> Self {
        Self { state: Mutex::default(), sight: watch::Sender::default(), listeners }
    }

    /// Of a kind that has no objects yet.
    pub(super) fn of_new_kind(listeners: Listeners) -> Self {
        Self { sight: watch::Sender::new(Sight::Seen), ..Self::new(listeners) }
    }

    /// No code of others runs under the lock, so a poisoned one guards whole values.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches for as long as the API server has the kind. Its objects come with the watch where the
    /// API server streams lists, which saves a request, and from a list where it cannot.
    pub(super) async fn follow(&self, client: Client, kind: &Kind, streams_lists: &AtomicBool) {
        let api: Api<Live> = Api::all_with(client, &kind.resource);
        let (label, value) = MANAGED;
        let listing =
            watcher::Config::default().labels(&format!("{label}={value}")).page_size(PAGE);
        let name = &kind.resource.kind;
        if streams_lists.load(Ordering::Relaxed) {
            let streaming = listing.clone().streaming_lists();
            let events = watcher(api.clone(), streaming).default_backoff();
            match self.take_in(name, Lists::Streamed, events).await {
                End::Gone => return,
                End::NoStreaming => streams_lists.store(false, Ordering::Relaxed),
            }
        }
        self.take_in(name, Lists::Asked, watcher(api, listing).default_backoff()).await;
    }

    /// Takes in events until the watch cannot go on.
    async fn take_in(
        &self,
        kind: &str,
        lists: Lists,
        events: impl Stream<Item = watcher::Result<Event<Live>>>,
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
                // Old API servers find the parameters invalid; new ones with an old etcd fail.
                Err(_) if lists == Lists::Streamed && !is_listed => return End::NoStreaming,
                Ok(event) => {
                    let changed = self.state().take_in(event);
                    if let Some(changed) = changed {
                        self.sight.send_if_modified(|sight| {
                            let first = !matches!(sight, Sight::Seen);
                            *sight = Sight::Seen;
                            first
                        });
                        self.listeners.tell(&changed);
                    }
                }
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(kind, error, "watch failed; retrying");
                    self.sight.send_if_modified(|sight| {
                        let blind = !matches!(sight, Sight::Seen);
                        if blind {
                            *sight = Sight::Refused(crate::text::cause(error));
                        }
                        blind
                    });
                }
            }
        }
        End::Gone
    }

    /// Nothing is told of the objects from now on: whoever wants one looks for its kind again.
    pub(super) fn end(&self) {
        self.sight.send_replace(Sight::Ended);
        let State { kept, .. } = std::mem::take(&mut *self.state());
        self.listeners.tell(&kept.into_values().collect::<Vec<_>>());
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(*self.sight.borrow(), Sight::Ended)
    }

    /// Waits until all objects of the kind were seen.
    pub(super) async fn seen(&self) -> Result<(), ApplyError> {
        let mut sight = self.sight.subscribe();
        let looked = sight.wait_for(|sight| !matches!(sight, Sight::NotYet));
        match timeout(REQUEST_TIMEOUT, looked).await {
            Ok(Ok(sight)) => match &*sight {
                Sight::Refused(why) => Err(ApplyError::Unwatched(why.clone())),
                Sight::Ended => {
                    Err(ApplyError::Unwatched("the API server no longer serves it".to_owned()))
                }
                Sight::Seen | Sight::NotYet => Ok(()),
            },
            Ok(Err(_)) | Err(_) => Err(WriteError::NoAnswer.into()),
        }
    }

    /// Changes of that object are told from now on.
    pub(super) fn keep(&self, key: Key, id: ObjectId) {
        self.state().kept.insert(key, id);
    }

    pub(super) fn live(&self, key: &Key) -> Option<Live> {
        self.state().objects.get(key).cloned()
    }

    /// Whether the server was seen to make just this of what is wanted.
    pub(super) fn is_settled(&self, key: &Key, settled: &Settled) -> bool {
        self.state().settled.get(key) == Some(settled)
    }

    /// The server made this of what is wanted; `None` if it has it as it is wanted.
    pub(super) fn settle(&self, key: Key, settled: Option<Settled>) {
        let mut state = self.state();
        match settled {
            Some(settled) => state.settled.insert(key, settled),
            None => state.settled.remove(&key),
        };
    }

    /// The state that a write led to: the watch tells nothing new with it.
    pub(super) fn learn(&self, key: Key, live: Live) {
        let mut state = self.state();
        if !state.objects.get(&key).is_some_and(|known| live.is_older_than(known)) {
            state.objects.insert(key, live);
        }
    }
}

impl State {
    /// What has changed; nothing is known while a list is being told.
    fn take_in(&mut self, event: Event<Live>) -> Option<Vec<ObjectId>> {
        match event {
            Event::Init => {
                self.listed.clear();
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

    fn insert(&mut self, key: Key, live: Live) -> Vec<ObjectId> {
        let known = self.objects.get(&key);
        if known.is_some_and(|known| live.is_older_than(known) || live.is_same_as(known)) {
            return Vec::new();
        }
        let changed = self.kept.get(&key).cloned();
        self.objects.insert(key, live);
        changed.into_iter().collect()
    }

    fn remove(&mut self, key: &Key, last: &Live) -> Vec<ObjectId> {
        if self.objects.get(key).is_some_and(|known| last.is_older_than(known)) {
            return Vec::new();
        }
        let changed = self.objects.remove(key).and_then(|_| self.kept.get(key).cloned());
        changed.into_iter().collect()
    }

    /// What a whole list says counts, and what it does not name is gone.
    fn replace(&mut self) -> Vec<ObjectId> {
        let listed = std::mem::take(&mut self.listed);
        let gone: Vec<Key> =
            self.objects.keys().filter(|key| !listed.contains_key(*key)).cloned().collect();
        for key in &gone {
            self.objects.remove(key);
        }
        let gone: Vec<ObjectId> =
            gone.iter().filter_map(|key| self.kept.get(key)).cloned().collect();
        let changed = listed.into_iter().flat_map(|(key, live)| self.insert(key, live));
        gone.into_iter().chain(changed.collect::<Vec<_>>()).collect()
    }
}

fn key(live: &Live) -> Key {
    (live.namespace().unwrap_or_default(), live.name_any())
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use serde_json::json;

    use super::*;

    fn live(name: &str, version: u64) -> Live {
        let version = version.to_string();
        Live::pack(json!({"metadata": {"name": name, "resourceVersion": version}}))
    }

    fn id(name: &str) -> ObjectId {
        ObjectId { name: name.to_owned(), ..ObjectId::default() }
    }

    /// Objects `a` and `b` are kept and known at versions 10 and 11.
    fn state() -> State {
        let mut state = State::default();
        for name in ["a", "b"] {
            state.kept.insert((String::new(), name.to_owned()), id(name));
        }
        state.take_in(Event::Init);
        state.take_in(Event::InitApply(live("a", 10)));
        state.take_in(Event::InitApply(live("b", 11)));
        state.take_in(Event::InitDone);
        state
    }

    #[test]
    fn what_changes_or_vanishes_is_told_and_nothing_else() {
        let mut state = state();
        for (event, told) in [
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
            assert_eq!(state.take_in(event), Some(told), "{shown}");
        }
    }

    #[test]
    fn a_list_after_a_broken_watch_tells_what_was_missed() {
        let mut state = state();
        assert_eq!(state.take_in(Event::Init), None);
        assert_eq!(state.take_in(Event::InitApply(live("a", 10))), None);
        assert_eq!(state.take_in(Event::InitDone), Some(vec![id("b")]));
        state.take_in(Event::Init);
        state.take_in(Event::InitApply(live("a", 20)));
        state.take_in(Event::InitApply(live("b", 21)));
        assert_eq!(state.take_in(Event::InitDone), Some(vec![id("a"), id("b")]));
    }

    #[test]
    fn a_write_is_no_news() {
        let watched = Watched::new(Listeners::default());
        let key = (String::new(), "a".to_owned());
        watched.keep(key.clone(), id("a"));
        watched.learn(key.clone(), live("a", 7));
        watched.learn(key.clone(), live("a", 5));
        assert_eq!(watched.state().take_in(Event::Apply(live("a", 7))), Some(vec![]));
        assert!(watched.live(&key).is_some_and(|known| known.is_same_as(&live("a", 7))));
    }

    #[tokio::test]
    async fn where_lists_are_not_streamed_they_are_asked_for() {
        let watched = Watched::new(Listeners::default());
        let failed = || {
            let status = kube::core::Status { code: 500, ..kube::core::Status::default() };
            Err(watcher::Error::WatchError(Box::new(status)))
        };
        let take_in = |lists, events: Vec<_>| {
            let events = futures::stream::iter(events).chain(futures::stream::pending());
            watched.take_in("Widget", lists, events).now_or_never()
        };
        let first = || vec![Ok(Event::Init), failed()];
        assert_eq!(take_in(Lists::Streamed, first()), Some(End::NoStreaming));
        assert_eq!(take_in(Lists::Asked, first()), None);
        let later = vec![Ok(Event::Init), Ok(Event::InitDone), failed()];
        assert_eq!(take_in(Lists::Streamed, later), None, "it worked before");
    }

    #[tokio::test]
    async fn a_watch_ends_with_its_kind_and_says_so() {
        let listeners = Listeners::default();
        let mut changes = listeners.listen();
        let watched = Watched::new(listeners);
        watched.keep((String::new(), "a".to_owned()), id("a"));
        let failed = |code| {
            let status = kube::core::Status { code, ..kube::core::Status::default() };
            Err(watcher::Error::InitialListFailed(kube::Error::Api(Box::new(status))))
        };
        let then =
            |last| futures::stream::iter([failed(500), last]).chain(futures::stream::pending());
        let restarts = watched.take_in("Widget", Lists::Asked, then(failed(503))).now_or_never();
        assert!(restarts.is_none(), "an API server that restarts is waited for");
        let end = |code| watched.take_in("Widget", Lists::Asked, then(failed(code))).now_or_never();
        assert_eq!(end(404), Some(End::Gone));
        watched.end();
        assert_eq!(changes.next().await, [id("a")].into());
        assert!(watched.has_ended() && watched.seen().await.is_err());
    }
}
