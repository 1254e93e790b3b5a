//! Resource usage of the installation of a real release, beside a bare client that writes the same
//! objects in the same order.
#![expect(clippy::disallowed_methods, reason = "measuring is about the clock of this host")]
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_release::task_graph::{RolloutMode, Task, TaskGraph};
use fairway_release::{Manifest, with_zero_values};
use fairway_testkit::measure::{Figure, Table};
use fairway_testkit::real::{
    MissingKind, RealPayload, StubComponents, missing_objects, prepare_cluster, unserved_kinds,
};
use fairway_testkit::testbed::process::{peak_bytes, resident_bytes};
use fairway_testkit::testbed::wait::Stopwatch;
use fairway_testkit::{AuditEvent, OperatorOptions, Requests, TestCluster, TestOperator, wait};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};

/// Old API servers take minutes for large CRDs.
const INSTALL_TIMEOUT: Duration = Duration::from_mins(15);

/// As many as the operator.
const MAX_CONCURRENT_WRITES: usize = 16;

/// Retries of the bare client for an object whose kind or namespace is missing.
const MAX_ATTEMPTS: usize = 600;
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Maximum memory of the operator after the installation.
const MAX_MEMORY: Figure = Figure::Bytes(60 << 20);

/// Maximum time from the start of the operator to its first write.
const MAX_FIRST_WRITE: Figure = Figure::Time(Duration::from_secs(1));

/// Maximum number of requests for each hundred manifests.
const MAX_REQUESTS_PERCENT: usize = 120;

/// Kinds of OpenShift's aggregated API server.
const MISSING: [MissingKind; 1] = [MissingKind {
    group: "image.openshift.io",
    kind: "ImageStream",
    plural: "imagestreams",
    namespaced: true,
}];

/// Installs the 5.0 payload with the operator and with the bare client.
pub(crate) async fn install(payloads: &Path) -> Result<()> {
    let payload = RealPayload::unpack(payloads, "5.0")?;
    let included = payload.included();
    println!("\nInstalling the payload 5.0 of real operators: {} manifests", included.len());
    let table = Table::new("the operator", "bare client");
    let bare = bare_client(&payload, &included).await?;

    let cluster = TestCluster::start_kubernetes().await?;
    prepare_cluster(&cluster, &[&payload], &MISSING).await?;
    let client = cluster.client();
    let _components = StubComponents::start(&client, &included);
    let log = cluster.audit_log()?;
    let (mark, started) = (log.mark()?, Timestamp::now());
    let options = OperatorOptions::new(&payload.image, &payload.directory());
    let operator = TestOperator::start(cluster, options)?;
    let unserved = unserved_kinds(&client, &included).await;
    let installed = wait::until_within(INSTALL_TIMEOUT, "all objects", async || {
        let missing = missing_objects(&client, &included).await?;
        let left = missing.iter().filter(|it| !unserved.contains(&it.id.kind)).count();
        Ok((left <= 1).then_some(()))
    });
    installed.await.with_context(|| operator.logs())?;
    let writes: Vec<Timestamp> =
        log.since(mark)?.iter().filter(|it| is_object_write(it)).filter_map(received).collect();
    let since = |at: Option<&Timestamp>| {
        let took = at.map(|at| at.duration_since(started)).unwrap_or_default();
        Figure::Time(took.try_into().unwrap_or_default())
    };
    let requests = Requests::since(&log, mark)?;
    table.row("install, to the last write", since(writes.iter().max()), Some(Figure::Time(bare)));
    println!("  ({requests})");
    let goals = Table::new("the operator", "at most");
    goals.row("first write", since(writes.iter().min()), Some(MAX_FIRST_WRITE));
    let count = Figure::Count(requests.count(|_| true));
    let max_requests = Figure::Count(included.len() * MAX_REQUESTS_PERCENT / 100);
    goals.row("requests", count, Some(max_requests));
    goals.row("memory", Figure::Bytes(resident_bytes(operator.pid()?)?), Some(MAX_MEMORY));
    goals.row("  peak", Figure::Bytes(peak_bytes(operator.pid()?)?), None);
    let not_found = log.since(mark)?.iter().filter(|it| is_missing_kind(it)).count();
    goals.row("lookups of missing kinds", Figure::Count(not_found), None);
    println!("  (not served by this API server: {unserved:?})");
    Ok(())
}

fn is_object_write(event: &AuditEvent) -> bool {
    let is_status = event.object_ref.as_ref().is_some_and(|it| !it.subresource.is_empty());
    event.is_write()
        && event.user_agent.starts_with("fairway/")
        && !is_status
        && !["leases", "events"].iter().any(|resource| event.is_about(resource))
}

/// Whether a request is for a group or a kind that the API server does not serve.
fn is_missing_kind(event: &AuditEvent) -> bool {
    event.user_agent.starts_with("fairway/")
        && event.object_ref.as_ref().is_none_or(|object| object.name.is_empty())
        && event.response_status.as_ref().is_some_and(|status| status.code == 404)
}

fn received(event: &AuditEvent) -> Option<Timestamp> {
    event.request_received_timestamp.as_ref().map(|time| time.0)
}

/// Writes all objects in the order of the task graph. Returns the duration.
async fn bare_client(payload: &RealPayload, included: &[&Manifest]) -> Result<Duration> {
    let cluster = TestCluster::start_kubernetes().await?;
    prepare_cluster(&cluster, &[payload], &MISSING).await?;
    let client = cluster.client();
    let unserved = unserved_kinds(&client, included).await;
    let wanted: Vec<&Manifest> = included
        .iter()
        .copied()
        .filter(|it| it.annotation("release.openshift.io/delete").is_none())
        .filter(|it| !unserved.contains(&it.id.kind))
        .collect();
    let manifests = with_zero_values(&wanted);
    let plurals = plurals(&manifests);
    let graph = TaskGraph::new(&manifests, RolloutMode::Initializing);
    let permits = Semaphore::new(MAX_CONCURRENT_WRITES);
    let watch = Stopwatch::start();
    let mut nodes: FuturesUnordered<_> = graph
        .nodes()
        .iter()
        .map(|node| write_node(&client, &manifests, &plurals, &node.tasks, &permits))
        .collect();
    while let Some(written) = nodes.next().await {
        written?;
    }
    Ok(watch.elapsed())
}

async fn write_node(
    client: &Client,
    manifests: &[Manifest],
    plurals: &BTreeMap<String, String>,
    tasks: &[Task],
    permits: &Semaphore,
) -> Result<()> {
    for task in tasks {
        let manifest = &manifests[task.position];
        for attempt in 1.. {
            let permit = permits.acquire().await?;
            let written = write(client, manifest, plurals).await;
            drop(permit);
            match written {
                // Another manifest creates the kind or the namespace.
                Err(kube::Error::Api(status)) if status.code == 404 && attempt < MAX_ATTEMPTS => {
                    sleep_until(Instant::now() + RETRY_INTERVAL).await;
                }
                Err(kube::Error::Api(status)) => {
                    println!("  (bare client: {}: {})", manifest.id, status.message);
                    break;
                }
                written => {
                    written?;
                    break;
                }
            }
        }
    }
    Ok(())
}

async fn write(
    client: &Client,
    manifest: &Manifest,
    plurals: &BTreeMap<String, String>,
) -> kube::Result<()> {
    let id = &manifest.id;
    let kind = GroupVersionKind::gvk(&id.group, &manifest.version, &id.kind);
    let resource = match plurals.get(&id.kind) {
        Some(plural) => ApiResource::from_gvk_with_plural(&kind, plural),
        None => ApiResource::from_gvk(&kind),
    };
    let api: Api<DynamicObject> = match id.namespace.as_str() {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    let mut object = manifest.completed_object();
    object.as_object_mut().map(|object| object.remove("status"));
    let parameters = PatchParams::apply("bare").force();
    api.patch(&id.name, &parameters, &Patch::Apply(object)).await.map(drop)
}

/// The plurals of the kinds that CRDs add.
fn plurals(manifests: &[Manifest]) -> BTreeMap<String, String> {
    let crds = manifests.iter().filter(|it| it.id.kind == "CustomResourceDefinition");
    crds.filter_map(|it| {
        let object = it.object();
        let name = |key: &str| object["spec"]["names"][key].as_str().map(str::to_owned);
        Some((name("kind")?, name("plural")?))
    })
    .collect()
}
