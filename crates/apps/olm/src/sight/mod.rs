//! What the guard sees of the cluster, by watching: in steady state it asks for nothing.

mod blind;
mod follow;
mod optional;

use std::collections::BTreeMap;
use std::sync::Arc;

use fairway_api::{CLUSTER_VERSION_NAME, ClusterOperator, ClusterVersion};
use fairway_compat::olm::catalog::Subscription;
use fairway_compat::olm::{Operator, is_copied};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ApiResource, DynamicObject, PartialObjectMeta};
use kube::core::GroupVersionKind;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::certificate::SECRET;
use crate::settings::Settings;
use crate::webhook::CONFIGURATION;
pub(crate) use blind::Blind;
use blind::Lookout;
use follow::follow;

/// The definitions of kinds that a cluster may not have.
pub(crate) const CLUSTER_VERSIONS: &str = "clusterversions.config.openshift.io";
pub(crate) const CLUSTER_OPERATORS: &str = "clusteroperators.config.openshift.io";
pub(crate) const INSTALLED: &str = "clusterserviceversions.operators.coreos.com";
pub(crate) const SUBSCRIPTIONS: &str = "subscriptions.operators.coreos.com";
pub(crate) const CATALOGS: &str = "catalogsources.operators.coreos.com";

/// Kinds that every cluster has.
pub(crate) const SECRETS: &str = "secrets";
pub(crate) const CONFIGURATIONS: &str = "validatingwebhookconfigurations";

/// What a watch has seen; `None` before it has seen everything for the first time.
pub(crate) type Seen<T> = watch::Receiver<Option<Arc<T>>>;

/// The object with the one name that is watched, if it is there.
pub(crate) type Only<K> = Option<K>;

/// Namespace and name.
pub(crate) type Place = (String, String);

/// The installed operators, and which state the specification of each has.
pub(crate) type Installed = BTreeMap<Place, (Revision, Operator)>;

/// The state of a specification: of which object, and how often it was changed.
pub(crate) type Revision = (String, i64);

/// The operators that are subscribed to.
pub(crate) type Subscriptions = BTreeMap<Place, Subscription>;

/// Which state objects have.
pub(crate) type Revisions = BTreeMap<Place, String>;

/// Copies carry this label. They are the many, and never leave the API server.
const NO_COPIES: &str = "!olm.copiedFrom";

/// Operators in a page of a list: their annotations may have 256 KiB each.
const PAGE: u32 = 50;

/// What every guard sees.
#[derive(Clone)]
pub(crate) struct Sight {
    /// The platform's version.
    pub(crate) cluster_version: Seen<Only<ClusterVersion>>,
    /// What the webhook proves itself with.
    pub(crate) secret: Seen<Only<Secret>>,
    /// What of that is not seen any more.
    pub(crate) blind: watch::Receiver<Blind>,
}

/// What only the one sees that writes.
#[derive(Clone)]
pub(crate) struct WriterSight {
    /// The installed operators.
    pub(crate) operators: Seen<Installed>,
    /// What administrators subscribe to.
    pub(crate) subscriptions: Seen<Subscriptions>,
    /// The catalogs that there are.
    pub(crate) catalogs: Seen<Revisions>,
    /// What is written about them.
    pub(crate) cluster_operator: Seen<Only<ClusterOperator>>,
    /// How the API server finds the webhook.
    pub(crate) configuration: Seen<Only<ValidatingWebhookConfiguration>>,
    /// What of that is not seen any more.
    pub(crate) blind: watch::Receiver<Blind>,
}

impl Sight {
    /// Begins to watch. A watch ends when nobody looks any more.
    pub(crate) fn open(client: &Client, settings: &Settings, tasks: &TaskTracker) -> Self {
        let (lookout, blind) = Lookout::new(settings.patience.blind);
        let namespace = &settings.namespace;
        let secrets = Api::<Secret>::namespaced(client.clone(), namespace);
        let versions = Api::<ClusterVersion>::all(client.clone());
        Self {
            cluster_version: optional::follow(
                client,
                CLUSTER_VERSIONS,
                &lookout,
                tasks,
                move || watcher(versions.clone(), named(CLUSTER_VERSION_NAME)).default_backoff(),
                only,
                remove_only,
            ),
            secret: follow(
                lookout.on_objects(SECRETS),
                move || watcher(secrets.clone(), named(SECRET)).default_backoff(),
                tasks,
                only,
                remove_only,
            ),
            blind,
        }
    }
}

impl WriterSight {
    /// Begins to watch. A watch ends when nobody looks any more.
    pub(crate) fn open(client: &Client, settings: &Settings, tasks: &TaskTracker) -> Self {
        let (lookout, blind) = Lookout::new(settings.patience.blind);
        let installed: Api<PartialObjectMeta<DynamicObject>> =
            Api::all_with(client.clone(), &of_olm("ClusterServiceVersion"));
        let subscriptions: Api<DynamicObject> =
            Api::all_with(client.clone(), &of_olm("Subscription"));
        let catalogs: Api<PartialObjectMeta<DynamicObject>> =
            Api::all_with(client.clone(), &of_olm("CatalogSource"));
        let operators = Api::<ClusterOperator>::all(client.clone());
        let name = settings.cluster_operator.clone();
        let configurations = Api::<ValidatingWebhookConfiguration>::all(client.clone());
        Self {
            operators: optional::follow(
                client,
                INSTALLED,
                &lookout,
                tasks,
                move || {
                    let config = watcher::Config::default().labels(NO_COPIES).page_size(PAGE);
                    watcher(installed.clone(), config).default_backoff()
                },
                |known, it| note(known, &it),
                |known, gone| drop(known.remove(&place(&gone))),
            ),
            subscriptions: optional::follow(
                client,
                SUBSCRIPTIONS,
                &lookout,
                tasks,
                move || {
                    let config = watcher::Config::default();
                    watcher(subscriptions.clone(), config).default_backoff()
                },
                |known, it| note_subscription(known, &it),
                |known, gone| drop(known.remove(&place(&gone))),
            ),
            catalogs: optional::follow(
                client,
                CATALOGS,
                &lookout,
                tasks,
                move || {
                    let config = watcher::Config::default();
                    watcher(catalogs.clone(), config).default_backoff()
                },
                |known, it| {
                    known.insert(place(&it), it.resource_version().unwrap_or_default());
                },
                |known, gone| drop(known.remove(&place(&gone))),
            ),
            cluster_operator: optional::follow(
                client,
                CLUSTER_OPERATORS,
                &lookout,
                tasks,
                move || watcher(operators.clone(), named(&name)).default_backoff(),
                only,
                remove_only,
            ),
            configuration: follow(
                lookout.on_objects(CONFIGURATIONS),
                move || watcher(configurations.clone(), named(CONFIGURATION)).default_backoff(),
                tasks,
                only,
                remove_only,
            ),
            blind,
        }
    }
}

fn named(name: &str) -> watcher::Config {
    watcher::Config::default().fields(&format!("metadata.name={name}"))
}

fn only<K>(known: &mut Only<K>, object: K) {
    *known = Some(object);
}

fn remove_only<K>(known: &mut Only<K>, _: K) {
    *known = None;
}

/// Of an operator, only what it declares is kept. A copy without the label is told by the rest.
fn note(known: &mut Installed, object: &PartialObjectMeta<DynamicObject>) {
    let (namespace, name) = place(object);
    if is_copied(&namespace, object.labels(), object.annotations(), None) {
        known.remove(&(namespace, name));
        return;
    }
    let operator = Operator::read(namespace.clone(), name.clone(), object.annotations());
    let revision =
        (object.uid().unwrap_or_default(), object.metadata.generation.unwrap_or_default());
    known.insert((namespace, name), (revision, operator));
}

fn note_subscription(known: &mut Subscriptions, object: &DynamicObject) {
    match Subscription::read(&json!(object)) {
        Some(subscription) => known.insert(place(object), subscription),
        None => known.remove(&place(object)),
    };
}

/// A kind of OLM's, in the one version that it has.
pub(crate) fn of_olm(kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("operators.coreos.com", "v1alpha1", kind))
}

fn place(object: &impl kube::ResourceExt) -> Place {
    (object.namespace().unwrap_or_default(), object.name_any())
}
