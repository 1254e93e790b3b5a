//! Following the Jobs of a run, and their pods.

use std::collections::{BTreeMap, BTreeSet};

use fairway_findings::labels;
use fairway_findings::vet::NAMESPACE;
use futures::StreamExt as _;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt as _};
use tokio::sync::watch;

use super::state::Observed;

/// What is known of the Jobs of a run, by name.
pub(super) type Seen = BTreeMap<String, Observed>;

/// Keeps what is known up to date, for ever.
pub(super) async fn follow(client: Client, run: String, seen: watch::Sender<Seen>) {
    let config = watcher::Config::default().labels(&format!("{}={run}", labels::RUN));
    let jobs = watcher(Api::<Job>::namespaced(client.clone(), NAMESPACE), config.clone());
    let pods = watcher(Api::<Pod>::namespaced(client, NAMESPACE), config);
    let mut jobs = jobs.default_backoff().boxed();
    let mut pods = pods.default_backoff().boxed();
    let mut listed = BTreeSet::new();
    loop {
        tokio::select! {
            Some(event) = jobs.next() => match event {
                Ok(event) => seen.send_modify(|seen| take_job(seen, &mut listed, event)),
                Err(error) => tracing::warn!(%error, "the Jobs of checks cannot be watched"),
            },
            Some(event) = pods.next() => match event {
                Ok(event) => seen.send_modify(|seen| take_pod(seen, event)),
                Err(error) => tracing::warn!(%error, "the pods of checks cannot be watched"),
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
