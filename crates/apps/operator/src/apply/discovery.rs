//! Discovery: the kinds that the API server serves, cached by group and version.
//!
//! A kind that is missing is asked for once. From then on the cache waits: a CRD that the operator
//! has applied adds its kinds without a request, and a change of another CRD or an `APIService` of
//! the group is the signal to ask again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

use super::arrivals::{Arrival, Arrivals};
use super::error::{ApplyError, is_gone};
use super::prepare::Unprepared;
use super::watched::Key;

/// API servers list a kind a moment after its CRD is established. Callers that wait for kinds of
/// one group share each request, and send no more than one in this time.
const RECHECK_INTERVAL: Duration = Duration::from_millis(250);

/// For how long after a change of its group a missing kind is expected to be listed.
const PUBLISH_GRACE_PERIOD: Duration = Duration::from_secs(2);

/// Rechecks of one call, so that a CRD that changes all the time does not hold it for ever.
const MAX_RECHECKS: usize = 12;

/// A missing kind is asked for again after this time, whatever else happens: the signal is lost
/// where the watches are forbidden.
const MISSING_TTL: Duration = Duration::from_mins(1);

/// The label of an `APIService` that the API server has added for a CRD.
const AUTOMANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";

/// The kind that a manifest names.
pub(super) fn kind_of(manifest: &Manifest) -> GroupVersionKind {
    GroupVersionKind::gvk(&manifest.id.group, &manifest.version, &manifest.id.kind)
}

/// The kinds that an established CRD serves, none for all other objects.
pub(super) fn served_kinds(manifest: &Manifest) -> Vec<Kind> {
    let id = &manifest.id;
    if (id.group.as_str(), id.kind.as_str()) != ("apiextensions.k8s.io", "CustomResourceDefinition")
    {
        return Vec::new();
    }
    let Ok(Definition { spec }) = serde_json::from_str(&manifest.json()) else { return Vec::new() };
    let DefinitionNames { kind, plural } = &spec.names;
    let namespaced = spec.scope == "Namespaced";
    let served = spec.versions.iter().filter(|version| version.served);
    served
        .map(|version| {
            let kind = GroupVersionKind::gvk(&spec.group, &version.name, kind);
            Kind { resource: ApiResource::from_gvk_with_plural(&kind, plural), namespaced }
        })
        .collect()
}

/// What tells the kinds of a CRD: reading its schemas would take a hundred times the memory.
#[derive(Deserialize)]
struct Definition {
    spec: DefinitionSpec,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct DefinitionSpec {
    group: String,
    names: DefinitionNames,
    scope: String,
    versions: Vec<DefinitionVersion>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct DefinitionNames {
    kind: String,
    plural: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct DefinitionVersion {
    name: String,
    served: bool,
}

/// Whether a manifest is the CRD of another one's kind.
pub(crate) fn defines(crd: &Manifest, manifest: &Manifest) -> bool {
    // Reading a CRD takes long, and its name has the group.
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
    pub(super) fn in_its_place(&self, mut object: Value) -> Value {
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
        if let Some(metadata) = metadata.filter(|_| !self.namespaced) {
            metadata.remove("namespace");
        }
        object
    }

    /// Namespace and name of an object; cluster-scoped kinds ignore the manifest's namespace.
    pub(super) fn key(&self, id: &ObjectId) -> Result<Key, Unprepared> {
        match (self.namespaced, id.namespace.as_str()) {
            (true, "") => Err(Unprepared::NoNamespace),
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
    /// Every `apiVersion` that the API server listed when the cache was first used.
    listed: tokio::sync::Mutex<Option<Arc<Listed>>>,
    arrivals: Arc<Arrivals>,
}

struct Listed {
    at: Instant,
    api_versions: BTreeSet<String>,
}

/// The kinds of one `apiVersion`.
#[derive(Default)]
struct GroupVersion {
    answer: Mutex<Option<DiscoveryAnswer>>,
    /// Held while the API server is asked. Cached kinds are returned without it.
    asking: tokio::sync::Mutex<()>,
}

struct DiscoveryAnswer {
    /// When the API server was asked; `None` if it was not.
    at: Option<Instant>,
    kinds: BTreeMap<String, Kind>,
}

enum Lookup {
    Found(Kind),
    Missing {
        /// When to look again; `None` if nothing suggests that the kind is about to be served.
        recheck: Option<Instant>,
    },
}

impl Discovery {
    pub(super) fn new(client: Client, arrivals: Arc<Arrivals>) -> Self {
        let (groups, listed) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { client, groups, listed, arrivals }
    }

    /// Finds a kind. Waits a moment for one whose group has just changed.
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

    /// Finds a kind that is served now, without waiting for it.
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
                // The API server was not asked about the other kinds of the group.
                at: None,
                kinds: BTreeMap::new(),
            });
            let is_new = answer.kinds.insert(resource.kind.clone(), kind.clone()).is_none();
            if is_new {
                let (group, kind) = (resource.group.clone(), resource.kind.clone());
                self.arrivals.record(Arrival::Kind(group, kind));
            }
        }
    }

    /// Watches what adds kinds, for as long as it is polled. Only metadata is transferred: the name
    /// of the object has the group.
    pub(super) async fn watch_changes(&self) {
        let crds = self.watch_kind::<CustomResourceDefinition>();
        join(crds, self.watch_kind::<APIService>()).await;
    }

    async fn watch_kind<K>(&self)
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        let api: Api<PartialObjectMeta<K>> = Api::all(self.client.clone());
        // Managed ones are known already, and change often while a release is rolled out. API servers
        // add an `APIService` for the group of every CRD, which says nothing new either.
        let (label, value) = MANAGED;
        let others = format!("{label}!={value},!{AUTOMANAGED}");
        let others = watcher::Config::default().labels(&others);
        let events = watcher(api, others).default_backoff();
        let mut events = std::pin::pin!(events);
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::InitApply(object) | Event::Apply(object)) => {
                    if let Some(group) = group_in_name(&object.name_any()) {
                        self.arrivals.record(Arrival::Group(group.to_owned()));
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

    /// Looks into the cache, and asks the API server where the cached answer is out of date.
    /// Concurrent callers for one `apiVersion` share the request.
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
        // What an established CRD has added is served, even if it is not listed yet.
        let mut known = answer.take().map(|answer| answer.kinds).unwrap_or_default();
        known.append(&mut kinds);
        let kinds = known;
        let kind = kinds.get(&wanted.kind).cloned();
        *answer = Some(DiscoveryAnswer { at: Some(at), kinds });
        Ok(kind.map_or(self.missing(wanted, at), Lookup::Found))
    }

    /// The cached answer, unless a kind is missing in it that may be served by now.
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
        self.arrivals.latest(&Arrival::kind(wanted)).is_some_and(|latest| latest > at)
    }

    /// A kind that was missing at that time.
    fn missing(&self, wanted: &GroupVersionKind, at: Instant) -> Lookup {
        let arrived = self.arrivals.latest(&Arrival::kind(wanted));
        let expected = arrived.is_some_and(|arrived| arrived + PUBLISH_GRACE_PERIOD > at);
        Lookup::Missing { recheck: expected.then(|| at + RECHECK_INTERVAL) }
    }

    /// Asks for the kinds of an `apiVersion`, and says when.
    async fn ask(
        &self,
        wanted: &GroupVersionKind,
    ) -> Result<(Instant, BTreeMap<String, Kind>), ApplyError> {
        let api_version = wanted.api_version();
        // One list of all groups instead of a 404 for each that a new cluster does not have yet.
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

/// Locks a value that is whole even if a thread panicked: nothing runs under these locks that can.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
        discovery.arrivals.record(Arrival::Group(group.to_owned()));
    }

    /// Puts an answer without any kind but ConfigMap into the cache.
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
    async fn known_kind_is_returned_while_the_api_server_is_asked() {
        let discovery = discovery();
        let map = GroupVersionKind::gvk("", "v1", "ConfigMap");
        let group = answered(&discovery, &map, Instant::now() - MISSING_TTL * 2);
        let _asking = group.asking.lock().await;
        assert!(discovery.find(&map).now_or_never().is_some_and(|found| found.is_ok()));
        let missing = GroupVersionKind::gvk("", "v1", "Widget");
        assert!(discovery.find(&missing).now_or_never().is_none(), "the answer is out of date");
    }

    #[tokio::test(start_paused = true)]
    async fn missing_kind_is_asked_for_again_only_after_its_group_changed() {
        let discovery = discovery();
        let widget = GroupVersionKind::gvk("example.com", "v1", "Widget");
        let group = answered(&discovery, &widget, Instant::now());
        let _asking = group.asking.lock().await;
        let asks = |discovery: &Discovery| discovery.find(&widget).now_or_never().is_none();
        tokio::time::advance(RECHECK_INTERVAL * 2).await;
        assert!(!asks(&discovery), "nothing suggests that it is served");
        arrived(&discovery, "other.example.com");
        assert!(!asks(&discovery), "another group changed");
        arrived(&discovery, "example.com");
        assert!(asks(&discovery), "its group changed");
    }

    #[tokio::test(start_paused = true)]
    async fn missing_kind_is_expected_for_a_moment_after_its_group_changed() {
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
    async fn kind_of_an_established_crd_is_found_without_a_request() {
        let discovery = discovery();
        discovery.add(served_kinds(&crd()));
        let widget = |version: &str| GroupVersionKind::gvk("example.com", version, "Widget");
        let found = discovery.find(&widget("v1")).now_or_never().unwrap().unwrap();
        assert_eq!(found.resource.plural, "widgets");
        assert!(found.namespaced);
        assert!(discovery.find(&widget("v2")).now_or_never().is_none(), "it is not served");
    }
}
