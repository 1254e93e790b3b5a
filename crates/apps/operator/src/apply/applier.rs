//! What brings objects into the cluster.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
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

use super::arrivals::{Arrival, Arrivals};
use super::changes::{Changes, Listeners};
use super::discovery::{Discovery, Kind, kind_of, served_kinds};
use super::error::ApplyError;
use super::fight::Herald;
use super::health::Health;
use super::live::Live;
use super::new_kinds::NewKinds;
use super::prepare::{Context, Intent};
use super::task::{Applied, GONE, Task};
use super::watched::{Key, Watched};
use crate::election::Leadership;
use crate::event;

/// Objects that are written at once: as many as an API server takes without making others wait.
const AT_ONCE: usize = 16;

/// Manifests with more bytes are large: the operator holds them in memory while they are written,
/// with what the API server answers, as trees that take ten times as much.
const LARGE: usize = 32 << 10;

/// Kibibytes of large manifests that are written at once. The largest may be larger: it is alone.
const LARGE_AT_ONCE: usize = 512;

/// How long after the first use of a new kind it is watched. API servers refuse that until they have
/// read the first object, and a second longer.
const NEW_KIND_DELAY: Duration = Duration::from_secs(5);

/// How long API servers hold up the creation of an object after its CRD was established. Waiting
/// here keeps the slot for other objects.
const CREATION_DELAY: Duration = Duration::from_secs(2);

/// Brings objects of a release into the cluster; clones share everything. Its watches end with the
/// last of them.
#[derive(Clone)]
pub struct Applier(Arc<Shared>);

struct Shared {
    client: Client,
    leadership: Leadership,
    discovery: Arc<Discovery>,
    arrivals: Arc<Arrivals>,
    new_kinds: NewKinds,
    watches: Mutex<Watches>,
    listeners: Listeners,
    /// Whether the API server is taken to stream lists.
    streams_lists: Arc<AtomicBool>,
    herald: Herald,
    permits: Semaphore,
    /// Large ones wait for each other, and hold up no others.
    large: Semaphore,
    /// Objects that are being written. They outlive whoever asked for them.
    writes: TaskTracker,
}

/// One watch for each kind that was applied.
#[derive(Default)]
struct Watches {
    of: BTreeMap<(String, String, String), Arc<Watched>>,
    tasks: JoinSet<()>,
    /// Whether CRDs and `APIServices` are watched: only where a kind was missing.
    of_kinds: bool,
}

impl Applier {
    /// One that writes for as long as it leads.
    pub fn new(client: Client, leadership: Leadership) -> Self {
        let arrivals = Arc::<Arrivals>::default();
        Self(Arc::new(Shared {
            discovery: Arc::new(Discovery::new(client.clone(), Arc::clone(&arrivals))),
            arrivals,
            new_kinds: NewKinds::default(),
            herald: Herald::new(client.clone(), leadership.clone()),
            client,
            leadership,
            watches: Mutex::default(),
            streams_lists: Arc::new(AtomicBool::new(true)),
            listeners: Listeners::default(),
            permits: Semaphore::new(AT_ONCE),
            large: Semaphore::new(LARGE_AT_ONCE),
            writes: TaskTracker::new(),
        }))
    }

    /// Hears of every change of an object that was applied, other than by this applier.
    pub fn changes(&self) -> Changes {
        self.0.listeners.listen()
    }

    /// The object of a manifest as the cluster has it, if it was applied and is there. Asks nobody.
    pub fn live(&self, manifest: &Manifest) -> Option<Live> {
        let id = &manifest.id;
        let watched = self.watches().of.get(&kind_key(&kind_of(manifest))).cloned()?;
        let at = |namespace: &str| watched.live(&(namespace.to_owned(), id.name.clone()));
        at(&id.namespace).or_else(|| at(""))
    }

    /// Tells in an event that somebody else changes the object of a manifest again and again, and
    /// who that is. Nobody waits for it.
    pub fn tell_of_fight(&self, manifest: &Manifest) {
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
        let rival = live.as_ref().and_then(Live::rival);
        let told = self.0.herald.clone().tell(object, rival);
        let tasks = &mut self.watches().tasks;
        while tasks.try_join_next().is_some() {}
        tasks.spawn(told);
    }

    /// Writes an object as its manifest says, unless the live object matches already. A write that
    /// has begun runs to its end, even if the caller stops waiting for it: see [`Self::drain`].
    pub async fn apply(
        &self,
        manifest: &Manifest,
        context: &Context,
    ) -> Result<Applied, ApplyError> {
        let intent = Intent::of(manifest)?;
        let kind = match self.0.discovery.find(&kind_of(manifest)).await {
            Err(ApplyError::UnknownKind(_)) if intent == Intent::Delete => return Ok(GONE),
            Err(error @ ApplyError::UnknownKind(_)) => {
                self.watch_kinds();
                return Err(error);
            }
            kind => kind?,
        };
        let key = kind.key(&manifest.id)?;
        let watched = self.watch(&kind);
        watched.seen().await?;
        watched.keep(key.clone(), manifest.id.clone());
        if intent == Intent::CreateOnly {
            self.await_creation(&kind).await;
        }
        // Not before: an object that waits for its kind or its watch occupies no slot.
        let _room = self.0.large.acquire_many(kibibytes_if_large(manifest)).await;
        let _permit = self.0.permits.acquire().await;
        let (this, manifest, context) = (self.clone(), manifest.clone(), context.clone());
        let write = async move {
            let task = this.task(&manifest, &context, &kind, &watched, &key);
            let applied = match intent {
                Intent::Keep => task.keep().await,
                Intent::CreateOnly => task.create_only().await,
                Intent::Delete => task.delete().await,
            };
            if let Ok(Applied { health: Health::Good, .. }) = &applied {
                this.arrived(&manifest);
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
            // Only the end of the runtime cancels it.
            Err(_) => std::future::pending().await,
        }
    }

    /// Waits until the API server creates objects of a kind at once.
    async fn await_creation(&self, kind: &Kind) {
        let ApiResource { group, kind, .. } = &kind.resource;
        let arrived = self.0.arrivals.latest(&Arrival::Kind(group.clone(), kind.clone()));
        if let Some(arrived) = arrived {
            fairway_clock::sleep_until(Some(arrived + CREATION_DELAY)).await;
        }
    }

    /// Whether the API server serves the kind of a manifest now.
    pub async fn serves_kind(&self, manifest: &Manifest) -> Result<bool, ApplyError> {
        Ok(self.0.discovery.find_now(&kind_of(manifest)).await?.is_some())
    }

    /// Waits until every write that has begun is answered: a write of an earlier release must not
    /// overtake one of the next.
    pub async fn drain(&self) {
        self.0.writes.close();
        self.0.writes.wait().await;
        self.0.writes.reopen();
    }

    /// Waits until something arrives that a manifest needs, counted from `since`.
    pub async fn wait_for(&self, arrival: &Arrival, since: Instant) {
        self.0.arrivals.wait(arrival, since).await;
    }

    /// Whether something has arrived since the operator started.
    pub fn has_arrived(&self, arrival: &Arrival) -> bool {
        self.0.arrivals.latest(arrival).is_some()
    }

    /// Tells what waits for it that an object is there.
    fn arrived(&self, manifest: &Manifest) {
        self.0.discovery.add(served_kinds(manifest));
        if manifest.id.group.is_empty() && manifest.id.kind == "Namespace" {
            self.0.arrivals.record(Arrival::Namespace(manifest.id.name.clone()));
        }
    }

    /// What applying would come to if there is nothing to be done. Nothing is written, and a kind
    /// that is missing is not waited for.
    pub async fn look(
        &self,
        manifest: &Manifest,
        context: &Context,
    ) -> Result<Option<Applied>, ApplyError> {
        let intent = Intent::of(manifest)?;
        let Some(kind) = self.0.discovery.find_now(&kind_of(manifest)).await? else {
            return Ok(None);
        };
        let key = kind.key(&manifest.id)?;
        let watched = self.watch(&kind);
        watched.seen().await?;
        self.task(manifest, context, &kind, &watched, &key).look(intent).await
    }

    fn task<'a>(
        &'a self,
        manifest: &'a Manifest,
        context: &'a Context,
        kind: &'a Kind,
        watched: &'a Watched,
        key: &'a Key,
    ) -> Task<'a> {
        let leadership = &self.0.leadership;
        let place = ObjectWriter::new(&kind.api(self.0.client.clone(), key), &key.1, leadership);
        Task { manifest, context, kind, place, watched, key, new_kinds: &self.0.new_kinds }
    }

    fn watches(&self) -> std::sync::MutexGuard<'_, Watches> {
        // No code of others runs under the lock, so a poisoned one guards whole values.
        self.0.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches what adds kinds, from the first time that one is missing.
    fn watch_kinds(&self) {
        let Watches { tasks, of_kinds, .. } = &mut *self.watches();
        if !std::mem::replace(of_kinds, true) {
            let discovery = Arc::clone(&self.0.discovery);
            tasks.spawn(async move { discovery.watch_changes().await });
        }
    }

    /// The watch of a kind, which begins with its first object, and again after it has ended.
    fn watch(&self, kind: &Kind) -> Arc<Watched> {
        let Watches { of, tasks, .. } = &mut *self.watches();
        let resource = &kind.resource;
        let key = (resource.group.clone(), resource.version.clone(), resource.kind.clone());
        if let Some(watched) = of.get(&key).filter(|watched| !watched.has_ended()) {
            return Arc::clone(watched);
        }
        let listeners = self.0.listeners.clone();
        let (watched, delay) = if self.0.new_kinds.take(resource) {
            (Watched::of_new_kind(listeners), NEW_KIND_DELAY)
        } else {
            (Watched::new(listeners), Duration::ZERO)
        };
        let (watched, start) = (Arc::new(watched), Instant::now() + delay);
        of.insert(key, Arc::clone(&watched));
        let (discovery, client) = (Arc::clone(&self.0.discovery), self.0.client.clone());
        let streams_lists = Arc::clone(&self.0.streams_lists);
        let (kind, follower) = (kind.clone(), Arc::clone(&watched));
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            fairway_clock::sleep_until(Some(start)).await;
            follower.follow(client, &kind, &streams_lists).await;
            discovery.forget(&kind.resource);
            follower.end();
        });
        watched
    }
}

/// How much of [`LARGE_AT_ONCE`] a manifest takes.
fn kibibytes_if_large(manifest: &Manifest) -> u32 {
    let length = manifest.json_len();
    let kibibytes = if length > LARGE { (length >> 10).min(LARGE_AT_ONCE) } else { 0 };
    u32::try_from(kibibytes).unwrap_or_default()
}

fn kind_key(kind: &GroupVersionKind) -> (String, String, String) {
    (kind.group.clone(), kind.version.clone(), kind.kind.clone())
}
