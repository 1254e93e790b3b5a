//! What the cluster tells about APIs: which Kubernetes it has, and who asked for APIs that go.
//!
//! Both are asked for when the platform has another version, and requests once an hour, as long as
//! the table of removed APIs has something to come: that is a handful of objects, and not the
//! hundreds of all APIs.

use std::sync::Arc;
use std::time::Duration;

use fairway_api::ClusterVersion;
use fairway_compat::Minor;
use fairway_compat::olm::apis::{Lost, Requests, kubernetes_of};
use fairway_compat::olm::{ClusterVersions, Stream};
use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::watch;

use crate::clock;
use crate::sight::{Only, Seen};

/// How often requests are looked at: they are counted by the hour.
const PERIOD: Duration = Duration::from_hours(1);

/// What the cluster tells about APIs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Observed {
    /// Its Kubernetes, where its version of the platform does not tell.
    pub(crate) kubernetes: Option<Minor>,
    /// Who asked for APIs that go.
    pub(crate) requests: Requests,
}

/// Asks for as long as somebody listens.
pub(crate) async fn follow(
    client: Client,
    mut cluster_version: Seen<Only<ClusterVersion>>,
    told: watch::Sender<Option<Arc<Observed>>>,
) {
    loop {
        let now = state(cluster_version.borrow_and_update().as_deref());
        let (is_seen, running) = now;
        if is_seen {
            let seen = observe(&client, running).await;
            told.send_if_modified(|known| {
                let is_news = known.as_deref() != Some(&seen);
                *known = Some(Arc::new(seen));
                is_news
            });
        }
        let is_another = |seen: &Option<Arc<_>>| state(seen.as_deref()) != now;
        tokio::select! {
            changed = cluster_version.wait_for(is_another) => if changed.is_err() { return },
            () = clock::pause(PERIOD), if running.is_some() => {}
            () = told.closed() => return,
        }
    }
}

/// Whether anything was seen, and the version that runs, if there is one.
fn state(seen: Option<&Only<ClusterVersion>>) -> (bool, Option<Stream>) {
    let version = seen.and_then(Option::as_ref);
    (seen.is_some(), version.and_then(|version| ClusterVersions::of(version).running()))
}

async fn observe(client: &Client, running: Option<Stream>) -> Observed {
    let Some(running) = running else { return Observed::default() };
    let known = kubernetes_of(running);
    let kubernetes = if known.is_none() { own_version(client).await } else { None };
    let to_come = known.or(kubernetes).map(Lost::after).unwrap_or_default();
    Observed { kubernetes, requests: requests(client, &to_come).await }
}

async fn own_version(client: &Client) -> Option<Minor> {
    match client.apiserver_version().await {
        Ok(version) => Minor::parse(&version.git_version),
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "the cluster does not say which Kubernetes it has");
            None
        }
    }
}

/// Who asked for them. What cannot be had is left out: it is one of several hints.
async fn requests(client: &Client, apis: &[Lost]) -> Requests {
    let kind = GroupVersionKind::gvk("apiserver.openshift.io", "v1", "APIRequestCount");
    let resource = ApiResource::from_gvk_with_plural(&kind, "apirequestcounts");
    let counts = Api::<DynamicObject>::all_with(client.clone(), &resource);
    let mut requests = Requests::default();
    for api in apis {
        match counts.get_opt(&api.to_string()).await {
            Ok(Some(count)) => requests.add(&json!(count)),
            Ok(None) => {}
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(%api, error, "who asks for an API cannot be read");
                break;
            }
        }
    }
    requests
}
