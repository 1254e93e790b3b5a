//! What the installation of a real release costs, beside a bare client that writes the same objects
//! in the same order.
#![expect(clippy::disallowed_methods, reason = "measuring is about the clock of this host")]
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_release::task_graph::{Mode, Task, TaskGraph};
use fairway_release::{Manifest, with_zero_values};
use fairway_testkit::measure::{Figure, Table};
use fairway_testkit::real::{
    Components, MissingKind, OperatorProcess, RealPayload, absent, lacking, prepare,
};
use fairway_testkit::testbed::process::{peak_bytes, resident_bytes};
use fairway_testkit::testbed::wait::Stopwatch;
use fairway_testkit::{AuditEvent, Requests, TestCluster, wait};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};

/// An API server of that age takes minutes for large CRDs.
const INSTALL_TIMEOUT: Duration = Duration::from_mins(15);

/// As many as the operator writes at once.
const AT_ONCE: usize = 16;

/// How often the bare client tries an object whose kind or namespace is missing, and how long it
/// waits in between.
const TRIES: usize = 600;
const PAUSE: Duration = Duration::from_millis(100);

/// What the operator may hold once everything is applied.
const MAX_MEMORY: Figure = Figure::Bytes(60 << 20);

/// How long the operator may take from its start to its first write.
const MAX_FIRST_WRITE: Figure = Figure::Time(Duration::from_secs(1));

/// Requests for each hundred manifests.
const MAX_REQUESTS_PERCENT: usize = 120;

/// Kinds of OpenShift's aggregated API server.
const MISSING: [MissingKind; 1] = [MissingKind {
    group: "image.openshift.io",
    kind: "ImageStream",
    plural: "imagestreams",
    namespaced: true,
}];

/// Installs the 5.0 payload below a directory with both.
pub(crate) async fn install(payloads: &Path) -> Result<()> {
    let payload = RealPayload::unpack(payloads, "5.0")?;
    let included = payload.included();
    println!("\nInstalling the payload 5.0 of real operators: {} manifests", included.len());
    let table = Table::new("the operator", "bare client");
    let bare = bare_client(&payload, &included).await?;

    let cluster = TestCluster::control_plane().await?;
    prepare(&cluster, &[&payload], &MISSING).await?;
    let _components = Components::start(&cluster.client(), &included);
    let (log, layouts) = (cluster.audit_log()?, tempfile::tempdir()?);
    let (mark, begun) = (log.mark()?, Timestamp::now());
    let operator = OperatorProcess::start(&cluster, &payload, layouts.path())?;
    let lacking = lacking(&cluster.client(), &included).await;
    let settled = wait::until_within(INSTALL_TIMEOUT, "all objects", async || {
        let absent = absent(&cluster.client(), &included).await?;
        let left = absent.iter().filter(|it| !lacking.contains(&it.id.kind)).count();
        Ok((left <= 1).then_some(()))
    });
    settled.await.with_context(|| operator.log().unwrap_or_default())?;
    let writes: Vec<Timestamp> =
        log.since(mark)?.iter().filter(|it| is_object_write(it)).filter_map(received).collect();
    let since = |at: Option<&Timestamp>| {
        let took = at.map(|at| at.duration_since(begun)).unwrap_or_default();
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
    goals.row("memory", Figure::Bytes(resident_bytes(operator.pid())?), Some(MAX_MEMORY));
    goals.row("  peak", Figure::Bytes(peak_bytes(operator.pid())?), None);
    let not_found = log.since(mark)?.iter().filter(|it| is_missing_kind(it)).count();
    goals.row("lookups of missing kinds", Figure::Count(not_found), None);
    println!("  (not served by this API server: {lacking:?})");
    Ok(())
}

fn is_object_write(event: &AuditEvent) -> bool {
    let is_status = event.object_ref.as_ref().is_some_and(|it| !it.subresource.is_empty());
    event.is_write()
        && event.user_agent.starts_with("fairway/")
        && !is_status
        && !["leases", "events"].iter().any(|resource| event.is_about(resource))
}

/// Whether a request asked for a group or a kind that the API server does not serve.
fn is_missing_kind(event: &AuditEvent) -> bool {
    event.user_agent.starts_with("fairway/")
        && event.object_ref.as_ref().is_none_or(|object| object.name.is_empty())
        && event.response_status.as_ref().is_some_and(|status| status.code == 404)
}

fn received(event: &AuditEvent) -> Option<Timestamp> {
    event.request_received_timestamp.as_ref().map(|time| time.0)
}

/// Writes all objects in the order of the task graph; how long that took.
async fn bare_client(payload: &RealPayload, included: &[&Manifest]) -> Result<Duration> {
    let cluster = TestCluster::control_plane().await?;
    prepare(&cluster, &[payload], &MISSING).await?;
    let client = cluster.client();
    let lacking = lacking(&client, included).await;
    let wanted: Vec<&Manifest> = included
        .iter()
        .copied()
        .filter(|it| it.annotation("release.openshift.io/delete").is_none())
        .filter(|it| !lacking.contains(&it.id.kind))
        .collect();
    let manifests = with_zero_values(&wanted);
    let plurals = plurals(&manifests);
    let graph = TaskGraph::new(&manifests, Mode::Initializing);
    let permits = Semaphore::new(AT_ONCE);
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
        for turn in 1.. {
            let permit = permits.acquire().await?;
            let written = write(client, manifest, plurals).await;
            drop(permit);
            match written {
                // What is missing comes with another object.
                Err(kube::Error::Api(status)) if status.code == 404 && turn < TRIES => {
                    sleep_until(Instant::now() + PAUSE).await;
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
