//! What the operator costs: from a new graph to a written status, beside a bare client that
//! fetches the same graph, asks the same queries one after the other and writes the same status;
//! and what it costs while nothing happens.
//!
//! Everything runs on loopback; a query takes ten milliseconds. With `FAIRWAY_DATA`, the longer
//! graph is that of a real platform; with `FAIRWAY_TEST_CLUSTER=kube`, the API server a real one.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

mod graphs;
mod neighbours;
mod operated;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion};
use fairway_testkit::Requests;
use fairway_testkit::measure::{Figure, Table};
use fairway_testkit::platform::Platform;
use fairway_testkit::testbed::process::{peak_bytes, resident_bytes};
use fairway_testkit::testbed::wait::Stopwatch;
use kube::api::PostParams;
use tokio::time::{Instant, sleep_until};

use graphs::Case;
use neighbours::Neighbours;
use operated::{Operator, Site, decided};

/// Both sides get so many turns; the median counts.
const TURNS: usize = 5;

/// How long nothing happens, unless `--idle=SECONDS` says otherwise.
const IDLE: Duration = Duration::from_mins(1);

/// What an operator may hold that does nothing.
const MOST_MEMORY: Figure = Figure::Bytes(40 << 20);

fn main() -> Result<()> {
    let idle = idle_time()?;
    // An error means that it is there already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let platform = Platform::find()?;
    let cases = [Case::many_queries(), Case::platform(&platform)?];
    let runtime = tokio::runtime::Runtime::new()?;
    println!("\nThe operator, with {}", platform.origin());
    runtime.block_on(async {
        let site = Site::prepare().await?;
        let table = Table::new("the operator", "bare client");
        for case in &cases {
            compare(&site, case, &table).await?;
        }
        let [_, platform] = &cases;
        rest(&site, platform, idle).await
    })
}

/// The time that the arguments ask for.
fn idle_time() -> Result<Duration> {
    let given =
        std::env::args().find_map(|argument| Some(argument.strip_prefix("--idle=")?.to_owned()));
    let Some(seconds) = given else { return Ok(IDLE) };
    Ok(Duration::from_secs(seconds.parse().context("--idle is a number of seconds")?))
}

/// What a new graph costs until the status is written.
struct Pass {
    took: Duration,
    queries: usize,
    processor: Duration,
    requests: Requests,
}

async fn compare(site: &Site, case: &Case, table: &Table) -> Result<()> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let neighbours = Neighbours::start(case.graph.clone()).await?;
        site.renew(case).await?;
        let (pass, written) = pass(site, case, &neighbours).await?;
        theirs.push(bare(site, written, &neighbours).await?);
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

/// The operator starts, and all else follows.
async fn pass(site: &Site, case: &Case, neighbours: &Neighbours) -> Result<(Pass, ClusterVersion)> {
    let operator = Operator::start(site, case, neighbours)?;
    let written = decided(&site.cluster_versions()).await?;
    let took = neighbours.since_graph().context("a status without a graph")?;
    let queries = neighbours.answers();
    ensure!(queries == neighbours.queries().len(), "a query was asked twice");
    let (processor, requests) = (operator.processor_time()?, operator.requests(site)?);
    Ok((Pass { took, queries, processor, requests }, written))
}

/// Fetches the graph, asks the same queries one after the other, and writes the same status.
async fn bare(site: &Site, written: ClusterVersion, neighbours: &Neighbours) -> Result<Duration> {
    let (client, url, api) = (reqwest::Client::new(), neighbours.url(), site.cluster_versions());
    let mut object = api.get(CLUSTER_VERSION_NAME).await?;
    object.status = written.status;
    let watch = Stopwatch::start();
    client.get(format!("{url}/graph")).send().await?.bytes().await?;
    for query in neighbours.queries() {
        client.get(format!("{url}/api/v1/query?{query}")).send().await?.bytes().await?;
    }
    api.replace_status(CLUSTER_VERSION_NAME, &PostParams::default(), &object).await?;
    Ok(watch.elapsed())
}

/// What the operator costs while nothing happens.
async fn rest(site: &Site, case: &Case, idle: Duration) -> Result<()> {
    let neighbours = Neighbours::start(case.graph.clone()).await?;
    site.renew(case).await?;
    let operator = Operator::start(site, case, &neighbours)?;
    decided(&site.cluster_versions()).await?;
    site.noted().await?;
    let (mark, before) = (site.cluster.audit_log()?.mark()?, operator.processor_time()?);
    let asked = neighbours.answers();
    sleep_until(Instant::now() + idle).await;
    let requests = Requests::since(&site.cluster.audit_log()?, mark)?;

    println!("\nThe operator of {} while nothing happens for {} s", case.name, idle.as_secs());
    let table = Table::new("the operator", "at most");
    table.row("memory", Figure::Bytes(resident_bytes(operator.pid())?), Some(MOST_MEMORY));
    table.row("  the most so far", Figure::Bytes(peak_bytes(operator.pid())?), None);
    let processor = operator.processor_time()?.saturating_sub(before);
    table.row("processor time", Figure::Time(processor), None);
    table.row("queries", Figure::Count(neighbours.answers() - asked), None);
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
