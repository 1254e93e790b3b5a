//! What the cluster tells about APIs: which Kubernetes it has, and who asked for APIs that go.
//!
//! Both are asked for when the platform has another version, and requests once an hour, as long as
//! the table of removed APIs has something to come: that is a handful of objects, and not the
//! hundreds of all APIs.

use std::sync::Arc;
use std::time::Duration;

use crate::request::in_time;
use crate::sight::{Only, Seen};
use fairway_api::ClusterVersion;
use fairway_compat::Minor;
use fairway_compat::olm::apis::{Lost, Requests, kubernetes_of};
use fairway_compat::olm::{ClusterVersions, Stream};
use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::watch;

/// How often requests are looked at: they are counted by the hour.
const PERIOD: Duration = Duration::from_hours(1);

/// How long to wait after something could not be had.
const BREATHER: Duration = Duration::from_mins(1);

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
    let (mut known, mut known_of) = (Observed::default(), None);
    loop {
        let now = state(cluster_version.borrow_and_update().as_deref());
        let (is_seen, running) = now;
        let mut pause = PERIOD;
        if is_seen {
            if known_of != running {
                (known, known_of) = (Observed::default(), running);
            }
            let had_all;
            (known, had_all) = observe(&client, running, &known).await;
            pause = if had_all { PERIOD } else { BREATHER };
            told.send_if_modified(|told| {
                let is_news = told.as_deref() != Some(&known);
                *told = Some(Arc::new(known.clone()));
                is_news
            });
        }
        let is_another = |seen: &Option<Arc<_>>| state(seen.as_deref()) != now;
        tokio::select! {
            changed = cluster_version.wait_for(is_another) => if changed.is_err() { return },
            () = fairway_clock::pause(pause), if running.is_some() => {}
            () = told.closed() => return,
        }
    }
}

/// Whether anything was seen, and the version that runs, if there is one.
fn state(seen: Option<&Only<ClusterVersion>>) -> (bool, Option<Stream>) {
    let version = seen.and_then(Option::as_ref);
    (seen.is_some(), version.and_then(|version| ClusterVersions::of(version).running()))
}

/// What the cluster tells, and whether all of it could be had; what could not is as it was before.
async fn observe(client: &Client, running: Option<Stream>, before: &Observed) -> (Observed, bool) {
    let Some(running) = running else { return (Observed::default(), true) };
    let known = kubernetes_of(running);
    let (kubernetes, had_version) = match known {
        Some(_) => (None, true),
        None => own_version(client).await.map_or((before.kubernetes, false), |it| (it, true)),
    };
    let to_come = known.or(kubernetes).map(Lost::after).unwrap_or_default();
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
    (Observed { kubernetes, requests }, had_version && had_requests)
}

/// What was asked for, if it is there. A cluster that counts no requests has not even a path for
/// counts, and says so by the code of its answer alone.
fn if_any<T>(answer: kube::Result<T>) -> kube::Result<Option<T>> {
    match answer {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        answer => answer.map(Some),
    }
}

async fn own_version(client: &Client) -> Result<Option<Minor>, kube::Error> {
    match in_time(client.apiserver_version()).await {
        Ok(version) => Ok(Minor::parse(&version.git_version)),
        Err(error) => {
            let source = &error as &dyn std::error::Error;
            tracing::warn!(error = source, "cannot read the Kubernetes version");
            Err(error)
        }
    }
}

/// Who asked for them, and whether all of it could be had. What cannot be had is as it was before:
/// a risk must not go away by an accident.
async fn requests<F>(
    ask: impl Fn(String) -> F,
    apis: &[Lost],
    before: &Requests,
) -> (Requests, bool)
where
    F: Future<Output = Result<Option<Value>, kube::Error>>,
{
    let (mut requests, mut had_all) = (Requests::default(), true);
    for api in apis {
        let name = api.to_string();
        // After one that failed, the others would too.
        let answer = if had_all { ask(name.clone()).await.map(Some) } else { Ok(None) };
        match answer {
            Ok(Some(count)) => count.iter().for_each(|count| requests.add(count)),
            Ok(None) => requests.keep(&name, before),
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(%api, error, "cannot read APIRequestCount");
                had_all = false;
                requests.keep(&name, before);
            }
        }
    }
    (requests, had_all)
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    const ACCOUNT: &str = "system:serviceaccount:team:asks";

    fn count(api: &str) -> Value {
        let users = json!([{ "username": ACCOUNT }]);
        json!({
            "metadata": { "name": api },
            "status": { "last24h": [{ "byNode": [{ "byUser": users }] }] },
        })
    }

    #[test]
    fn a_cluster_that_counts_no_requests_is_no_failure() {
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
    async fn who_asked_is_known_until_something_else_is() {
        let apis = Lost::after(kubernetes_of(Stream::new(4, 8)).unwrap());
        let (first, last) = (apis[0].to_string(), apis[apis.len() - 1].to_string());
        assert!(apis.len() > 2, "the table has something to come");
        let all = |api: String| async move { Ok(Some(count(&api))) };
        let (known, had_all) = requests(all, &apis, &Requests::default()).await;
        assert!(had_all);

        let fails = |api: String| {
            let is_first = api == first;
            async move {
                let broken = kube::Error::LinesCodecMaxLineLengthExceeded;
                if is_first { Ok(None) } else { Err(broken) }
            }
        };
        let (after, had_all) = requests(fails, &apis, &known).await;
        let mut expected = Requests::default();
        apis[1..].iter().for_each(|api| expected.add(&count(&api.to_string())));
        assert!(!had_all && after == expected, "{last} is still asked for");

        let none = |_: String| async { Ok(None) };
        assert_eq!(requests(none, &apis, &known).await, (Requests::default(), true));
    }
}
