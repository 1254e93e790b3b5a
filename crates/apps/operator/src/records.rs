//! What the operator keeps in the cluster, each in a ConfigMap beside itself: written when something
//! has changed, at a measured pace.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::election::{Leadership, LostLease};
use crate::text;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// The time between two writes: a preflight tells its progress several times a second, and people
/// read the end of it here.
const PACE: Duration = Duration::from_secs(1);

/// The time after a write that failed.
const RETRY: Duration = Duration::from_secs(30);

/// How long an API server may take for one request.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Who writes, in `managedFields`.
const FIELD_MANAGER: &str = "fairway";

type Records = BTreeMap<String, ConfigMap>;

/// What is to be in the cluster, and what is wrong with it.
pub(crate) struct Store {
    /// Nothing before anybody wants anything.
    wanted: watch::Sender<Option<Records>>,
    problem: watch::Receiver<Option<String>>,
}

impl Store {
    /// From now on this is to be in the cluster, and nothing else.
    pub(crate) fn want(&self, records: Records) {
        self.wanted.send_if_modified(|wanted| {
            let is_new = wanted.as_ref() != Some(&records);
            *wanted = Some(records);
            is_new
        });
    }

    /// Why it cannot be stored.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.borrow().clone()
    }

    /// Waits until there is a problem, or none any more.
    pub(crate) async fn changed(&mut self) {
        if self.problem.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Keeps records in the cluster for as long as somebody wants that, beginning with those that are
/// there. Whoever wants it does not wait.
pub(crate) fn store(
    client: Client,
    namespace: &str,
    leadership: Leadership,
    found: &[ConfigMap],
) -> (Store, impl Future<Output = ()> + Send) {
    let (wanted, mut wishes) = watch::channel(None);
    let (problems, problem) = watch::channel(None);
    let api: Api<ConfigMap> = Api::namespaced(client, namespace);
    let mut written: BTreeMap<String, Option<ConfigMap>> =
        found.iter().map(|record| (record.name_any(), None)).collect();
    let work = async move {
        while wishes.changed().await.is_ok() {
            loop {
                let wanted = wishes.borrow_and_update().clone().unwrap_or_default();
                let Ok(failed) = write(&api, &leadership, wanted, &mut written).await else {
                    return std::future::pending().await;
                };
                problems.send_if_modified(|problem| {
                    let is_new = *problem != failed;
                    problem.clone_from(&failed);
                    is_new
                });
                if failed.is_none() {
                    fairway_clock::sleep_until(Some(Instant::now() + PACE)).await;
                    break;
                }
                fairway_clock::sleep_until(Some(Instant::now() + RETRY)).await;
            }
        }
    };
    (Store { wanted, problem }, work)
}

/// Writes what differs from what was written last; what was refused, if anything was.
async fn write(
    api: &Api<ConfigMap>,
    leadership: &Leadership,
    wanted: Records,
    written: &mut BTreeMap<String, Option<ConfigMap>>,
) -> Result<Option<String>, LostLease> {
    let mut failed = None;
    let gone: Vec<String> =
        written.keys().filter(|name| !wanted.contains_key(*name)).cloned().collect();
    for name in gone {
        match leadership.write(timeout(PATIENCE, delete(api, &name))).await? {
            Ok(Ok(())) => drop(written.remove(&name)),
            Ok(Err(error)) => failed = Some(text::chain(&error)),
            Err(_) => failed = Some(too_slow()),
        }
    }
    for (name, record) in wanted {
        if written.get(&name).is_some_and(|last| last.as_ref() == Some(&record)) {
            continue;
        }
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        let patch = Patch::Apply(&record);
        let write = api.patch(&name, &parameters, &patch);
        match leadership.write(timeout(PATIENCE, write)).await? {
            Ok(Ok(_)) => drop(written.insert(name, Some(record))),
            Ok(Err(error)) => failed = Some(text::chain(&error)),
            Err(_) => failed = Some(too_slow()),
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

pub(crate) fn too_slow() -> String {
    format!("request to the API server timed out after {} seconds", PATIENCE.as_secs())
}
