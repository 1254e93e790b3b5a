//! Resource usage of the operator: from a new graph to the written status, beside a bare client that
//! fetches the same graph, sends the same queries one after the other and writes the same status; and
//! of an idle operator.
//!
//! Everything runs on loopback; a query takes ten milliseconds. With `FAIRWAY_DATA`, the longer graph
//! is that of a real platform. With `FAIRWAY_TEST_CLUSTER=kube`, the API server is a real one.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

mod cluster;
mod graph;
mod services;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion};
use fairway_testkit::Requests;
use fairway_testkit::measure::{Figure, Table, option};
use fairway_testkit::platform::Platform;
use fairway_testkit::testbed::process::{peak_bytes, processor_time, resident_bytes};
use fairway_testkit::testbed::wait::Stopwatch;
use kube::api::PostParams;
use tokio::time::{Instant, sleep_until};

use cluster::{BenchCluster, is_evaluated};
use graph::GraphCase;
use services::StubServices;

/// Number of measurements of each side; the median counts.
const ROUNDS: usize = 5;

/// Duration of the idle measurement without `--idle=SECONDS`.
const DEFAULT_IDLE: Duration = Duration::from_mins(1);

/// Maximum memory of an idle operator.
const MAX_MEMORY: Figure = Figure::Bytes(40 << 20);

fn main() -> Result<()> {
    let idle = option("--idle=")?.map_or(DEFAULT_IDLE, Duration::from_secs);
    // An error means that it is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let platform = Platform::find()?;
    let cases = [GraphCase::many_queries(), GraphCase::platform(&platform)?];
    let runtime = tokio::runtime::Runtime::new()?;
    println!("\nThe operator, with {}", platform.origin());
    runtime.block_on(async {
        let cluster = BenchCluster::prepare().await?;
        let table = Table::new("the operator", "bare client");
        for case in &cases {
            compare(&cluster, case, &table).await?;
        }
        let [_, platform] = &cases;
        measure_idle(&cluster, platform, idle).await
    })
}

/// Measurements from a new graph to the written status.
struct Pass {
    took: Duration,
    queries: usize,
    processor: Duration,
    requests: Requests,
}

async fn compare(cluster: &BenchCluster, case: &GraphCase, table: &Table) -> Result<()> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let services = StubServices::start(case.graph.clone()).await?;
        cluster.reset(case).await?;
        let (pass, written) = pass(cluster, case, &services).await?;
        theirs.push(bare_client(cluster, written, &services).await?);
        ours.push(pass);
    }
    let last = ours.last().context("no turns")?;
    println!("{}: {} bytes of graph", case.name, case.graph.len());
    let times = ours.iter().map(|pass| pass.took).collect();
    table.row(
        "  from graph to written status",
        Figure::median(times),
        Some(Figure::median(theirs)),
    );
    let queries = Figure::Count(last.queries);
    table.row("  queries", queries, Some(queries));
    let requests = Figure::Count(last.requests.count(|_| true));
    table.row("  API requests since the program started", requests, Some(Figure::Count(1)));
    let processor = ours.iter().map(|pass| pass.processor).collect();
    table.row("  processor time since then", Figure::median(processor), None);
    println!("  ({})", last.requests);
    Ok(())
}

/// Starts the operator and measures until every risk is evaluated.
async fn pass(
    cluster: &BenchCluster,
    case: &GraphCase,
    services: &StubServices,
) -> Result<(Pass, ClusterVersion)> {
    let (mark, payload) = (cluster.cluster.audit_log()?.mark()?, tempfile::tempdir()?);
    let operator = cluster.start_operator(case, services, &payload)?;
    operator.wait_until("all risks to be evaluated", is_evaluated).await?;
    let took = services.since_graph().context("no request for the graph")?;
    let queries = services.query_count();
    ensure!(queries == services.queries().len(), "the operator repeated a query");
    let processor = processor_time(operator.pid()?)?;
    let requests = Requests::since(&cluster.cluster.audit_log()?, mark)?;
    let written = operator.cluster_version().get().await?;
    Ok((Pass { took, queries, processor, requests }, written))
}

/// Fetches the graph, sends the same queries one after the other, and writes the same status.
async fn bare_client(
    cluster: &BenchCluster,
    written: ClusterVersion,
    services: &StubServices,
) -> Result<Duration> {
    let (client, url, api) = (reqwest::Client::new(), services.url(), cluster.cluster_versions());
    let mut object = api.get(CLUSTER_VERSION_NAME).await?;
    object.status = written.status;
    let watch = Stopwatch::start();
    client.get(format!("{url}/graph")).send().await?.bytes().await?;
    for query in services.queries() {
        client.get(format!("{url}/api/v1/query?{query}")).send().await?.bytes().await?;
    }
    api.replace_status(CLUSTER_VERSION_NAME, &PostParams::default(), &object).await?;
    Ok(watch.elapsed())
}

/// Measures an idle operator.
async fn measure_idle(cluster: &BenchCluster, case: &GraphCase, idle: Duration) -> Result<()> {
    let services = StubServices::start(case.graph.clone()).await?;
    cluster.reset(case).await?;
    let payload = tempfile::tempdir()?;
    let operator = cluster.start_operator(case, &services, &payload)?;
    operator.wait_until("all risks to be evaluated", is_evaluated).await?;
    cluster.wait_until_stored().await?;
    let (mark, pid) = (cluster.cluster.audit_log()?.mark()?, operator.pid()?);
    let before = processor_time(pid)?;
    let queries = services.query_count();
    sleep_until(Instant::now() + idle).await;
    let requests = Requests::since(&cluster.cluster.audit_log()?, mark)?;

    println!("\nThe operator of {} while nothing happens for {} s", case.name, idle.as_secs());
    let table = Table::new("the operator", "at most");
    table.row("memory", Figure::Bytes(resident_bytes(pid)?), Some(MAX_MEMORY));
    table.row("  the most so far", Figure::Bytes(peak_bytes(pid)?), None);
    let processor = processor_time(pid)?.saturating_sub(before);
    table.row("processor time", Figure::Time(processor), None);
    table.row("queries", Figure::Count(services.query_count() - queries), None);
    let lease = |what: &str| what.ends_with(" leases");
    table.row("API requests about the lease", Figure::Count(requests.count(lease)), None);
    table.row(
        "watches begun or ended",
        Figure::Count(requests.count(|what| what.starts_with("watch "))),
        None,
    );
    let others = |what: &str| !lease(what) && !what.starts_with("watch ");
    table.row("other API requests", Figure::Count(requests.count(others)), None);
    println!("({requests})");
    Ok(())
}
