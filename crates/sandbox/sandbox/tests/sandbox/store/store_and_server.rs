//! The same objects in the store and on an API server.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, anyhow};
use fairway_sandbox::selector::{Field, FieldSelector, LabelSelector};
use fairway_sandbox::store::{
    Key, ListOptions, ListQuery, QueryError, ReadError, ResourceKey, Selection, Store, WatchEvent,
    WatchFrom,
};
use fairway_testkit::{TestCluster, TestNamespace, wait};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::core::Request;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// A store and an API server with the same objects.
pub(super) struct StoreAndServer {
    client: Client,
    namespace: TestNamespace,
    leases: Api<Lease>,
    store: Store,
}

/// The result of a request, or the HTTP status of its error.
pub(super) type RequestResult<T> = std::result::Result<T, u16>;

/// Names of a page, whether there may be more, and how many if known.
pub(super) type Page = (BTreeSet<String>, bool, Option<usize>);

impl StoreAndServer {
    pub(super) async fn new(cluster: &TestCluster, name: &str) -> Result<Self> {
        let namespace = cluster.namespace(name).await?;
        let leases = namespace.api();
        let client = client_without_retries(cluster).await?;
        Ok(Self { client, namespace, leases, store: Store::default() })
    }

    fn leases_resource() -> ResourceKey {
        ResourceKey::new("coordination.k8s.io", "leases")
    }

    fn key(&self, name: &str) -> Result<Key> {
        Ok(Key::new(&Self::leases_resource(), Some(self.namespace.name()), name)?)
    }

    fn object(&self, name: &str, labels: &Value) -> Value {
        let namespace = self.namespace.name();
        let metadata = json!({ "name": name, "namespace": namespace, "labels": labels });
        json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata })
    }

    /// Creates or replaces an object.
    pub(super) async fn put(&self, name: &str, labels: Value) -> Result<()> {
        let object = self.object(name, &labels);
        let mut lease: Lease = serde_json::from_value(object.clone())?;
        let key = self.key(name)?;
        if let Some(before) = self.leases.get_opt(name).await? {
            lease.metadata.resource_version = before.resource_version();
            self.leases.replace(name, &PostParams::default(), &lease).await?;
            self.store.update(&key, object, None)?;
        } else {
            self.leases.create(&PostParams::default(), &lease).await?;
            self.store.create(&key, object)?;
        }
        Ok(())
    }

    pub(super) async fn delete(&self, name: &str) -> Result<()> {
        self.leases.delete(name, &DeleteParams::default()).await?;
        self.store.delete(&self.key(name)?, None)?;
        Ok(())
    }

    /// Writes a last object and waits until the server's watch cache has it.
    pub(super) async fn wait_for_cache(&self) -> Result<()> {
        self.put("zz-last", json!({})).await?;
        wait::until("the cache to catch up", || async {
            let cached = self.leases.list(&ListParams::default().at("0")).await?;
            Ok(cached.items.iter().any(|lease| lease.name_any() == "zz-last").then_some(()))
        })
        .await
    }

    /// Current resource versions of server and store.
    pub(super) async fn now(&self) -> Result<(String, String)> {
        let theirs = self.leases.list(&ListParams::default()).await?.metadata.resource_version;
        Ok((theirs.context("a list without a version")?, self.store.revision().to_string()))
    }

    pub(super) fn selection(&self, labels: &str, fields: &str) -> RequestResult<Selection> {
        Ok(Selection {
            namespace: Some(self.namespace.name().to_owned()),
            labels: LabelSelector::parse(labels).map_err(|_| 400_u16)?,
            fields: FieldSelector::parse(fields, &Field::METADATA).map_err(|_| 400_u16)?,
        })
    }

    pub(super) async fn their_names(
        &self,
        labels: &str,
        fields: &str,
    ) -> Result<RequestResult<BTreeSet<String>>> {
        let listed = self.leases.list(&ListParams::default().labels(labels).fields(fields)).await;
        Ok(api_result(listed)?.map(|list| list.iter().map(ResourceExt::name_any).collect()))
    }

    pub(super) fn our_names(&self, labels: &str, fields: &str) -> RequestResult<BTreeSet<String>> {
        let selection = self.selection(labels, fields)?;
        let listed = self.store.list(&Self::leases_resource(), &selection, &ListOptions::default());
        Ok(listed.map_err(|error| code(&error))?.items.iter().map(|object| name(object)).collect())
    }

    /// A page and its continue token.
    pub(super) async fn their_page(&self, query: &str) -> Result<RequestResult<(Page, String)>> {
        let list = match list_leases(&self.client, self.namespace.name(), query).await? {
            Ok(text) => serde_json::from_str::<Value>(&text)?,
            Err(code) => return Ok(Err(code)),
        };
        let items = list["items"].as_array().into_iter().flatten();
        let token = list["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
        let remaining = list["metadata"]["remainingItemCount"].as_u64();
        let remaining = remaining.map(usize::try_from).transpose()?;
        Ok(Ok(((items.map(name).collect(), !token.is_empty(), remaining), token)))
    }

    pub(super) fn our_page(
        &self,
        selection: &Selection,
        query: &ListQuery<'_>,
    ) -> RequestResult<(Page, String)> {
        let options = ListOptions::parse(query).map_err(|error| match error {
            QueryError::ResourceVersion { .. } | QueryError::VersionWithContinue => 400_u16,
            QueryError::MatchForbidden { .. } | QueryError::MatchUnknown { .. } => 422,
        })?;
        let list = self.store.list(&Self::leases_resource(), selection, &options);
        let list = list.map_err(|error| code(&error))?;
        let names = list.items.iter().map(|object| name(object)).collect();
        let token = list.continue_token.unwrap_or_default();
        Ok(((names, !token.is_empty(), list.remaining), token))
    }

    /// Events of a watch of two seconds, long enough for past changes.
    pub(super) fn their_events(&self, query: &str) -> JoinHandle<Result<Vec<Value>>> {
        let (client, namespace) = (self.client.clone(), self.namespace.name().to_owned());
        let query = format!("watch=1&timeoutSeconds=2&{query}");
        tokio::spawn(async move {
            let lines = list_leases(&client, &namespace, &query).await?.map_err(status_error)?;
            lines.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
        })
    }

    pub(super) fn our_events(&self, selection: Selection, from: WatchFrom) -> Result<Vec<Value>> {
        let mut watcher = self.store.watch(&Self::leases_resource(), selection, from)?;
        let events = std::iter::from_fn(|| watcher.try_next());
        let as_json =
            |event: WatchEvent| json!({ "type": event.kind.as_str(), "object": *event.object });
        Ok(events.map(as_json).collect())
    }
}

/// Lists the Leases of a namespace.
async fn list_leases(
    client: &Client,
    namespace: &str,
    query: &str,
) -> Result<RequestResult<String>> {
    let path = <Lease as kube::Resource>::url_path(&(), Some(namespace));
    let mut request = Request::new(path.clone()).list(&ListParams::default())?;
    *request.uri_mut() = format!("{path}?{query}").parse()?;
    api_result(client.request_text(request).await)
}

pub(super) fn status_error(code: u16) -> anyhow::Error {
    anyhow!("refused with {code}")
}

/// A client without retries. The default client retries 504 for future resource versions.
async fn client_without_retries(cluster: &TestCluster) -> Result<Client> {
    let read = Kubeconfig::read_from(cluster.kubeconfig())?;
    let mut config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?;
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

pub(super) fn format_events(events: &[Value]) -> Vec<String> {
    let format_events = events.iter().map(|event| {
        let (kind, object) = (event["type"].as_str().unwrap_or_default(), &event["object"]);
        let labels = serde_json::from_value(object["metadata"]["labels"].clone());
        let labels: BTreeMap<String, String> = labels.unwrap_or_default();
        format!("{kind} {} {labels:?}", name(object))
    });
    format_events.collect()
}

/// Whether the resource versions increase, including those of deletions.
pub(super) fn versions_increase(events: &[Value]) -> bool {
    let versions = events.iter().map(|event| &event["object"]["metadata"]["resourceVersion"]);
    let versions = versions.map(|version| version.as_str().and_then(|it| it.parse::<u64>().ok()));
    versions.is_sorted_by(|before, after| before.is_some() && before < after)
}

/// Escapes a selector for a URL.
pub(super) fn escaped(selector: &str) -> String {
    selector.replace('!', "%21").replace('=', "%3D")
}

fn api_result<T>(result: kube::Result<T>) -> Result<RequestResult<T>> {
    match result {
        Ok(it) => Ok(Ok(it)),
        Err(kube::Error::Api(status)) => Ok(Err(status.code)),
        Err(error) => Err(error.into()),
    }
}

fn code(error: &ReadError) -> u16 {
    match error {
        ReadError::InvalidContinue { .. } => 400,
        ReadError::TooLarge { .. } => 504,
        ReadError::ListExpired { .. }
        | ReadError::ContinueExpired { .. }
        | ReadError::WatchExpired { .. } => 410,
    }
}
