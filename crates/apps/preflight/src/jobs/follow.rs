//! Watches of the Jobs of a run, their pods and their events.

use std::collections::{BTreeMap, BTreeSet};

use fairway_findings::labels;
use fairway_findings::vet::NAMESPACE;
use futures::StreamExt as _;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Event as Notice, Pod};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt as _};
use tokio::sync::watch;

use super::state::ObservedJob;

/// Field selector of events about Jobs whose pods are not created.
const REFUSALS: &str = "involvedObject.kind=Job,reason=FailedCreate";

/// Prefix of the Job controller's event messages.
const NOT_CREATED: &str = "Error creating: ";

/// Observed Jobs of a run, by name.
pub(super) type ObservedJobs = BTreeMap<String, ObservedJob>;

/// Updates the observed Jobs until it is dropped.
pub(super) async fn follow(client: Client, run: String, observed: watch::Sender<ObservedJobs>) {
    let config = watcher::Config::default().labels(&format!("{}={run}", labels::RUN));
    let jobs = watcher(Api::<Job>::namespaced(client.clone(), NAMESPACE), config.clone());
    let pods = watcher(Api::<Pod>::namespaced(client.clone(), NAMESPACE), config);
    let refusals = watcher::Config::default().fields(REFUSALS);
    let refusals = watcher(Api::<Notice>::namespaced(client, NAMESPACE), refusals);
    let mut jobs = jobs.default_backoff().boxed();
    let mut pods = pods.default_backoff().boxed();
    let mut refusals = refusals.default_backoff().boxed();
    let mut listed = BTreeSet::new();
    loop {
        tokio::select! {
            Some(event) = jobs.next() => match event {
                Ok(event) => observed.send_modify(|observed| take_job(observed, &mut listed, event)),
                Err(error) => tracing::warn!(%error, "cannot watch Jobs of checks"),
            },
            Some(event) = pods.next() => match event {
                Ok(event) => observed.send_modify(|observed| take_pod(observed, event)),
                Err(error) => tracing::warn!(%error, "cannot watch pods of checks"),
            },
            Some(event) = refusals.next() => match event {
                Ok(event) => observed.send_modify(|observed| take_refusal(observed, event)),
                Err(error) => tracing::warn!(%error, "cannot watch events of checks"),
            },
            else => return,
        }
    }
}

/// Applies an event of the Job watch. `listed` has the Jobs of a list in progress.
fn take_job(observed: &mut ObservedJobs, listed: &mut BTreeSet<String>, event: Event<Job>) {
    match event {
        Event::Init => listed.clear(),
        Event::InitApply(job) => {
            listed.insert(job.name_any());
            see_job(observed, job);
        }
        Event::InitDone => {
            let gone =
                |name: &String, known: &ObservedJob| known.job.is_some() && !listed.contains(name);
            observed.retain(|name, known| !gone(name, known));
        }
        Event::Apply(job) => see_job(observed, job),
        Event::Delete(job) => drop(observed.remove(&job.name_any())),
    }
}

fn see_job(observed: &mut ObservedJobs, job: Job) {
    let known = observed.entry(job.name_any()).or_default();
    known.job = Some(job);
}

fn take_pod(observed: &mut ObservedJobs, event: Event<Pod>) {
    let (Event::Apply(pod) | Event::InitApply(pod)) = event else { return };
    let owners = pod.owner_references().iter();
    let Some(job) =
        owners.filter(|owner| owner.kind == "Job").map(|owner| owner.name.clone()).next()
    else {
        return;
    };
    // The last event of a pod may come after that of its deleted Job.
    if observed.contains_key(&job) || pod.metadata.deletion_timestamp.is_none() {
        observed.entry(job).or_default().record_pod(pod);
    }
}

/// Applies an event about a refused pod, which may come before that of its Job.
fn take_refusal(observed: &mut ObservedJobs, event: Event<Notice>) {
    let (Event::Apply(notice) | Event::InitApply(notice)) = event else { return };
    let (Some(job), Some(message)) = (notice.involved_object.name, notice.message) else { return };
    let refusal = message.strip_prefix(NOT_CREATED).unwrap_or(&message).to_owned();
    observed.entry(job).or_default().refusal = Some(refusal);
}

#[cfg(test)]
mod tests {
    use anyhow::Result;
    use fairway_testkit::{TestCluster, wait};
    use kube::api::PostParams;
    use serde_json::json;
    use tokio_util::task::AbortOnDropHandle;

    use super::*;

    #[tokio::test]
    async fn take_refusal_records_message() -> Result<()> {
        let cluster = TestCluster::start().await?;
        let client = cluster.client();
        let namespace = json!({"metadata": {"name": NAMESPACE}});
        let namespaces = Api::<k8s_openapi::api::core::v1::Namespace>::all(client.clone());
        namespaces.create(&PostParams::default(), &serde_json::from_value(namespace)?).await?;
        let run = "0123456789abcdef0123456789abcdef";
        let (sender, observed) = watch::channel(ObservedJobs::new());
        let _following =
            AbortOnDropHandle::new(tokio::spawn(follow(client.clone(), run.to_owned(), sender)));
        let pod = json!({
            "serviceAccountName": "missing", "restartPolicy": "Never",
            "containers": [{"name": "check", "image": "registry.example/check"}],
        });
        let job = json!({
            "metadata": {"name": "check-01234567", "labels": {labels::RUN: run}},
            "spec": {"template": {"spec": pod}},
        });
        let jobs: Api<Job> = Api::namespaced(client, NAMESPACE);
        jobs.create(&PostParams::default(), &serde_json::from_value(job)?).await?;
        let refusal = wait::until("the refusal", async || {
            let known = observed.borrow().get("check-01234567").cloned();
            Ok(known.filter(|known| known.job.is_some()).and_then(|known| known.refusal))
        })
        .await?;
        assert!(refusal.contains("missing") && !refusal.starts_with(NOT_CREATED), "{refusal}");
        Ok(())
    }
}
