//! Resource usage of a preflight: the time until its result is complete, and the memory and the requests
//! of its runner and its checks.
//!
//! `cargo xtask bench` provides a Kubernetes; without it, the bench uses a sandbox. `--turns=COUNT`
//! shortens or lengthens it.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

mod memory;
mod requests;

use std::time::Duration;

use anyhow::Result;
use fairway_api::Conditions as _;
use fairway_api::cluster_version::ClusterVersionStatus;
use fairway_findings::labels;
use fairway_install::manifests::own_manifests;
use fairway_testkit::measure::{Figure, Table, option};
use fairway_testkit::testbed::wait::Stopwatch;
use fairway_testkit::{TestPlatform, wait};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};

use memory::PeakMonitor;
use requests::PreflightRequests;

/// Number of preflights without `--turns`; the median counts.
const DEFAULT_TURNS: u64 = 5;

/// Goal for the duration: users wait for it in a terminal.
const MAX_DURATION: Duration = Duration::from_secs(10);

/// Default memory limits of a run and of each check.
const MAX_RUN_MEMORY: Figure = Figure::Bytes(512 << 20);
const MAX_CHECK_MEMORY: Figure = Figure::Bytes(100 << 20);

/// A release without findings.
const RELEASE: &str = "5.1.0";

fn main() -> Result<()> {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    if filter.is_some_and(|filter| !"preflight".contains(&filter)) {
        return Ok(());
    }
    let turns = option("--turns=")?.unwrap_or(DEFAULT_TURNS);
    tokio::runtime::Runtime::new()?.block_on(measure(turns))
}

async fn measure(turns: u64) -> Result<()> {
    let platform = TestPlatform::start(own_manifests(), "5.0.0", "stable-5.2").await?;
    let place = if platform.cluster.is_sandbox() { "a sandbox" } else { "Kubernetes" };
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    // The first run pulls the images.
    request(&platform).await?;
    withdraw(&platform).await?;

    println!("\nA preflight of {RELEASE} in {place}, {build} build");
    let table = Table::new("preflight", "at most");
    let (mut requesting, mut withdrawing) = (Vec::new(), Vec::new());
    for _ in 0..turns {
        requesting.push(request(&platform).await?);
        withdrawing.push(withdraw(&platform).await?);
    }
    let row = |name, took| table.row(name, Figure::median(took), Some(Figure::Time(MAX_DURATION)));
    row("request to first complete result", requesting);
    row("withdrawal until nothing is left", withdrawing);

    // Not timed: reading /proc takes time.
    let log = platform.cluster.audit_log()?;
    let mark = log.mark()?;
    let peaks = PeakMonitor::start();
    request(&platform).await?;
    let (run, checks) = peaks.end();
    let requests = PreflightRequests::since(&log, mark)?;
    table.row("memory of the run, at its peak", run, Some(MAX_RUN_MEMORY));
    for (check, peak) in checks {
        table.row(&format!("memory of the check {check}"), peak, Some(MAX_CHECK_MEMORY));
    }
    table.row("requests of the run", Figure::Count(requests.of_run()), None);
    println!("  ({requests})");
    for (check, count) in requests.of_checks() {
        table.row(&format!("requests of the check {check}"), Figure::Count(count), None);
    }
    withdraw(&platform).await?;
    Ok(())
}

/// Requests a preflight. Returns the time until its result is complete.
async fn request(platform: &TestPlatform) -> Result<Duration> {
    let watch = Stopwatch::start();
    let preflight = json!({ "version": RELEASE, "mode": "Preflight" });
    platform.cluster_version().request(preflight).await?;
    let is_complete =
        |status: &ClusterVersionStatus| status.conditions.is_true("PreflightCompleted");
    platform.wait_until("a complete result", is_complete).await?;
    Ok(watch.elapsed())
}

/// Withdraws the request. Returns the time until its pods are deleted, for which the next run waits.
async fn withdraw(platform: &TestPlatform) -> Result<Duration> {
    let watch = Stopwatch::start();
    platform.cluster_version().request(Value::Null).await?;
    let pods: Api<Pod> = Api::all(platform.client());
    wait::until("the end of the preflight", || async {
        let left = pods.list(&ListParams::default().labels(labels::RUN)).await?;
        let status = platform.status().await?;
        let reason = |type_| status.conditions.find(type_).and_then(|it| it.reason.as_deref());
        let reasons = ["PreflightRunning", "PreflightCompleted"].map(reason);
        Ok((left.items.is_empty() && reasons == [Some("NotRequested"); 2]).then_some(()))
    })
    .await?;
    Ok(watch.elapsed())
}
