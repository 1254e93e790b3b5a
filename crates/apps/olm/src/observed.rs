//! The Kubernetes version of the cluster, and requests for APIs that a later version removes.
//!
//! Both are read when the platform version changes, and the requests once an hour while the table of
//! removed APIs has entries ahead: a few `APIRequestCounts` instead of hundreds.

use std::sync::Arc;
use std::time::Duration;

use crate::request::in_time;
use crate::watches::{Singleton, WatchReceiver};
use fairway_api::ClusterVersion;
use fairway_compat::KubernetesMinor;
use fairway_compat::olm::apis::{ApiRequests, LostApi, kubernetes_of};
use fairway_compat::olm::{ClusterVersions, MinorVersion};
use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::watch;

/// Poll interval of requests: `APIRequestCount` counts by the hour.
const POLL_INTERVAL: Duration = Duration::from_hours(1);

/// Delay after a failed request.
const RETRY_DELAY: Duration = Duration::from_mins(1);

/// Kubernetes version and requests for removed APIs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ObservedApis {
    /// Kubernetes version, if the platform version does not determine it.
    pub(crate) kubernetes: Option<KubernetesMinor>,
    /// Clients that requested removed APIs.
    pub(crate) requests: ApiRequests,
}

/// Polls until the last receiver is dropped.
pub(crate) async fn follow(
    client: Client,
    mut cluster_version: WatchReceiver<Singleton<ClusterVersion>>,
    out: watch::Sender<Option<Arc<ObservedApis>>>,
) {
    let (mut known, mut known_of) = (ObservedApis::default(), None);
    loop {
        let now = state(cluster_version.borrow_and_update().as_deref());
        let (is_seen, running) = now;
        let mut pause = POLL_INTERVAL;
        if is_seen {
            if known_of != running {
                (known, known_of) = (ObservedApis::default(), running);
            }
            let succeeded;
            (known, succeeded) = observe(&client, running, &known).await;
            pause = if succeeded { POLL_INTERVAL } else { RETRY_DELAY };
            out.send_if_modified(|out| {
                let is_changed = out.as_deref() != Some(&known);
                *out = Some(Arc::new(known.clone()));
                is_changed
            });
        }
        let is_another = |seen: &Option<Arc<_>>| state(seen.as_deref()) != now;
        tokio::select! {
            changed = cluster_version.wait_for(is_another) => if changed.is_err() { return },
            () = fairway_clock::pause(pause), if running.is_some() => {}
            () = out.closed() => return,
        }
    }
}

/// Whether the watch has synced, and the running version.
fn state(seen: Option<&Singleton<ClusterVersion>>) -> (bool, Option<MinorVersion>) {
    let version = seen.and_then(Option::as_ref);
    (
        seen.is_some(),
        version.and_then(|version| ClusterVersions::from_cluster_version(version).running()),
    )
}

/// Reads both; returns whether all requests succeeded. Failed values stay as before.
async fn observe(
    client: &Client,
    running: Option<MinorVersion>,
    before: &ObservedApis,
) -> (ObservedApis, bool) {
    let Some(running) = running else { return (ObservedApis::default(), true) };
    let known = kubernetes_of(running);
    let (kubernetes, had_version) = match known {
        Some(_) => (None, true),
        None => own_version(client).await.map_or((before.kubernetes, false), |it| (it, true)),
    };
    let to_come = known.or(kubernetes).map(LostApi::after).unwrap_or_default();
    let kind = GroupVersionKind::gvk("apiserver.openshift.io", "v1", "APIRequestCount");
    let resource = ApiResource::from_gvk_with_plural(&kind, "apirequestcounts");
    let counts = Api::<DynamicObject>::all_with(client.clone(), &resource);
    let ask = |api: String| {
        let counts = &counts;
        async move {
            let count = if_any(in_time(counts.get(&api)).await)?;
            Ok(count.map(|count| json!(count)))
        }
    };
    let (requests, had_requests) = requests(ask, &to_come, &before.requests).await;
    (ObservedApis { kubernetes, requests }, had_version && had_requests)
}

/// The object, if it exists. A cluster without the `APIRequestCount` API responds with a bare 404.
fn if_any<T>(answer: kube::Result<T>) -> kube::Result<Option<T>> {
    match answer {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        answer => answer.map(Some),
    }
}

async fn own_version(client: &Client) -> Result<Option<KubernetesMinor>, kube::Error> {
    match in_time(client.apiserver_version()).await {
        Ok(version) => Ok(KubernetesMinor::parse(&version.git_version)),
        Err(error) => {
            let source = &error as &dyn std::error::Error;
            tracing::warn!(error = source, "cannot read the Kubernetes version");
            Err(error)
        }
    }
}

/// Reads the clients of each API; returns whether all requests succeeded. Failed values stay as before:
/// a transient error must not remove a risk.
async fn requests<F>(
    ask: impl Fn(String) -> F,
    apis: &[LostApi],
    before: &ApiRequests,
) -> (ApiRequests, bool)
where
    F: Future<Output = Result<Option<Value>, kube::Error>>,
{
    let (mut requests, mut succeeded) = (ApiRequests::default(), true);
    for api in apis {
        let name = api.to_string();
        // After a failure, the other requests would fail, too.
        let answer = if succeeded { ask(name.clone()).await.map(Some) } else { Ok(None) };
        match answer {
            Ok(Some(count)) => count.iter().for_each(|count| requests.add(count)),
            Ok(None) => requests.keep(&name, before),
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(%api, error, "cannot read APIRequestCount");
                succeeded = false;
                requests.keep(&name, before);
            }
        }
    }
    (requests, succeeded)
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    const SERVICE_ACCOUNT: &str = "system:serviceaccount:team:asks";

    fn count(api: &str) -> Value {
        let users = json!([{ "username": SERVICE_ACCOUNT }]);
        json!({
            "metadata": { "name": api },
            "status": { "last24h": [{ "byNode": [{ "byUser": users }] }] },
        })
    }

    #[test]
    fn if_any_of_404_is_none() {
        let answers = |code, reason| {
            let status = Status::failure("404 page not found", reason).with_code(code);
            if_any::<()>(Err(kube::Error::Api(status.boxed())))
        };
        for (code, reason, is_absent) in [
            (404, "NotFound", true),
            (404, "Failed to parse error data", true),
            (403, "Forbidden", false),
        ] {
            assert_eq!(matches!(answers(code, reason), Ok(None)), is_absent, "{code} {reason}");
        }
        assert!(matches!(if_any(Ok(1)), Ok(Some(1))));
    }

    #[tokio::test]
    async fn requests_that_fail_keep_last_value() {
        let apis = LostApi::after(kubernetes_of(MinorVersion::new(4, 8)).unwrap());
        let (first, last) = (apis[0].to_string(), apis[apis.len() - 1].to_string());
        assert!(apis.len() > 2, "the table has entries ahead");
        let all = |api: String| async move { Ok(Some(count(&api))) };
        let (known, succeeded) = requests(all, &apis, &ApiRequests::default()).await;
        assert!(succeeded);

        let fails = |api: String| {
            let is_first = api == first;
            async move {
                let broken = kube::Error::LinesCodecMaxLineLengthExceeded;
                if is_first { Ok(None) } else { Err(broken) }
            }
        };
        let (after, succeeded) = requests(fails, &apis, &known).await;
        let mut expected = ApiRequests::default();
        apis[1..].iter().for_each(|api| expected.add(&count(&api.to_string())));
        assert!(!succeeded && after == expected, "{last} keeps its value");

        let none = |_: String| async { Ok(None) };
        assert_eq!(requests(none, &apis, &known).await, (ApiRequests::default(), true));
    }
}
