//! What a preflight costs: how long it takes until a release has said all that it has to say, what
//! the release and its checks hold of memory, and what they ask of the API server.
//!
//! Where `cargo xtask bench` gives it a Kubernetes, pods are containers there; otherwise they are
//! those of a sandbox. `--turns=COUNT` shortens or lengthens it.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

mod asked;
mod processes;

use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_api::cluster_version::ClusterVersionStatus;
use fairway_api::{CLUSTER_VERSION_NAME, Conditions as _};
use fairway_findings::labels;
use fairway_install::manifests::own_manifests;
use fairway_testkit::measure::{Figure, Table};
use fairway_testkit::testbed::wait::Stopwatch;
use fairway_testkit::{TestPlatform, wait};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use asked::Asked;
use processes::Peaks;

/// So many times a release is asked, unless `--turns` says otherwise; the median counts.
const TURNS: usize = 5;

/// What people wait for with the terminal open.
const AIM: Duration = Duration::from_secs(10);

/// What a run may hold by default, and what each of its checks may.
const RUN: Figure = Figure::Bytes(512 << 20);
const CHECK: Figure = Figure::Bytes(100 << 20);

/// A release that finds nothing.
const RELEASE: &str = "5.1.0";

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    if filter.is_some_and(|filter| !"preflight".contains(&filter)) {
        return Ok(());
    }
    let turns = arguments.find_map(|argument| Some(argument.strip_prefix("--turns=")?.to_owned()));
    let turns = turns.map_or(Ok(TURNS), |turns| turns.parse()).context("--turns takes a number")?;
    tokio::runtime::Runtime::new()?.block_on(measure(turns))
}

async fn measure(turns: usize) -> Result<()> {
    let platform = TestPlatform::install(own_manifests(), "5.0.0", "stable-5.2").await?;
    let place = if platform.cluster.is_sandbox() { "a sandbox" } else { "Kubernetes" };
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    // What is measured begins with images that are there.
    ask(&platform).await?;
    withdraw(&platform).await?;

    println!("\nA preflight of {RELEASE} in {place}, {build} build");
    let table = Table::new("preflight", "at most");
    let (mut asking, mut withdrawing) = (Vec::new(), Vec::new());
    for _ in 0..turns {
        asking.push(ask(&platform).await?);
        withdrawing.push(withdraw(&platform).await?);
    }
    let row = |name, took| table.row(name, Figure::median(took), Some(Figure::Time(AIM)));
    row("request to first complete result", asking);
    row("withdrawal until nothing is left", withdrawing);

    // Looking at processes takes time of its own, so nobody looks at the clock here.
    let log = platform.cluster.audit_log()?;
    let mark = log.mark()?;
    let peaks = Peaks::watch();
    ask(&platform).await?;
    let (run, checks) = peaks.end();
    let asked = Asked::since(&log, mark)?;
    table.row("memory of the run, at its peak", run, Some(RUN));
    for (check, peak) in checks {
        table.row(&format!("memory of the check {check}"), peak, Some(CHECK));
    }
    table.row("requests of the run", Figure::Count(asked.of_the_run()), None);
    println!("  ({asked})");
    for (check, requests) in asked.of_checks() {
        table.row(&format!("requests of the check {check}"), Figure::Count(requests), None);
    }
    withdraw(&platform).await?;
    Ok(())
}

/// Asks the release, and says how long it took until it has answered in full.
async fn ask(platform: &TestPlatform) -> Result<Duration> {
    let watch = Stopwatch::start();
    want(platform, json!({ "version": RELEASE, "mode": "Preflight" })).await?;
    let has_answered =
        |status: &ClusterVersionStatus| status.conditions.is_true("PreflightCompleted");
    platform.until("a complete result", has_answered).await?;
    Ok(watch.elapsed())
}

/// Withdraws the request, and says how long it took until its pods were gone: another run would wait
/// for that.
async fn withdraw(platform: &TestPlatform) -> Result<Duration> {
    let watch = Stopwatch::start();
    want(platform, Value::Null).await?;
    let pods: Api<Pod> = Api::all(platform.cluster.client());
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

async fn want(platform: &TestPlatform, update: Value) -> Result<()> {
    let patch = Patch::Merge(json!({ "spec": { "desiredUpdate": update } }));
    let versions = platform.cluster_versions();
    versions.patch(CLUSTER_VERSION_NAME, &PatchParams::default(), &patch).await?;
    Ok(())
}
