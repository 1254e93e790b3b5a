//! The same objects in the store and on a real API server.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, anyhow};
use fairway_sandbox::selector::{Field, FieldSelector, LabelSelector};
use fairway_sandbox::store::{
    Key, ListOptions, ListQuery, Preconditions, QueryError, ReadError, Resource, Selection, Store,
    WatchEvent, WatchFrom,
};
use fairway_testkit::{TestCluster, TestNamespace, wait};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::core::Request;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// Both worlds, which the test writes the same things to.
pub(super) struct Both {
    client: Client,
    namespace: TestNamespace,
    leases: Api<Lease>,
    store: Store,
}

/// Names, labels and what happened, or the code with which the question is refused.
pub(super) type Answer<T> = std::result::Result<T, u16>;

/// A page: its names, whether there may be more, and how many if it says so.
pub(super) type Page = (BTreeSet<String>, bool, Option<usize>);

impl Both {
    pub(super) async fn new(cluster: &TestCluster, name: &str) -> Result<Self> {
        let namespace = cluster.namespace(name).await?;
        let leases = namespace.api();
        let client = impatient_client(cluster).await?;
        Ok(Self { client, namespace, leases, store: Store::default() })
    }

    fn resource() -> Resource {
        Resource::new("coordination.k8s.io", "leases")
    }

    fn key(&self, name: &str) -> Result<Key> {
        Ok(Key::new(&Self::resource(), Some(self.namespace.name()), name)?)
    }

    fn object(&self, name: &str, labels: &Value) -> Value {
        let namespace = self.namespace.name();
        let metadata = json!({ "name": name, "namespace": namespace, "labels": labels });
        json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata })
    }

    /// Creates or replaces.
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
        self.store.delete(&self.key(name)?, &Preconditions::default())?;
        Ok(())
    }

    /// Writes a last object and waits until the server's cache, from which it watches, has it.
    pub(super) async fn settle(&self) -> Result<()> {
        self.put("zz-last", json!({})).await?;
        wait::until("the cache to catch up", || async {
            let cached = self.leases.list(&ListParams::default().at("0")).await?;
            Ok(cached.items.iter().any(|lease| lease.name_any() == "zz-last").then_some(()))
        })
        .await
    }

    /// The resource versions of this moment, theirs and ours.
    pub(super) async fn now(&self) -> Result<(String, String)> {
        let theirs = self.leases.list(&ListParams::default()).await?.metadata.resource_version;
        Ok((theirs.context("a list without a version")?, self.store.revision().to_string()))
    }

    pub(super) fn selection(&self, labels: &str, fields: &str) -> Answer<Selection> {
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
    ) -> Result<Answer<BTreeSet<String>>> {
        let listed = self.leases.list(&ListParams::default().labels(labels).fields(fields)).await;
        Ok(answer(listed)?.map(|list| list.iter().map(ResourceExt::name_any).collect()))
    }

    pub(super) fn our_names(&self, labels: &str, fields: &str) -> Answer<BTreeSet<String>> {
        let selection = self.selection(labels, fields)?;
        let listed = self.store.list(&Self::resource(), &selection, &ListOptions::default());
        Ok(listed.map_err(|error| code(&error))?.items.iter().map(|object| name(object)).collect())
    }

    /// A page and the token with which the next one begins.
    pub(super) async fn their_page(&self, query: &str) -> Result<Answer<(Page, String)>> {
        let list = match ask(&self.client, self.namespace.name(), query).await? {
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
    ) -> Answer<(Page, String)> {
        let options = ListOptions::parse(query).map_err(|error| match error {
            QueryError::ResourceVersion { .. } | QueryError::VersionWithContinue => 400_u16,
            QueryError::MatchForbidden { .. } | QueryError::MatchUnknown { .. } => 422,
        })?;
        let list = self.store.list(&Self::resource(), selection, &options);
        let list = list.map_err(|error| code(&error))?;
        let names = list.items.iter().map(|object| name(object)).collect();
        let token = list.continue_token.unwrap_or_default();
        Ok(((names, !token.is_empty(), list.remaining), token))
    }

    /// The events of a watch that has two seconds, which is long for what has happened already.
    pub(super) fn their_events(&self, query: &str) -> JoinHandle<Result<Vec<Value>>> {
        let (client, namespace) = (self.client.clone(), self.namespace.name().to_owned());
        let query = format!("watch=1&timeoutSeconds=2&{query}");
        tokio::spawn(async move {
            let lines = ask(&client, &namespace, &query).await?.map_err(refused)?;
            lines.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
        })
    }

    pub(super) fn our_events(&self, selection: Selection, from: WatchFrom) -> Result<Vec<Value>> {
        let mut watcher = self.store.watch(&Self::resource(), selection, from)?;
        let events = std::iter::from_fn(|| watcher.try_next());
        let as_json =
            |event: WatchEvent| json!({ "type": event.kind.as_str(), "object": *event.object });
        Ok(events.map(as_json).collect())
    }
}

/// Asks for the Leases of a namespace.
async fn ask(client: &Client, namespace: &str, query: &str) -> Result<Answer<String>> {
    let path = <Lease as kube::Resource>::url_path(&(), Some(namespace));
    let mut request = Request::new(path.clone()).list(&ListParams::default())?;
    *request.uri_mut() = format!("{path}?{query}").parse()?;
    answer(client.request_text(request).await)
}

pub(super) fn refused(code: u16) -> anyhow::Error {
    anyhow!("refused with {code}")
}

/// A client that asks once: others ask again and again until a far version comes.
async fn impatient_client(cluster: &TestCluster) -> Result<Client> {
    let read = Kubeconfig::read_from(cluster.kubeconfig())?;
    let mut config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?;
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

pub(super) fn told(events: &[Value]) -> Vec<String> {
    let told = events.iter().map(|event| {
        let (kind, object) = (event["type"].as_str().unwrap_or_default(), &event["object"]);
        let labels = serde_json::from_value(object["metadata"]["labels"].clone());
        let labels: BTreeMap<String, String> = labels.unwrap_or_default();
        format!("{kind} {} {labels:?}", name(object))
    });
    told.collect()
}

/// Whether each event, also the last one of an object, has a version of its own.
pub(super) fn in_order(events: &[Value]) -> bool {
    let versions = events.iter().map(|event| &event["object"]["metadata"]["resourceVersion"]);
    let versions = versions.map(|version| version.as_str().and_then(|it| it.parse::<u64>().ok()));
    versions.is_sorted_by(|before, after| before.is_some() && before < after)
}

/// For a URL.
pub(super) fn escaped(selector: &str) -> String {
    selector.replace('!', "%21").replace('=', "%3D")
}

fn answer<T>(result: kube::Result<T>) -> Result<Answer<T>> {
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
