//! Watches of resources, by metadata only.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::StreamExt as _;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, PartialObjectMeta};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::cluster::{Part, Resource};

/// Capacity of the channel. The receiver needs only one change of each kind.
const CHANNEL_CAPACITY: usize = 64;

/// Timeout of the initial lists. Checks that start earlier may run twice.
const INITIAL_LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// Reports changes of watched resources until it is dropped.
pub(crate) struct ChangeWatcher {
    changes: mpsc::Receiver<Resource>,
    _tasks: JoinSet<()>,
}

impl ChangeWatcher {
    /// Watches nothing, for runs that end after the first pass.
    pub(crate) fn nothing() -> Self {
        Self { changes: mpsc::channel(1).1, _tasks: JoinSet::new() }
    }

    /// Watches resources. Ignores kinds that the API server does not serve or does not allow.
    pub(crate) async fn of(client: &Client, kinds: BTreeSet<Resource>) -> Self {
        let (sender, changes) = mpsc::channel(CHANNEL_CAPACITY);
        let (ready, mut all_ready) = mpsc::channel::<()>(1);
        let mut tasks = JoinSet::new();
        for kind in kinds {
            tasks.spawn(watch(client.clone(), kind, sender.clone(), ready.clone()));
        }
        drop(ready);
        // The channel is never used to send: `recv` returns when all watches have dropped their
        // senders.
        let _ = timeout(INITIAL_LIST_TIMEOUT, all_ready.recv()).await;
        Self { changes, _tasks: tasks }
    }

    /// The next changed resource; pending for ever if nothing is watched.
    pub(crate) async fn change(&mut self) -> Resource {
        match self.changes.recv().await {
            Some(kind) => kind,
            None => std::future::pending().await,
        }
    }
}

async fn watch(
    client: Client,
    kind: Resource,
    sender: mpsc::Sender<Resource>,
    ready: mpsc::Sender<()>,
) {
    let resource = ApiResource::from(kind);
    let (namespace, name) = match kind.part {
        Part::All => (None, None),
        Part::Namespace(namespace) => (Some(namespace), None),
        Part::One(namespace, name) => (namespace, Some(name)),
    };
    let api: Api<PartialObjectMeta<DynamicObject>> = match namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, &resource),
        None => Api::all_with(client, &resource),
    };
    let all = watcher::Config::default();
    let config = match name {
        Some(name) => all.fields(&format!("metadata.name={name}")),
        None => all,
    };
    let mut events = watcher(api, config).default_backoff().boxed();
    let mut ready = Some(ready);
    while let Some(event) = events.next().await {
        let is_change = match event {
            // The initial list is the state that the first pass sees.
            Ok(Event::Init | Event::InitApply(_)) => false,
            Ok(Event::InitDone) => ready.take().is_none(),
            Ok(Event::Apply(_) | Event::Delete(_)) => true,
            Err(error) if is_final(&error) => {
                tracing::info!(kind = kind.plural, %error, "kind is not watched");
                return;
            }
            Err(error) => {
                tracing::debug!(kind = kind.plural, %error, "watch failed; retrying");
                ready = None;
                false
            }
        };
        if is_change && sender.send(kind).await.is_err() {
            return;
        }
    }
}

/// Whether the API server does not serve the kind, or does not allow it.
fn is_final(error: &watcher::Error) -> bool {
    let (watcher::Error::InitialListFailed(cause)
    | watcher::Error::WatchStartFailed(cause)
    | watcher::Error::WatchFailed(cause)) = error
    else {
        return false;
    };
    matches!(cause, kube::Error::Api(status) if matches!(status.code, 403..=405))
}

#[cfg(test)]
mod tests {
    use anyhow::Result;
    use fairway_sandbox::faults::Fault;
    use fairway_testkit::{TestCluster, wait};
    use serde_json::json;

    use super::*;
    use crate::testing::create;

    /// A kind of which no other test creates objects.
    const ALL: Resource = Resource::new("", "v1", "LimitRange", "limitranges");

    #[tokio::test]
    async fn watch_of_one_object_ignores_others() -> Result<()> {
        let cluster = TestCluster::start().await?;
        let one = ALL.only(Part::One(Some("default"), "one"));
        let of_others = ALL.only(Part::Namespace("kube-system"));
        let kinds = [ALL, one, of_others];
        let mut watching = ChangeWatcher::of(&cluster.client(), kinds.into()).await;
        let mut parts = Vec::new();
        // The watched object changes second: a report about another one would come first.
        for (name, changes) in [("first", 1), ("one", 2), ("last", 1)] {
            let metadata = json!({"namespace": "default", "name": name});
            let object = json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata});
            create(&cluster, ALL, object).await?;
            for _ in 0..changes {
                parts.push(watching.change().await.part);
            }
        }
        parts.sort();
        assert_eq!(parts, [Part::All, Part::All, Part::All, one.part]);
        Ok(())
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn requests_without_response_in_the_sandbox_are_retried() -> Result<()> {
        let cluster = TestCluster::start().await?;
        let Some(sandbox) = cluster.fault_injection() else { return Ok(()) };
        let client = cluster.client_with_read_timeout("hung", Duration::from_secs(3)).await?;
        for (name, fault) in [
            ("list", Fault::hang().verb("list")),
            ("start", Fault::hang().verb("watch")),
            ("stream", Fault::hang_watch(0)),
        ] {
            sandbox.faults().add(fault.resource("limitranges").user_agent("hung").times(1));
            let mut watching = ChangeWatcher::of(&client, [ALL].into()).await;
            let hung = async || Ok(sandbox.faults().is_empty().then_some(()));
            wait::until("a request to hang", hung).await?;
            let metadata = json!({"namespace": "default", "name": name});
            let object = json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata});
            create(&cluster, ALL, object).await?;
            let change = timeout(wait::DEFAULT_TIMEOUT, watching.change()).await;
            assert_eq!(change.ok(), Some(ALL), "{name}");
        }
        Ok(())
    }
}
