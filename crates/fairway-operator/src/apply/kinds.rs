//! Which kinds the API server has.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fairway_release::{Manifest, ObjectId};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::api::DynamicObject;
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use kube::{Api, Client};
use serde_json::Value;
use tokio::time::Instant;

use super::error::ApplyError;
use super::prepare::Unprepared;
use super::request::within_time;
use super::watched::Key;
use crate::clock;

/// A kind that comes with a release is listed a moment after its definition is established. All
/// that wait for kinds of one group ask together, and no more often than this.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// How often a missing kind is looked for again before that is an error: a second in all.
const LOOKS: usize = 4;

/// The kind that a manifest names.
pub(super) fn kind_of(manifest: &Manifest) -> GroupVersionKind {
    GroupVersionKind::gvk(&manifest.id.group, &manifest.version, &manifest.id.kind)
}

/// A kind that the API server has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) resource: ApiResource,
    pub(super) namespaced: bool,
}

impl Kind {
    /// An object without a namespace that its kind does not have.
    pub(super) fn in_its_place(&self, mut object: Value) -> Value {
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
        if let Some(metadata) = metadata.filter(|_| !self.namespaced) {
            metadata.remove("namespace");
        }
        object
    }

    /// Where an object is. Kinds without namespaces have none, whatever the manifest says.
    pub(super) fn key(&self, id: &ObjectId) -> Result<Key, Unprepared> {
        match (self.namespaced, id.namespace.as_str()) {
            (true, "") => Err(Unprepared::NoNamespace),
            (true, namespace) => Ok((namespace.to_owned(), id.name.clone())),
            (false, _) => Ok((String::new(), id.name.clone())),
        }
    }

    /// The objects of the kind in a namespace, or all of them where it has none.
    pub(super) fn api(&self, client: Client, (namespace, _): &Key) -> Api<DynamicObject> {
        if self.namespaced {
            Api::namespaced_with(client, namespace, &self.resource)
        } else {
            Api::all_with(client, &self.resource)
        }
    }
}

/// The kinds of the API server, found once; one that is missing is looked for again.
pub(super) struct Kinds {
    client: Client,
    /// By group and version.
    groups: Mutex<BTreeMap<String, Arc<Group>>>,
}

/// The kinds of one version of a group.
#[derive(Default)]
struct Group {
    found: Mutex<Option<Found>>,
    /// Held while the API server is asked; what is in memory is told meanwhile.
    asking: tokio::sync::Mutex<()>,
}

enum Look {
    Found(Kind),
    Missing { again: Instant },
}

struct Found {
    at: Instant,
    kinds: BTreeMap<String, Kind>,
}

impl Kinds {
    pub(super) fn new(client: Client) -> Self {
        Self { client, groups: Mutex::default() }
    }

    /// A kind, from memory or from the API server.
    pub(super) async fn find(&self, wanted: &GroupVersionKind) -> Result<Kind, ApplyError> {
        for _ in 0..LOOKS {
            let wait = match self.look(wanted).await? {
                Look::Found(kind) => return Ok(kind),
                Look::Missing { again } => again,
            };
            clock::sleep_until(Some(wait)).await;
        }
        match self.look(wanted).await? {
            Look::Found(kind) => Ok(kind),
            Look::Missing { .. } => Err(ApplyError::UnknownKind(wanted.clone())),
        }
    }

    /// A kind, if the API server has it now: nobody waits for it to appear.
    pub(super) async fn find_now(
        &self,
        wanted: &GroupVersionKind,
    ) -> Result<Option<Kind>, ApplyError> {
        Ok(match self.look(wanted).await? {
            Look::Found(kind) => Some(kind),
            Look::Missing { .. } => None,
        })
    }

    /// The API server does not have the kind any more.
    pub(super) fn forget(&self, gone: &ApiResource) {
        let group = lock(&self.groups).get(&gone.api_version).cloned();
        if let Some(group) = group
            && let Some(found) = &mut *lock(&group.found)
        {
            found.kinds.remove(&gone.kind);
        }
    }

    /// Looks into memory, and asks the API server if that was not done just now. Whoever asks for
    /// kinds of the same group meanwhile waits for the same answer.
    async fn look(&self, wanted: &GroupVersionKind) -> Result<Look, ApplyError> {
        let group = Arc::clone(lock(&self.groups).entry(wanted.api_version()).or_default());
        if let Some(known) = group.known(&wanted.kind) {
            return Ok(known);
        }
        let _asking = group.asking.lock().await;
        if let Some(known) = group.known(&wanted.kind) {
            return Ok(known);
        }
        let kinds = self.ask(wanted).await?;
        let at = Instant::now();
        let kind = kinds.get(&wanted.kind).cloned();
        *lock(&group.found) = Some(Found { at, kinds });
        Ok(kind.map_or(Look::Missing { again: at + LOOK_AGAIN }, Look::Found))
    }

    async fn ask(&self, wanted: &GroupVersionKind) -> Result<BTreeMap<String, Kind>, ApplyError> {
        let api_version = wanted.api_version();
        let answer = within_time(async {
            if wanted.group.is_empty() {
                self.client.list_core_api_resources(&wanted.version).await
            } else {
                self.client.list_api_group_resources(&api_version).await
            }
        });
        match answer.await {
            Ok(list) => Ok(kinds(&wanted.group, &wanted.version, list)),
            Err(ApplyError::Api(kube::Error::Api(status))) if status.code == 404 => {
                Ok(BTreeMap::new())
            }
            Err(error) => Err(error),
        }
    }
}

impl Group {
    /// What is in memory, unless it is time to ask again.
    fn known(&self, kind: &str) -> Option<Look> {
        let found = lock(&self.found);
        let found = found.as_ref()?;
        if let Some(kind) = found.kinds.get(kind) {
            return Some(Look::Found(kind.clone()));
        }
        let again = found.at + LOOK_AGAIN;
        (Instant::now() < again).then_some(Look::Missing { again })
    }
}

/// No code of others runs under the locks, so a poisoned one guards whole values.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn kinds(group: &str, version: &str, list: APIResourceList) -> BTreeMap<String, Kind> {
    // What has a slash in its name is a part of a resource.
    let whole = list.resources.into_iter().filter(|resource| !resource.name.contains('/'));
    whole
        .map(|resource| {
            let wanted = GroupVersionKind::gvk(group, version, &resource.kind);
            let kind = Kind {
                resource: ApiResource::from_gvk_with_plural(&wanted, &resource.name),
                namespaced: resource.namespaced,
            };
            (resource.kind, kind)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use kube::Config;

    use super::*;

    #[tokio::test]
    async fn what_is_known_is_told_while_the_api_server_is_asked() {
        let config = Config::new("http://127.0.0.1:1".parse().unwrap());
        let kinds = Kinds::new(Client::try_from(config).unwrap());
        let map = GroupVersionKind::gvk("", "v1", "ConfigMap");
        let kind = Kind { resource: ApiResource::from_gvk(&map), namespaced: true };
        let known = [(map.kind.clone(), kind.clone())].into();
        let group = Arc::<Group>::default();
        // Long enough ago that it is time to ask again.
        let at = Instant::now() - LOOK_AGAIN * 2;
        *lock(&group.found) = Some(Found { at, kinds: known });
        lock(&kinds.groups).insert(map.api_version(), Arc::clone(&group));
        let _asking = group.asking.lock().await;
        let found = kinds.find(&map).now_or_never();
        assert_eq!(found.and_then(Result::ok), Some(kind));
        let missing = GroupVersionKind::gvk("", "v1", "Widget");
        assert!(kinds.find(&missing).now_or_never().is_none(), "the answer is waited for");
    }
}
