//! Discovery: the kinds that the API server serves, cached by group and version.
//!
//! A missing kind is requested once. After that the cache waits for a signal: a CRD that the operator
//! applied adds its kinds without a request, and a change of another CRD or `APIService` of the group
//! triggers the next request.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fairway_apply::{MANAGED, WriteError, within_time};
use fairway_release::{Manifest, ObjectId};
use futures::StreamExt as _;
use futures::future::join;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::DynamicObject;
use kube::core::{GroupVersionKind, PartialObjectMeta};
use kube::discovery::ApiResource;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use super::cache::Key;
use super::error::{ApplyError, is_gone};
use super::prepare::PrepareError;
use super::prerequisites::{Prerequisite, PrerequisiteTracker};
use crate::sync::lock;

/// Minimum interval of requests for one group. API servers list a kind a moment after its CRD is
/// established; callers that wait for kinds of one group share each request.
const RECHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Time after a change of its group during which a missing kind is expected to be listed.
const PUBLISH_GRACE_PERIOD: Duration = Duration::from_secs(2);

/// Maximum rechecks of one call, so that a CRD that changes continuously does not hold it for ever.
const MAX_RECHECKS: usize = 12;

/// Lifetime of the entry of a missing kind: without permission to watch CRDs, there is no signal.
const MISSING_TTL: Duration = Duration::from_mins(1);

/// Label of an `APIService` that the API server has added for a CRD.
const AUTOMANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";

/// The kind of a manifest.
pub(super) fn kind_of(manifest: &Manifest) -> GroupVersionKind {
    GroupVersionKind::gvk(&manifest.id.group, &manifest.version, &manifest.id.kind)
}

/// The kinds that a CRD serves; none for other objects.
pub(super) fn served_kinds(manifest: &Manifest) -> Vec<Kind> {
    let id = &manifest.id;
    if (id.group.as_str(), id.kind.as_str()) != ("apiextensions.k8s.io", "CustomResourceDefinition")
    {
        return Vec::new();
    }
    let Ok(CrdManifest { spec }) = serde_json::from_str(&manifest.json()) else {
        return Vec::new();
    };
    let CrdNames { kind, plural } = &spec.names;
    let namespaced = spec.scope == "Namespaced";
    let served = spec.versions.iter().filter(|version| version.served);
    served
        .map(|version| {
            let kind = GroupVersionKind::gvk(&spec.group, &version.name, kind);
            Kind { resource: ApiResource::from_gvk_with_plural(&kind, plural), namespaced }
        })
        .collect()
}

/// The part of a CRD that names its kinds: parsing its schemas needs a hundred times the memory.
#[derive(Deserialize)]
struct CrdManifest {
    spec: CrdSpec,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CrdSpec {
    group: String,
    names: CrdNames,
    scope: String,
    versions: Vec<CrdVersion>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CrdNames {
    kind: String,
    plural: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CrdVersion {
    name: String,
    served: bool,
}

/// Whether a manifest is the CRD of another manifest's kind.
pub(crate) fn defines(crd: &Manifest, manifest: &Manifest) -> bool {
    // Parsing a CRD is expensive, and its name has the group.
    group_in_name(&crd.id.name) == Some(&manifest.id.group)
        && served_kinds(crd).iter().any(|it| {
            (&it.resource.kind, &it.resource.version) == (&manifest.id.kind, &manifest.version)
        })
}

/// CRDs are named `<plural>.<group>`, `APIServices` `<version>.<group>`.
fn group_in_name(name: &str) -> Option<&str> {
    name.split_once('.').map(|(_, group)| group)
}

/// A kind that the API server serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) resource: ApiResource,
    pub(super) namespaced: bool,
}

impl Kind {
    /// Removes the namespace from an object whose kind is cluster-scoped.
    pub(super) fn scoped(&self, mut object: Value) -> Value {
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
        if let Some(metadata) = metadata.filter(|_| !self.namespaced) {
            metadata.remove("namespace");
        }
        object
    }

    /// Namespace and name of an object; cluster-scoped kinds ignore the manifest's namespace.
    pub(super) fn key(&self, id: &ObjectId) -> Result<Key, PrepareError> {
        match (self.namespaced, id.namespace.as_str()) {
            (true, "") => Err(PrepareError::NoNamespace),
            (true, namespace) => Ok((namespace.to_owned(), id.name.clone())),
            (false, _) => Ok((String::new(), id.name.clone())),
        }
    }

    /// The API of the kind, in the namespace of the key where it has namespaces.
    pub(super) fn api(&self, client: Client, (namespace, _): &Key) -> Api<DynamicObject> {
        if self.namespaced {
            Api::namespaced_with(client, namespace, &self.resource)
        } else {
            Api::all_with(client, &self.resource)
        }
    }
}

/// The discovery cache.
pub(super) struct Discovery {
    client: Client,
    /// By `apiVersion`.
    groups: Mutex<BTreeMap<String, Arc<GroupVersion>>>,
    /// Every `apiVersion` that the API server listed at the first use of the cache.
    listed: tokio::sync::Mutex<Option<Arc<Listed>>>,
    prerequisites: Arc<PrerequisiteTracker>,
}

struct Listed {
    at: Instant,
    api_versions: BTreeSet<String>,
}

/// The kinds of one `apiVersion`.
#[derive(Default)]
struct GroupVersion {
    answer: Mutex<Option<DiscoveryAnswer>>,
    /// Held during the request, so that concurrent callers share it. Cached kinds need no lock.
    asking: tokio::sync::Mutex<()>,
}

struct DiscoveryAnswer {
    /// Time of the request; `None` if there was none.
    at: Option<Instant>,
    kinds: BTreeMap<String, Kind>,
}

enum Lookup {
    Found(Kind),
    Missing {
        /// Time of the next request; `None` if nothing indicates that the kind is about to be served.
        recheck: Option<Instant>,
    },
}

impl Discovery {
    pub(super) fn new(client: Client, prerequisites: Arc<PrerequisiteTracker>) -> Self {
        let (groups, listed) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { client, groups, listed, prerequisites }
    }

    /// Finds a kind. Waits up to [`PUBLISH_GRACE_PERIOD`] for a kind whose group has just changed.
    pub(super) async fn find(&self, wanted: &GroupVersionKind) -> Result<Kind, ApplyError> {
        for _ in 0..MAX_RECHECKS {
            match self.look_up(wanted).await? {
                Lookup::Found(kind) => return Ok(kind),
                Lookup::Missing { recheck: None } => break,
                Lookup::Missing { recheck } => fairway_clock::sleep_until(recheck).await,
            }
        }
        Err(ApplyError::UnknownKind(wanted.clone()))
    }

    /// Finds a kind that is served now, without waiting.
    pub(super) async fn find_now(
        &self,
        wanted: &GroupVersionKind,
    ) -> Result<Option<Kind>, ApplyError> {
        Ok(match self.look_up(wanted).await? {
            Lookup::Found(kind) => Some(kind),
            Lookup::Missing { .. } => None,
        })
    }

    /// Drops a kind that the API server no longer serves.
    pub(super) fn forget(&self, gone: &ApiResource) {
        let group = lock(&self.groups).get(&gone.api_version).cloned();
        if let Some(group) = group
            && let Some(answer) = &mut *lock(&group.answer)
        {
            answer.kinds.remove(&gone.kind);
        }
    }

    /// Adds kinds that an established CRD serves.
    pub(super) fn add(&self, kinds: Vec<Kind>) {
        for kind in kinds {
            let resource = &kind.resource;
            let api_version = resource.api_version.clone();
            let entry = Arc::clone(lock(&self.groups).entry(api_version).or_default());
            let mut answer = lock(&entry.answer);
            let answer = answer.get_or_insert_with(|| DiscoveryAnswer {
                // The other kinds of the group were not requested.
                at: None,
                kinds: BTreeMap::new(),
            });
            let is_new = answer.kinds.insert(resource.kind.clone(), kind.clone()).is_none();
            if is_new {
                let (group, kind) = (resource.group.clone(), resource.kind.clone());
                self.prerequisites.record(Prerequisite::Kind(group, kind));
            }
        }
    }

    /// Watches CRDs and `APIServices` while it is polled. Only metadata is transferred: the name of
    /// the object has the group.
    pub(super) async fn watch_changes(&self) {
        let crds = self.watch_kind::<CustomResourceDefinition>();
        join(crds, self.watch_kind::<APIService>()).await;
    }

    async fn watch_kind<K>(&self)
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        let api: Api<PartialObjectMeta<K>> = Api::all(self.client.clone());
        // Managed objects are known, and change often during a rollout. API servers add an
        // `APIService` for the group of every CRD, which carries no information either.
        let (label, value) = MANAGED;
        let others = format!("{label}!={value},!{AUTOMANAGED}");
        let others = watcher::Config::default().labels(&others);
        let events = watcher(api, others).default_backoff();
        let mut events = std::pin::pin!(events);
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::InitApply(object) | Event::Apply(object)) => {
                    if let Some(group) = group_in_name(&object.name_any()) {
                        self.prerequisites.record(Prerequisite::Group(group.to_owned()));
                    }
                }
                Ok(Event::Init | Event::InitDone | Event::Delete(_)) => {}
                Err(error) if is_gone(&error) => return,
                Err(error) => {
                    let (kind, error) = (K::kind(&()), &error as &dyn std::error::Error);
                    tracing::warn!(%kind, error, "watch failed; retrying");
                }
            }
        }
    }

    /// Reads the cache, and requests the kinds if the cached list is out of date. Concurrent callers
    /// for one `apiVersion` share the request.
    async fn look_up(&self, wanted: &GroupVersionKind) -> Result<Lookup, ApplyError> {
        let group = Arc::clone(lock(&self.groups).entry(wanted.api_version()).or_default());
        if let Some(known) = self.cached(&group, wanted) {
            return Ok(known);
        }
        let _asking = group.asking.lock().await;
        if let Some(known) = self.cached(&group, wanted) {
            return Ok(known);
        }
        let (at, mut kinds) = self.ask(wanted).await?;
        let mut answer = lock(&group.answer);
        // The kinds of an established CRD are served, even if they are not listed yet.
        let mut known = answer.take().map(|answer| answer.kinds).unwrap_or_default();
        known.append(&mut kinds);
        let kinds = known;
        let kind = kinds.get(&wanted.kind).cloned();
        *answer = Some(DiscoveryAnswer { at: Some(at), kinds });
        Ok(kind.map_or(self.missing(wanted, at), Lookup::Found))
    }

    /// The cached entry, unless a missing kind may be served by now.
    fn cached(&self, group: &GroupVersion, wanted: &GroupVersionKind) -> Option<Lookup> {
        let answer = lock(&group.answer);
        let answer = answer.as_ref()?;
        if let Some(kind) = answer.kinds.get(&wanted.kind) {
            return Some(Lookup::Found(kind.clone()));
        }
        let at = answer.at?;
        let missing = self.missing(wanted, at);
        let is_fresh = match missing {
            Lookup::Missing { recheck: Some(at) } => Instant::now() < at,
            _ => at.elapsed() < MISSING_TTL,
        };
        is_fresh.then_some(missing)
    }

    fn changed_since(&self, wanted: &GroupVersionKind, at: Instant) -> bool {
        self.prerequisites.latest(&Prerequisite::kind(wanted)).is_some_and(|latest| latest > at)
    }

    /// The entry of a kind that was missing at a time.
    fn missing(&self, wanted: &GroupVersionKind, at: Instant) -> Lookup {
        let arrived = self.prerequisites.latest(&Prerequisite::kind(wanted));
        let expected = arrived.is_some_and(|arrived| arrived + PUBLISH_GRACE_PERIOD > at);
        Lookup::Missing { recheck: expected.then(|| at + RECHECK_INTERVAL) }
    }

    /// Requests the kinds of an `apiVersion`; returns them with the time of the request.
    async fn ask(
        &self,
        wanted: &GroupVersionKind,
    ) -> Result<(Instant, BTreeMap<String, Kind>), ApplyError> {
        let api_version = wanted.api_version();
        // One list of all groups instead of a 404 for each group that a new cluster lacks.
        let listed = self.listed().await?;
        let is_old = listed.at.elapsed() >= MISSING_TTL || self.changed_since(wanted, listed.at);
        if !wanted.group.is_empty() && !is_old && !listed.api_versions.contains(&api_version) {
            return Ok((listed.at, BTreeMap::new()));
        }
        let at = Instant::now();
        let resources = within_time(async {
            if wanted.group.is_empty() {
                self.client.list_core_api_resources(&wanted.version).await
            } else {
                self.client.list_api_group_resources(&api_version).await
            }
        });
        match resources.await {
            Ok(list) => Ok((at, kinds(&wanted.group, &wanted.version, list))),
            Err(WriteError::Api(kube::Error::Api(status))) if status.code == 404 => {
                Ok((at, BTreeMap::new()))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn listed(&self) -> Result<Arc<Listed>, ApplyError> {
        let mut listed = self.listed.lock().await;
        if let Some(listed) = &*listed {
            return Ok(Arc::clone(listed));
        }
        let at = Instant::now();
        let groups = within_time(self.client.list_api_groups()).await?.groups;
        let versions = groups.into_iter().flat_map(|group| group.versions);
        let api_versions = versions.map(|version| version.group_version).collect();
        Ok(Arc::clone(listed.insert(Arc::new(Listed { at, api_versions }))))
    }
}

fn kinds(group: &str, version: &str, list: APIResourceList) -> BTreeMap<String, Kind> {
    // Names with a slash are subresources.
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

    fn discovery() -> Discovery {
        let config = Config::new("http://127.0.0.1:1".parse().unwrap());
        Discovery::new(Client::try_from(config).unwrap(), Arc::default())
    }

    fn arrived(discovery: &Discovery, group: &str) {
        discovery.prerequisites.record(Prerequisite::Group(group.to_owned()));
    }

    /// Caches a list that has only the kind ConfigMap.
    fn answered(
        discovery: &Discovery,
        wanted: &GroupVersionKind,
        at: Instant,
    ) -> Arc<GroupVersion> {
        let map = GroupVersionKind::gvk(&wanted.group, &wanted.version, "ConfigMap");
        let kind = Kind { resource: ApiResource::from_gvk(&map), namespaced: true };
        let group = Arc::<GroupVersion>::default();
        let kinds = [(map.kind.clone(), kind)].into();
        *lock(&group.answer) = Some(DiscoveryAnswer { at: Some(at), kinds });
        lock(&discovery.groups).insert(wanted.api_version(), Arc::clone(&group));
        group
    }

    #[tokio::test]
    async fn find_of_cached_kind_does_not_wait_for_request() {
        let discovery = discovery();
        let map = GroupVersionKind::gvk("", "v1", "ConfigMap");
        let group = answered(&discovery, &map, Instant::now() - MISSING_TTL * 2);
        let _asking = group.asking.lock().await;
        assert!(discovery.find(&map).now_or_never().is_some_and(|found| found.is_ok()));
        let missing = GroupVersionKind::gvk("", "v1", "Widget");
        assert!(discovery.find(&missing).now_or_never().is_none(), "the answer is out of date");
    }

    #[tokio::test(start_paused = true)]
    async fn find_of_missing_kind_requests_again_after_group_change() {
        let discovery = discovery();
        let widget = GroupVersionKind::gvk("example.com", "v1", "Widget");
        let group = answered(&discovery, &widget, Instant::now());
        let _asking = group.asking.lock().await;
        let asks = |discovery: &Discovery| discovery.find(&widget).now_or_never().is_none();
        tokio::time::advance(RECHECK_INTERVAL * 2).await;
        assert!(!asks(&discovery), "no signal");
        arrived(&discovery, "other.example.com");
        assert!(!asks(&discovery), "another group changed");
        arrived(&discovery, "example.com");
        assert!(asks(&discovery), "its group changed");
    }

    #[tokio::test(start_paused = true)]
    async fn missing_after_group_change_is_rechecked() {
        let discovery = discovery();
        let widget = GroupVersionKind::gvk("example.com", "v1", "Widget");
        arrived(&discovery, "example.com");
        let at = Instant::now();
        let recheck = |at| match discovery.missing(&widget, at) {
            Lookup::Missing { recheck } => recheck,
            Lookup::Found(_) => None,
        };
        assert_eq!(recheck(at), Some(at + RECHECK_INTERVAL));
        assert_eq!(recheck(at + PUBLISH_GRACE_PERIOD), None);
    }

    fn crd() -> Manifest {
        let versions =
            ["v1", "v2"].map(|name| serde_json::json!({"name": name, "served": name == "v1"}));
        fairway_testkit::releases::manifest(&serde_json::json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com", "names": {"kind": "Widget", "plural": "widgets"},
                "scope": "Namespaced", "versions": versions,
            },
        }))
        .unwrap()
    }

    #[tokio::test]
    async fn find_of_established_crd_sends_no_request() {
        let discovery = discovery();
        discovery.add(served_kinds(&crd()));
        let widget = |version: &str| GroupVersionKind::gvk("example.com", version, "Widget");
        let found = discovery.find(&widget("v1")).now_or_never().unwrap().unwrap();
        assert_eq!(found.resource.plural, "widgets");
        assert!(found.namespaced);
        assert!(discovery.find(&widget("v2")).now_or_never().is_none(), "it is not served");
    }
}
