//! Records that the operator persists in `ConfigMaps` in its namespace: desired content in, rate-limited
//! server-side apply out.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::election::{Leadership, LostLease};
use crate::sync::publish;
use crate::text;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use tokio::sync::watch;
use tokio::time::timeout;

/// Minimum time between two writes. A preflight changes its progress several times a second.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// Delay after a failed write.
const RETRY_DELAY: Duration = Duration::from_secs(30);

/// Timeout of one request to the API server.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Field manager of the `ConfigMaps`.
const FIELD_MANAGER: &str = "fairway";

type Records = BTreeMap<String, ConfigMap>;

/// Desired `ConfigMaps` and the last write error. The writer task of [`store`] does the requests.
pub(crate) struct Store {
    /// `None` until the first call of [`Store::want`].
    desired: watch::Sender<Option<Records>>,
    problem: watch::Receiver<Option<String>>,
}

impl Store {
    /// Replaces the desired records. `ConfigMaps` that are not in `records` are deleted.
    pub(crate) fn want(&self, records: Records) {
        publish(&self.desired, Some(records));
    }

    /// The error of the last write; `None` after a success.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.borrow().clone()
    }

    /// Waits until [`Store::problem`] changes.
    pub(crate) async fn changed(&mut self) {
        if self.problem.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Creates a store and the future that writes its records. `found` are the `ConfigMaps` that exist.
/// The future runs as long as the store exists; callers of the store never wait for a write.
pub(crate) fn store(
    client: Client,
    namespace: &str,
    leadership: Leadership,
    found: &[ConfigMap],
) -> (Store, impl Future<Output = ()> + Send) {
    let (desired, mut changes) = watch::channel(None);
    let (problems, problem) = watch::channel(None);
    let api: Api<ConfigMap> = Api::namespaced(client, namespace);
    let mut written: BTreeMap<String, Option<ConfigMap>> =
        found.iter().map(|record| (record.name_any(), None)).collect();
    let work = async move {
        while changes.changed().await.is_ok() {
            // A failed write is retried with the records that are desired by then.
            loop {
                let desired = changes.borrow_and_update().clone().unwrap_or_default();
                // After a lost Lease, election drops this future.
                let Ok(failed) = write(&api, &leadership, desired, &mut written).await else {
                    return std::future::pending().await;
                };
                let is_written = failed.is_none();
                publish(&problems, failed);
                if is_written {
                    fairway_clock::pause(WRITE_INTERVAL).await;
                    break;
                }
                fairway_clock::pause(RETRY_DELAY).await;
            }
        }
    };
    (Store { desired, problem }, work)
}

/// Writes the records that differ from the last write, and returns the last error.
async fn write(
    api: &Api<ConfigMap>,
    leadership: &Leadership,
    desired: Records,
    written: &mut BTreeMap<String, Option<ConfigMap>>,
) -> Result<Option<String>, LostLease> {
    let mut failed = None;
    let gone: Vec<String> =
        written.keys().filter(|name| !desired.contains_key(*name)).cloned().collect();
    for name in gone {
        match leadership.write(timeout(REQUEST_TIMEOUT, delete(api, &name))).await? {
            Ok(Ok(())) => drop(written.remove(&name)),
            Ok(Err(error)) => failed = Some(text::chain(&error)),
            Err(_) => failed = Some(timed_out()),
        }
    }
    for (name, record) in desired {
        if written.get(&name).is_some_and(|last| last.as_ref() == Some(&record)) {
            continue;
        }
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        let patch = Patch::Apply(&record);
        let write = api.patch(&name, &parameters, &patch);
        match leadership.write(timeout(REQUEST_TIMEOUT, write)).await? {
            Ok(Ok(_)) => drop(written.insert(name, Some(record))),
            Ok(Err(error)) => failed = Some(text::chain(&error)),
            Err(_) => failed = Some(timed_out()),
        }
    }
    Ok(failed)
}

async fn delete(api: &Api<ConfigMap>, name: &str) -> Result<(), kube::Error> {
    match api.delete(name, &DeleteParams::background()).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(refusal)) if refusal.code == 404 => Ok(()),
        Err(error) => Err(error),
    }
}

pub(crate) fn timed_out() -> String {
    format!("request to the API server timed out after {} seconds", REQUEST_TIMEOUT.as_secs())
}
