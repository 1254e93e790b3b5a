//! The applier: writes the objects of manifests, with a cache of managed objects for each kind.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fairway_apply::ObjectWriter;
use fairway_release::Manifest;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::cache::{ChangeListeners, Changes};
use super::cache::{Key, KindCache};
use super::discovery::{Discovery, Kind, kind_of, served_kinds};
use super::drift_backoff::ContentionEvents;
use super::error::ApplyError;
use super::health::Health;
use super::live_object::LiveObject;
use super::new_kinds::NewKinds;
use super::prepare::{ApplyContext, Intent};
use super::prerequisites::{Prerequisite, PrerequisiteTracker};
use super::reconcile::{ApplyResult, DELETED, ObjectReconciler};
use crate::election::Leadership;
use crate::event;
use crate::sync::lock;

/// Maximum concurrent writes, so that the load on the API server does not delay other clients.
const MAX_CONCURRENT_WRITES: usize = 16;

/// Size in bytes from which a manifest is large. During a write, the operator holds the manifest and
/// the response in memory, as JSON trees that take ten times their size.
const LARGE_BYTES: usize = 32 << 10;

/// Kibibytes of large manifests in concurrent writes. A larger manifest is written alone.
const MAX_CONCURRENT_LARGE_KIB: usize = 512;

/// Delay between the first use of a new kind and its watch. API servers refuse a watch until about a
/// second after they have read the first object.
const NEW_KIND_DELAY: Duration = Duration::from_secs(5);

/// Time for which API servers delay the creation of an object after its CRD was established. Waiting
/// here keeps the write slot free for other objects.
const CREATION_DELAY: Duration = Duration::from_secs(2);

/// Applies objects of releases. Clones share all state; the watches end with the last clone.
#[derive(Clone)]
pub struct Applier(Arc<Shared>);

struct Shared {
    client: Client,
    leadership: Leadership,
    discovery: Arc<Discovery>,
    prerequisites: Arc<PrerequisiteTracker>,
    new_kinds: NewKinds,
    watches: Mutex<Watches>,
    listeners: ChangeListeners,
    /// Whether the API server streams lists (KEP-3157); set to `false` by the first watch that fails.
    streams_lists: Arc<AtomicBool>,
    contention_events: ContentionEvents,
    permits: Semaphore,
    /// Limits large manifests only, so that others never wait for them.
    large: Semaphore,
    /// Writes in progress. They continue when their caller is dropped.
    writes: TaskTracker,
}

/// Caches by kind, and the tasks of their watches.
#[derive(Default)]
struct Watches {
    of: BTreeMap<(String, String, String), Arc<KindCache>>,
    tasks: JoinSet<()>,
    /// Whether CRDs and `APIServices` are watched, which starts when a kind is missing.
    of_kinds: bool,
}

impl Applier {
    /// Creates an applier that writes while `leadership` is held.
    pub fn new(client: Client, leadership: Leadership) -> Self {
        let prerequisites = Arc::<PrerequisiteTracker>::default();
        Self(Arc::new(Shared {
            discovery: Arc::new(Discovery::new(client.clone(), Arc::clone(&prerequisites))),
            prerequisites,
            new_kinds: NewKinds::default(),
            contention_events: ContentionEvents::new(client.clone(), leadership.clone()),
            client,
            leadership,
            watches: Mutex::default(),
            streams_lists: Arc::new(AtomicBool::new(true)),
            listeners: ChangeListeners::default(),
            permits: Semaphore::new(MAX_CONCURRENT_WRITES),
            large: Semaphore::new(MAX_CONCURRENT_LARGE_KIB),
            writes: TaskTracker::new(),
        }))
    }

    /// Subscribes to changes of managed objects by other clients.
    pub fn changes(&self) -> Changes {
        self.0.listeners.subscribe()
    }

    /// The live object of a manifest from the cache; `None` if it is not managed or does not exist.
    pub fn live(&self, manifest: &Manifest) -> Option<LiveObject> {
        let id = &manifest.id;
        let cache = lock(&self.0.watches).of.get(&kind_key(&kind_of(manifest))).cloned()?;
        let at = |namespace: &str| cache.live(&(namespace.to_owned(), id.name.clone()));
        at(&id.namespace).or_else(|| at(""))
    }

    /// Writes an event about contention for the object of a manifest, in the background.
    pub fn record_contention(&self, manifest: &Manifest) {
        let live = self.live(manifest);
        let text = |key: &str| live.as_ref()?.object()["metadata"][key].as_str().map(str::to_owned);
        let object = ObjectReference {
            api_version: Some(kind_of(manifest).api_version()),
            kind: Some(manifest.id.kind.clone()),
            namespace: text("namespace").or_else(|| Some(event::NAMESPACE.to_owned())),
            name: Some(manifest.id.name.clone()),
            uid: text("uid"),
            ..ObjectReference::default()
        };
        let other_writer = live.as_ref().and_then(LiveObject::other_writer);
        let recorded = self.0.contention_events.clone().record(object, other_writer);
        let tasks = &mut lock(&self.0.watches).tasks;
        while tasks.try_join_next().is_some() {}
        tasks.spawn(recorded);
    }

    /// Writes an object as its manifest says, unless the live object matches already. A write that
    /// has begun runs to its end, even if the caller stops waiting for it: see [`Self::drain`].
    pub async fn apply(
        &self,
        manifest: &Manifest,
        context: &ApplyContext,
    ) -> Result<ApplyResult, ApplyError> {
        let intent = Intent::from_manifest(manifest)?;
        let kind = match self.0.discovery.find(&kind_of(manifest)).await {
            Err(ApplyError::UnknownKind(_)) if intent == Intent::Delete => return Ok(DELETED),
            Err(error @ ApplyError::UnknownKind(_)) => {
                self.watch_kinds();
                return Err(error);
            }
            kind => kind?,
        };
        let key = kind.key(&manifest.id)?;
        let cache = self.watch(&kind);
        cache.synced().await?;
        cache.manage(key.clone(), manifest.id.clone());
        if intent == Intent::CreateOnly {
            self.await_creation(&kind).await;
        }
        // After the waits above: an object that waits for its kind or its watch holds no slot.
        let _room = self.0.large.acquire_many(kibibytes_if_large(manifest)).await;
        let _permit = self.0.permits.acquire().await;
        let (this, manifest, context) = (self.clone(), manifest.clone(), context.clone());
        let write = async move {
            let reconciler = this.reconciler(&manifest, &context, &kind, &cache, &key);
            let applied = match intent {
                Intent::Reconcile => reconciler.reconcile().await,
                Intent::CreateOnly => reconciler.create_only().await,
                Intent::Delete => reconciler.delete().await,
            };
            if let Ok(ApplyResult { health: Health::Good, .. }) = &applied {
                this.record_prerequisites(&manifest);
            }
            applied
        };
        self.complete(write).await
    }

    /// Runs a write to its end, even if the caller stops waiting for it: see [`Self::drain`].
    pub(crate) async fn complete<T: Send + 'static>(
        &self,
        write: impl Future<Output = T> + Send + 'static,
    ) -> T {
        match self.0.writes.spawn(write).await {
            Ok(written) => written,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // Only the end of the runtime cancels the task.
            Err(_) => std::future::pending().await,
        }
    }

    /// Waits until the API server creates objects of a kind without delay.
    async fn await_creation(&self, kind: &Kind) {
        let ApiResource { group, kind, .. } = &kind.resource;
        let arrived = self.0.prerequisites.latest(&Prerequisite::Kind(group.clone(), kind.clone()));
        if let Some(arrived) = arrived {
            fairway_clock::sleep_until(Some(arrived + CREATION_DELAY)).await;
        }
    }

    /// Whether the API server serves the kind of a manifest now.
    pub async fn serves_kind(&self, manifest: &Manifest) -> Result<bool, ApplyError> {
        Ok(self.0.discovery.find_now(&kind_of(manifest)).await?.is_some())
    }

    /// Waits until all writes in progress are answered, so that a write of an earlier release does
    /// not overtake one of the next.
    pub async fn drain(&self) {
        self.0.writes.close();
        self.0.writes.wait().await;
        self.0.writes.reopen();
    }

    /// Waits until a prerequisite becomes available, counted from `since`.
    pub async fn wait_for(&self, prerequisite: &Prerequisite, since: Instant) {
        self.0.prerequisites.wait(prerequisite, since).await;
    }

    /// Whether a prerequisite became available since the operator started.
    pub fn is_available(&self, prerequisite: &Prerequisite) -> bool {
        self.0.prerequisites.latest(prerequisite).is_some()
    }

    /// Records the prerequisites that an applied object provides.
    fn record_prerequisites(&self, manifest: &Manifest) {
        self.0.discovery.add(served_kinds(manifest));
        if manifest.id.group.is_empty() && manifest.id.kind == "Namespace" {
            self.0.prerequisites.record(Prerequisite::Namespace(manifest.id.name.clone()));
        }
    }

    /// The result of [`Self::apply`] if it would not write anything. Does not write, and does not wait
    /// for a missing kind.
    pub async fn check(
        &self,
        manifest: &Manifest,
        context: &ApplyContext,
    ) -> Result<Option<ApplyResult>, ApplyError> {
        let intent = Intent::from_manifest(manifest)?;
        let Some(kind) = self.0.discovery.find_now(&kind_of(manifest)).await? else {
            return Ok(None);
        };
        let key = kind.key(&manifest.id)?;
        let cache = self.watch(&kind);
        cache.synced().await?;
        self.reconciler(manifest, context, &kind, &cache, &key).check(intent).await
    }

    fn reconciler<'a>(
        &'a self,
        manifest: &'a Manifest,
        context: &'a ApplyContext,
        kind: &'a Kind,
        cache: &'a KindCache,
        key: &'a Key,
    ) -> ObjectReconciler<'a> {
        let leadership = &self.0.leadership;
        let writer = ObjectWriter::new(&kind.api(self.0.client.clone(), key), &key.1, leadership);
        ObjectReconciler {
            manifest,
            context,
            kind,
            writer,
            cache,
            key,
            new_kinds: &self.0.new_kinds,
        }
    }

    /// Watches CRDs and `APIServices`, from the first time that a kind is missing.
    fn watch_kinds(&self) {
        let Watches { tasks, of_kinds, .. } = &mut *lock(&self.0.watches);
        if !std::mem::replace(of_kinds, true) {
            let discovery = Arc::clone(&self.0.discovery);
            tasks.spawn(async move { discovery.watch_changes().await });
        }
    }

    /// The cache of a kind. Its watch starts with the first object, and again after it has ended.
    fn watch(&self, kind: &Kind) -> Arc<KindCache> {
        let Watches { of, tasks, .. } = &mut *lock(&self.0.watches);
        let resource = &kind.resource;
        let key = (resource.group.clone(), resource.version.clone(), resource.kind.clone());
        if let Some(cache) = of.get(&key).filter(|cache| !cache.has_ended()) {
            return Arc::clone(cache);
        }
        let listeners = self.0.listeners.clone();
        let (cache, delay) = if self.0.new_kinds.take(resource) {
            (KindCache::new_empty(listeners), NEW_KIND_DELAY)
        } else {
            (KindCache::new(listeners), Duration::ZERO)
        };
        let (cache, start) = (Arc::new(cache), Instant::now() + delay);
        of.insert(key, Arc::clone(&cache));
        let (discovery, client) = (Arc::clone(&self.0.discovery), self.0.client.clone());
        let streams_lists = Arc::clone(&self.0.streams_lists);
        let (kind, follower) = (kind.clone(), Arc::clone(&cache));
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            fairway_clock::sleep_until(Some(start)).await;
            follower.follow(client, &kind, &streams_lists).await;
            discovery.forget(&kind.resource);
            follower.end();
        });
        cache
    }
}

/// Permits of [`MAX_CONCURRENT_LARGE_KIB`] that a manifest needs.
fn kibibytes_if_large(manifest: &Manifest) -> u32 {
    let length = manifest.json_len();
    let kibibytes =
        if length > LARGE_BYTES { (length >> 10).min(MAX_CONCURRENT_LARGE_KIB) } else { 0 };
    u32::try_from(kibibytes).unwrap_or_default()
}

fn kind_key(kind: &GroupVersionKind) -> (String, String, String) {
    (kind.group.clone(), kind.version.clone(), kind.kind.clone())
}
