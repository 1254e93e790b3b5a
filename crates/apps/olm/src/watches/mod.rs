//! Watches of the guard. An idle guard sends no requests except the renewal of its Lease.

mod health;
mod reflector;

use std::collections::BTreeMap;
use std::sync::Arc;

use fairway_api::{CLUSTER_VERSION_NAME, ClusterOperator, ClusterVersion};
use fairway_compat::olm::catalog::Subscription;
use fairway_compat::olm::{OlmOperator, is_copied};
use fairway_http::{TlsProfile, TlsSecurityProfile};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ApiResource, DynamicObject, PartialObjectMeta};
use kube::core::GroupVersionKind;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde::Deserialize as _;
use serde_json::json;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::certificate::SECRET;
use crate::settings::Settings;
use crate::webhook::CONFIGURATION;
pub(crate) use health::StaleWatches;
use health::WatchHealth;
use reflector::{reflect, reflect_optional};

/// CRDs of kinds that a cluster may not have.
pub(crate) const CLUSTER_VERSIONS: &str = "clusterversions.config.openshift.io";
pub(crate) const CLUSTER_OPERATORS: &str = "clusteroperators.config.openshift.io";
pub(crate) const INSTALLED: &str = "clusterserviceversions.operators.coreos.com";
pub(crate) const SUBSCRIPTIONS: &str = "subscriptions.operators.coreos.com";
pub(crate) const CATALOGS: &str = "catalogsources.operators.coreos.com";
const API_SERVERS: &str = "apiservers.config.openshift.io";

/// Kinds that every cluster has.
pub(crate) const SECRETS: &str = "secrets";
pub(crate) const CONFIGURATIONS: &str = "validatingwebhookconfigurations";

/// Latest state of a watch; `None` before the first list is complete.
pub(crate) type WatchReceiver<T> = watch::Receiver<Option<Arc<T>>>;

/// The object of a watch that selects by name, if it exists.
pub(crate) type Singleton<K> = Option<K>;

/// Namespace and name.
pub(crate) type ObjectKey = (String, String);

/// Installed operators, with the revision of their spec.
pub(crate) type Installed = BTreeMap<ObjectKey, (Revision, OlmOperator)>;

/// UID and generation of an object.
pub(crate) type Revision = (String, i64);

/// Subscriptions.
pub(crate) type Subscriptions = BTreeMap<ObjectKey, Subscription>;

/// `resourceVersion` by object.
pub(crate) type Revisions = BTreeMap<ObjectKey, String>;

/// Excludes copied ClusterServiceVersions, which are most of them, on the API server.
const NO_COPIES: &str = "!olm.copiedFrom";

/// Page size of lists of operators: annotations have up to 256 KiB each.
const PAGE_SIZE: u32 = 50;

/// Watches of every replica.
#[derive(Clone)]
pub(crate) struct GuardWatches {
    /// ClusterVersion.
    pub(crate) cluster_version: WatchReceiver<Singleton<ClusterVersion>>,
    /// Certificate Secret.
    pub(crate) secret: WatchReceiver<Singleton<Secret>>,
    /// TLS profile of `APIServer/cluster`.
    pub(crate) tls_profile: WatchReceiver<Option<TlsProfile>>,
    /// Stale watches.
    pub(crate) stale: watch::Receiver<StaleWatches>,
}

/// Watches of the leader.
#[derive(Clone)]
pub(crate) struct LeaderWatches {
    /// Installed operators.
    pub(crate) operators: WatchReceiver<Installed>,
    /// Subscriptions.
    pub(crate) subscriptions: WatchReceiver<Subscriptions>,
    /// `CatalogSources`.
    pub(crate) catalogs: WatchReceiver<Revisions>,
    /// The guard's ClusterOperator.
    pub(crate) cluster_operator: WatchReceiver<Singleton<ClusterOperator>>,
    /// The webhook configuration.
    pub(crate) configuration: WatchReceiver<Singleton<ValidatingWebhookConfiguration>>,
    /// Stale watches.
    pub(crate) stale: watch::Receiver<StaleWatches>,
}

impl GuardWatches {
    /// Starts the watches. Each ends when its last receiver is dropped.
    pub(crate) fn open(client: &Client, settings: &Settings, tasks: &TaskTracker) -> Self {
        let (health, stale) = WatchHealth::new(settings.staleness.stale_watch);
        let namespace = &settings.namespace;
        let secrets = Api::<Secret>::namespaced(client.clone(), namespace);
        let versions = Api::<ClusterVersion>::all(client.clone());
        let api_server = GroupVersionKind::gvk("config.openshift.io", "v1", "APIServer");
        let api_servers: Api<DynamicObject> =
            Api::all_with(client.clone(), &ApiResource::from_gvk(&api_server));
        Self {
            cluster_version: reflect_optional(
                client,
                CLUSTER_VERSIONS,
                &health,
                tasks,
                move || watcher(versions.clone(), named(CLUSTER_VERSION_NAME)).default_backoff(),
                only,
                remove_only,
            ),
            secret: reflect(
                health.of_objects(SECRETS),
                move || watcher(secrets.clone(), named(SECRET)).default_backoff(),
                tasks,
                only,
                remove_only,
            ),
            tls_profile: reflect_optional(
                client,
                API_SERVERS,
                &health,
                tasks,
                move || watcher(api_servers.clone(), named("cluster")).default_backoff(),
                |known, it| *known = Some(tls_profile(&it)),
                |known, _| *known = None,
            ),
            stale,
        }
    }
}

impl LeaderWatches {
    /// Starts the watches. Each ends when its last receiver is dropped.
    pub(crate) fn open(client: &Client, settings: &Settings, tasks: &TaskTracker) -> Self {
        let (health, stale) = WatchHealth::new(settings.staleness.stale_watch);
        let installed: Api<PartialObjectMeta<DynamicObject>> =
            Api::all_with(client.clone(), &olm_resource("ClusterServiceVersion"));
        let subscriptions: Api<DynamicObject> =
            Api::all_with(client.clone(), &olm_resource("Subscription"));
        let catalogs: Api<PartialObjectMeta<DynamicObject>> =
            Api::all_with(client.clone(), &olm_resource("CatalogSource"));
        let operators = Api::<ClusterOperator>::all(client.clone());
        let name = settings.cluster_operator.clone();
        let configurations = Api::<ValidatingWebhookConfiguration>::all(client.clone());
        Self {
            operators: reflect_optional(
                client,
                INSTALLED,
                &health,
                tasks,
                move || {
                    let config = watcher::Config::default().labels(NO_COPIES).page_size(PAGE_SIZE);
                    watcher(installed.clone(), config).default_backoff()
                },
                |known, it| add_operator(known, &it),
                |known, gone| drop(known.remove(&key(&gone))),
            ),
            subscriptions: reflect_optional(
                client,
                SUBSCRIPTIONS,
                &health,
                tasks,
                move || {
                    let config = watcher::Config::default();
                    watcher(subscriptions.clone(), config).default_backoff()
                },
                |known, it| add_subscription(known, &it),
                |known, gone| drop(known.remove(&key(&gone))),
            ),
            catalogs: reflect_optional(
                client,
                CATALOGS,
                &health,
                tasks,
                move || {
                    let config = watcher::Config::default();
                    watcher(catalogs.clone(), config).default_backoff()
                },
                |known, it| {
                    known.insert(key(&it), it.resource_version().unwrap_or_default());
                },
                |known, gone| drop(known.remove(&key(&gone))),
            ),
            cluster_operator: reflect_optional(
                client,
                CLUSTER_OPERATORS,
                &health,
                tasks,
                move || watcher(operators.clone(), named(&name)).default_backoff(),
                only,
                remove_only,
            ),
            configuration: reflect(
                health.of_objects(CONFIGURATIONS),
                move || watcher(configurations.clone(), named(CONFIGURATION)).default_backoff(),
                tasks,
                only,
                remove_only,
            ),
            stale,
        }
    }
}

fn named(name: &str) -> watcher::Config {
    watcher::Config::default().fields(&format!("metadata.name={name}"))
}

fn only<K>(known: &mut Singleton<K>, object: K) {
    *known = Some(object);
}

fn remove_only<K>(known: &mut Singleton<K>, _: K) {
    *known = None;
}

/// TLS profile of an `APIServer`.
fn tls_profile(api_server: &DynamicObject) -> TlsProfile {
    let profile = &api_server.data["spec"]["tlsSecurityProfile"];
    let profile = Option::<TlsSecurityProfile>::deserialize(profile).unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot parse TLS profile; using the default one");
        None
    });
    profile.unwrap_or_default().into()
}

/// Stores the declarations of an operator. Copies without the label are recognised by annotation.
fn add_operator(known: &mut Installed, object: &PartialObjectMeta<DynamicObject>) {
    let (namespace, name) = key(object);
    if is_copied(&namespace, object.labels(), object.annotations(), None) {
        known.remove(&(namespace, name));
        return;
    }
    let operator = OlmOperator::read(namespace.clone(), name.clone(), object.annotations());
    let revision =
        (object.uid().unwrap_or_default(), object.metadata.generation.unwrap_or_default());
    known.insert((namespace, name), (revision, operator));
}

fn add_subscription(known: &mut Subscriptions, object: &DynamicObject) {
    match Subscription::read(&json!(object)) {
        Some(subscription) => known.insert(key(object), subscription),
        None => known.remove(&key(object)),
    };
}

/// A kind of OLM.
pub(crate) fn olm_resource(kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("operators.coreos.com", "v1alpha1", kind))
}

fn key(object: &impl kube::ResourceExt) -> ObjectKey {
    (object.namespace().unwrap_or_default(), object.name_any())
}
