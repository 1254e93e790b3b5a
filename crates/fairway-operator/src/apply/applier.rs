//! What brings objects into the cluster.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use fairway_release::Manifest;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::core::GroupVersionKind;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::changes::{Changes, Listeners};
use super::error::ApplyError;
use super::fight::Herald;
use super::kinds::{Kind, Kinds, kind_of};
use super::live::Live;
use super::place::Place;
use super::prepare::{Context, Intent};
use super::task::{Applied, GONE, Task};
use super::watched::Watched;
use crate::election::Leadership;
use crate::event;

/// Objects that are written at once: as many as an API server takes without making others wait.
const AT_ONCE: usize = 16;

/// Brings objects of a release into the cluster; clones share everything. Its watches end with the
/// last of them.
#[derive(Clone)]
pub struct Applier(Arc<Shared>);

struct Shared {
    client: Client,
    leadership: Leadership,
    kinds: Arc<Kinds>,
    watches: Mutex<Watches>,
    listeners: Listeners,
    herald: Herald,
    permits: Semaphore,
}

/// One watch for each kind that was applied.
#[derive(Default)]
struct Watches {
    of: BTreeMap<(String, String, String), Arc<Watched>>,
    tasks: JoinSet<()>,
}

impl Applier {
    /// One that writes for as long as it leads.
    pub fn new(client: Client, leadership: Leadership) -> Self {
        Self(Arc::new(Shared {
            kinds: Arc::new(Kinds::new(client.clone())),
            herald: Herald::new(client.clone(), leadership.clone()),
            client,
            leadership,
            watches: Mutex::default(),
            listeners: Listeners::default(),
            permits: Semaphore::new(AT_ONCE),
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

    /// Makes an object what its manifest says; what is right already is not written.
    pub async fn apply(
        &self,
        manifest: &Manifest,
        context: &Context,
    ) -> Result<Applied, ApplyError> {
        let intent = Intent::of(manifest)?;
        let kind = match self.0.kinds.find(&kind_of(manifest)).await {
            Err(ApplyError::UnknownKind(_)) if intent == Intent::Delete => return Ok(GONE),
            kind => kind?,
        };
        let key = kind.key(&manifest.id)?;
        let watched = self.watch(&kind);
        watched.seen().await?;
        watched.keep(key.clone(), manifest.id.clone());
        // Not before: what waits for its kind or its watch holds up nobody.
        let _permit = self.0.permits.acquire().await;
        let leadership = &self.0.leadership;
        let place = Place { api: kind.api(self.0.client.clone(), &key), name: &key.1, leadership };
        let task = Task { manifest, context, kind: &kind, place, watched: &watched, key: &key };
        match intent {
            Intent::Keep => task.keep().await,
            Intent::CreateOnly => task.create_only().await,
            Intent::Delete => task.delete().await,
        }
    }

    /// What applying would come to if there is nothing to be done. Nothing is written.
    pub async fn look(
        &self,
        manifest: &Manifest,
        context: &Context,
    ) -> Result<Option<Applied>, ApplyError> {
        let intent = Intent::of(manifest)?;
        let kind = self.0.kinds.find(&kind_of(manifest)).await?;
        let key = kind.key(&manifest.id)?;
        let watched = self.watch(&kind);
        watched.seen().await?;
        let leadership = &self.0.leadership;
        let place = Place { api: kind.api(self.0.client.clone(), &key), name: &key.1, leadership };
        let task = Task { manifest, context, kind: &kind, place, watched: &watched, key: &key };
        task.look(intent).await
    }

    fn watches(&self) -> std::sync::MutexGuard<'_, Watches> {
        // No code of others runs under the lock, so a poisoned one guards whole values.
        self.0.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The watch of a kind, which begins with its first object, and again after it has ended.
    fn watch(&self, kind: &Kind) -> Arc<Watched> {
        let Watches { of, tasks } = &mut *self.watches();
        let resource = &kind.resource;
        let key = (resource.group.clone(), resource.version.clone(), resource.kind.clone());
        if let Some(watched) = of.get(&key).filter(|watched| !watched.has_ended()) {
            return Arc::clone(watched);
        }
        let watched = Arc::new(Watched::new(self.0.listeners.clone()));
        of.insert(key, Arc::clone(&watched));
        let (kinds, client) = (Arc::clone(&self.0.kinds), self.0.client.clone());
        let (kind, follower) = (kind.clone(), Arc::clone(&watched));
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            follower.follow(client, &kind).await;
            kinds.forget(&kind.resource);
            follower.end();
        });
        watched
    }
}

fn kind_key(kind: &GroupVersionKind) -> (String, String, String) {
    (kind.group.clone(), kind.version.clone(), kind.kind.clone())
}
