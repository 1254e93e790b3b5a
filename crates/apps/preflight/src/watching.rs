//! Noticing that something of a kind has changed, by metadata alone.

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

/// Kinds whose changes are on their way to somebody who is slow: more says nothing new.
const PENDING: usize = 64;

/// How long the first look at all kinds may take. Checks that begin before it is over may run twice.
const FIRST_LOOK: Duration = Duration::from_secs(10);

/// What says which kinds change, while somebody holds it.
pub(crate) struct Watching {
    changes: mpsc::Receiver<Resource>,
    _tasks: JoinSet<()>,
}

impl Watching {
    /// Nothing: who looks once needs not know what changes.
    pub(crate) fn nothing() -> Self {
        Self { changes: mpsc::channel(1).1, _tasks: JoinSet::new() }
    }

    /// Watches these kinds, from now on. A kind that the server does not have, or does not show, is
    /// left out.
    pub(crate) async fn of(client: &Client, kinds: BTreeSet<Resource>) -> Self {
        let (sender, changes) = mpsc::channel(PENDING);
        let (ready, mut all_ready) = mpsc::channel::<()>(1);
        let mut tasks = JoinSet::new();
        for kind in kinds {
            tasks.spawn(watch(client.clone(), kind, sender.clone(), ready.clone()));
        }
        drop(ready);
        // Nobody sends anything: it ends when everybody has let go of it.
        let _ = timeout(FIRST_LOOK, all_ready.recv()).await;
        Self { changes, _tasks: tasks }
    }

    /// The next kind of which something has changed; never, where nothing is watched.
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
            // What is there at the beginning is what the checks see when they begin.
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

/// Whether the server does not have the kind, or does not show it to us.
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
    use fairway_testkit::TestCluster;
    use serde_json::json;

    use super::*;
    use crate::testing::create;

    /// A kind of which nobody else makes any here.
    const ALL: Resource = Resource::new("", "v1", "LimitRange", "limitranges");

    #[tokio::test]
    async fn who_looks_at_one_object_does_not_hear_of_others() -> Result<()> {
        let cluster = TestCluster::own().await?;
        let one = ALL.only(Part::One(Some("default"), "one"));
        let of_others = ALL.only(Part::Namespace("kube-system"));
        let kinds = [ALL, one, of_others];
        let mut watching = Watching::of(&cluster.client(), kinds.into()).await;
        let mut heard = Vec::new();
        // The one comes in between: whoever hears of others has heard of the first by then.
        for (name, changes) in [("first", 1), ("one", 2), ("last", 1)] {
            let metadata = json!({"namespace": "default", "name": name});
            let object = json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata});
            create(&cluster, ALL, object).await?;
            for _ in 0..changes {
                heard.push(watching.change().await.part);
            }
        }
        heard.sort();
        assert_eq!(heard, [Part::All, Part::All, Part::All, one.part]);
        Ok(())
    }
}
