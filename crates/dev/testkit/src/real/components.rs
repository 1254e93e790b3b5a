//! Stubs that report for the components of a real release: [`StubComponents`].

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use fairway_api::ClusterOperator;
use fairway_release::Manifest;
use futures::{Stream, StreamExt as _, stream};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, watcher};
use kube::{Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{objects, wait};

/// Reports every ClusterOperator as available and every Pod as ready, and removes deleted Pods. Dropping
/// it ends its watches.
pub struct StubComponents {
    reports: Arc<Mutex<Reports>>,
    _tasks: JoinSet<()>,
}

/// Reports of components, by the name of their ClusterOperator.
type Reports = BTreeMap<String, Report>;

/// Report of a component.
#[derive(Clone)]
struct Report {
    versions: Value,
    /// Namespace, name and image of its Deployment. The component reports once the Deployment exists.
    deployment: Option<(String, String, String)>,
}

impl StubComponents {
    /// Starts to report for the components of a release.
    pub fn start(client: &Client, manifests: &[&Manifest]) -> Self {
        let reports = Arc::new(Mutex::new(reports(manifests)));
        let mut tasks = JoinSet::new();
        tasks.spawn(report_all(client.clone(), Arc::clone(&reports)));
        tasks.spawn(make_pods_ready(client.clone()));
        Self { reports, _tasks: tasks }
    }

    /// Reports for another release from now on.
    pub fn update(&self, manifests: &[&Manifest]) {
        *self.reports.lock().unwrap_or_else(PoisonError::into_inner) = reports(manifests);
    }
}

/// The reports of a release. The manifests of a component share a file prefix such as
/// `0000_50_console-operator_`, and later levels wait for its report.
fn reports(manifests: &[&Manifest]) -> Reports {
    let of_kind = |kind: &'static str| manifests.iter().filter(move |it| it.id.kind == kind);
    let deployments: BTreeMap<Vec<&str>, _> = of_kind("Deployment")
        .filter_map(|it| {
            let image = image_of(&it.object())?;
            Some((prefix(it), (it.id.namespace.clone(), it.id.name.clone(), image)))
        })
        .collect();
    of_kind("ClusterOperator")
        .map(|it| {
            let versions = it.object()["status"]["versions"].clone();
            let deployment = deployments.get(&prefix(it)).cloned();
            (it.id.name.clone(), Report { versions, deployment })
        })
        .collect()
}

fn prefix(manifest: &Manifest) -> Vec<&str> {
    manifest.file.splitn(4, '_').take(3).collect()
}

fn image_of(deployment: &Value) -> Option<String> {
    let image = deployment.pointer("/spec/template/spec/containers/0/image")?;
    image.as_str().map(str::to_owned)
}

/// Every state of every object. Errors are dropped: a test that waits for a report names the one that
/// is missing.
fn states<K>(api: Api<K>) -> impl Stream<Item = K>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let events = watcher(api, watcher::Config::default());
    events.applied_objects().filter_map(async |state| {
        if state.is_err() {
            // An API server refuses watches for a moment after each new CRD. A longer backoff would
            // add to the measured duration of an installation.
            wait::retry_delay().await;
        }
        state.ok()
    })
}

async fn report_all(client: Client, reports: Arc<Mutex<Reports>>) {
    let operators: Api<ClusterOperator> = Api::all(client.clone());
    let mut known = BTreeMap::new();
    let mut images: BTreeMap<(String, String), String> = BTreeMap::new();
    let of_operators = states(operators.clone()).map(|it| State::Operator(Box::new(it)));
    let of_deployments =
        states(Api::<Deployment>::all(client)).map(|it| State::Deployment(Box::new(it)));
    let mut states = std::pin::pin!(stream::select(of_operators, of_deployments));
    while let Some(state) = states.next().await {
        match state {
            State::Operator(operator) => drop(known.insert(operator.name_any(), operator)),
            State::Deployment(deployment) => {
                let key = (deployment.namespace().unwrap_or_default(), deployment.name_any());
                let object = serde_json::to_value(&deployment).unwrap_or_default();
                images.extend(image_of(&object).map(|image| (key, image)));
            }
        }
        let reports = reports.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (name, operator) in &known {
            let Some(Report { versions, deployment }) = reports.get(name) else { continue };
            let exists = deployment.as_ref().is_none_or(|(namespace, name, image)| {
                images.get(&(namespace.clone(), name.clone())) == Some(image)
            });
            if exists && !has_reported(operator, versions) {
                let mut report = json!(objects::working_at(""));
                report["versions"] = versions.clone();
                let patch = Patch::Merge(json!({ "status": report }));
                let _ = operators.patch_status(name, &PatchParams::default(), &patch).await;
            }
        }
    }
}

enum State {
    Operator(Box<ClusterOperator>),
    Deployment(Box<Deployment>),
}

fn has_reported(operator: &ClusterOperator, versions: &Value) -> bool {
    let status = operator.status.as_ref();
    status.is_some_and(|status| {
        !status.conditions.is_empty() && (versions.is_null() || json!(status.versions) == *versions)
    })
}

async fn make_pods_ready(client: Client) {
    let mut pods = std::pin::pin!(states(Api::<Pod>::all(client.clone())));
    while let Some(pod) = pods.next().await {
        let api: Api<Pod> = Api::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
        if pod.metadata.deletion_timestamp.is_some() {
            // No kubelet runs that would confirm the end of the pod.
            let _ = api.delete(&pod.name_any(), &DeleteParams::default().grace_period(0)).await;
            continue;
        }
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        if phase.is_some_and(|phase| phase != "Pending") {
            continue;
        }
        let of_job = pod.owner_references().iter().any(|owner| owner.kind == "Job");
        let conditions: Vec<Value> = ["Ready", "ContainersReady"]
            .map(|type_| {
                json!({"type": type_, "status": "True", "lastTransitionTime": objects::beginning()})
            })
            .into();
        let phase = if of_job { "Succeeded" } else { "Running" };
        let patch = Patch::Merge(json!({"status": {"phase": phase, "conditions": conditions}}));
        let _ = api.patch_status(&pod.name_any(), &PatchParams::default(), &patch).await;
    }
}
