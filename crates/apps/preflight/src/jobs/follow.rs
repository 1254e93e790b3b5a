//! Following the Jobs of a run, their pods, and what is said where there are none.

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

use super::state::Observed;

/// The notices about Jobs whose pods are not created.
const REFUSALS: &str = "involvedObject.kind=Job,reason=FailedCreate";

/// What the controller of Jobs writes before the words of whoever refuses.
const NOT_CREATED: &str = "Error creating: ";

/// What is known of the Jobs of a run, by name.
pub(super) type Seen = BTreeMap<String, Observed>;

/// Keeps what is known up to date, for ever.
pub(super) async fn follow(client: Client, run: String, seen: watch::Sender<Seen>) {
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
                Ok(event) => seen.send_modify(|seen| take_job(seen, &mut listed, event)),
                Err(error) => tracing::warn!(%error, "cannot watch Jobs of checks"),
            },
            Some(event) = pods.next() => match event {
                Ok(event) => seen.send_modify(|seen| take_pod(seen, event)),
                Err(error) => tracing::warn!(%error, "cannot watch pods of checks"),
            },
            Some(event) = refusals.next() => match event {
                Ok(event) => seen.send_modify(|seen| take_refusal(seen, event)),
                Err(error) => tracing::warn!(%error, "cannot watch events of checks"),
            },
            else => return,
        }
    }
}

/// `listed` are those that a list in progress has had so far.
fn take_job(seen: &mut Seen, listed: &mut BTreeSet<String>, event: Event<Job>) {
    match event {
        Event::Init => listed.clear(),
        Event::InitApply(job) => {
            listed.insert(job.name_any());
            see_job(seen, job);
        }
        Event::InitDone => {
            let gone =
                |name: &String, known: &Observed| known.job.is_some() && !listed.contains(name);
            seen.retain(|name, known| !gone(name, known));
        }
        Event::Apply(job) => see_job(seen, job),
        Event::Delete(job) => drop(seen.remove(&job.name_any())),
    }
}

fn see_job(seen: &mut Seen, job: Job) {
    let known = seen.entry(job.name_any()).or_default();
    known.job = Some(job);
}

fn take_pod(seen: &mut Seen, event: Event<Pod>) {
    let (Event::Apply(pod) | Event::InitApply(pod)) = event else { return };
    let owners = pod.owner_references().iter();
    let Some(job) =
        owners.filter(|owner| owner.kind == "Job").map(|owner| owner.name.clone()).next()
    else {
        return;
    };
    // The last words of a pod whose Job is gone concern nobody.
    if seen.contains_key(&job) || pod.metadata.deletion_timestamp.is_none() {
        seen.entry(job).or_default().see(pod);
    }
}

/// The notice may come before the Job that it is about.
fn take_refusal(seen: &mut Seen, event: Event<Notice>) {
    let (Event::Apply(notice) | Event::InitApply(notice)) = event else { return };
    let (Some(job), Some(said)) = (notice.involved_object.name, notice.message) else { return };
    let refusal = said.strip_prefix(NOT_CREATED).unwrap_or(&said).to_owned();
    seen.entry(job).or_default().refusal = Some(refusal);
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
    async fn whoever_refuses_the_pod_of_a_job_is_heard() -> Result<()> {
        let cluster = TestCluster::own().await?;
        let client = cluster.client();
        let namespace = json!({"metadata": {"name": NAMESPACE}});
        let namespaces = Api::<k8s_openapi::api::core::v1::Namespace>::all(client.clone());
        namespaces.create(&PostParams::default(), &serde_json::from_value(namespace)?).await?;
        let run = "0123456789abcdef0123456789abcdef";
        let (sender, seen) = watch::channel(Seen::new());
        let _following =
            AbortOnDropHandle::new(tokio::spawn(follow(client.clone(), run.to_owned(), sender)));
        let pod = json!({
            "serviceAccountName": "nobody", "restartPolicy": "Never",
            "containers": [{"name": "check", "image": "registry.example/check"}],
        });
        let job = json!({
            "metadata": {"name": "check-01234567", "labels": {labels::RUN: run}},
            "spec": {"template": {"spec": pod}},
        });
        let jobs: Api<Job> = Api::namespaced(client, NAMESPACE);
        jobs.create(&PostParams::default(), &serde_json::from_value(job)?).await?;
        let refusal = wait::until("the refusal", async || {
            let known = seen.borrow().get("check-01234567").cloned();
            Ok(known.filter(|known| known.job.is_some()).and_then(|known| known.refusal))
        })
        .await?;
        assert!(refusal.contains("nobody") && !refusal.starts_with(NOT_CREATED), "{refusal}");
        Ok(())
    }
}
