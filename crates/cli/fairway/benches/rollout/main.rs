//! Resource usage of a rollout: installation, update, drift correction and idle operator with releases
//! of a thousand manifests on a real API server, beside a bare client that sends the same writes, 16 at
//! a time, to another one.
//!
//! `FAIRWAY_BENCH_PAYLOAD` is the directory of the two releases, `FAIRWAY_PAYLOADS` that of payloads of
//! real releases, of which one is installed. `--turns=COUNT` and `--idle=SECONDS` shorten or lengthen
//! it.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

mod bare_client;
mod cluster;
mod drift;
mod real;
mod releases;
mod reporter;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use fairway_release::Manifest;
use fairway_testkit::measure::{Figure, Table, option};
use fairway_testkit::testbed::process::{peak_bytes, processor_time, resident_bytes};
use fairway_testkit::testbed::wait::Stopwatch;
use fairway_testkit::{Requests, TestOperator, environment};
use tokio::time::{Instant, sleep_until};

use cluster::{create_cluster_version, start_cluster, start_operator};
use drift::{Drift, time_correction};
use releases::Payload;
use reporter::{Reporter, operators};

/// Number of measurements of each side without `--turns`; the median counts.
const DEFAULT_TURNS: u64 = 3;

/// Seconds of the idle measurement without `--idle`.
const DEFAULT_IDLE: u64 = 600;

/// Number of objects that are edited, and of those that are deleted; the median counts.
const DRIFTS: usize = 9;

/// Maximum memory of the operator while it watches all objects.
const MAX_MEMORY: Figure = Figure::Bytes(50 << 20);

fn main() -> Result<()> {
    let (turns, idle) = (option("--turns=")?.unwrap_or(DEFAULT_TURNS), option("--idle=")?);
    let idle = Duration::from_secs(idle.unwrap_or(DEFAULT_IDLE));
    match std::env::var_os(environment::PAYLOADS).map(PathBuf::from) {
        Some(payloads) if is_selected("real payload") => {
            tokio::runtime::Runtime::new()?.block_on(real::install(&payloads))?;
        }
        Some(_) => {}
        None => println!("\nSKIPPED: real payload: {} is not set", environment::PAYLOADS),
    }
    let Some(directories) = environment::bench_payload()? else {
        println!("\nSKIPPED: cost of a rollout: {} is not set", environment::BENCH_PAYLOAD);
        return Ok(());
    };
    let [from, to, ..] = &directories[..] else { bail!("an update takes two releases") };
    let layouts = tempfile::tempdir()?;
    let from = Payload::read(from, layouts.path())?;
    let to = Payload::read(to, layouts.path())?;
    let update = Update { changed: to.changed_since(&from), from: &from, to: &to };
    tokio::runtime::Runtime::new()?.block_on(async {
        if is_selected("rollout") {
            roll_out(&update, layouts.path(), turns, idle).await?;
        }
        if is_selected("large definitions") {
            install_with_large_crds(&from).await?;
        }
        Ok(())
    })
}

/// Whether the filter, the first argument that is not an option, selects a measurement.
fn is_selected(name: &str) -> bool {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    filter.is_none_or(|filter| name.contains(&filter))
}

/// Two releases, and the manifests that differ in the second.
struct Update<'a> {
    from: &'a Payload,
    to: &'a Payload,
    changed: Vec<&'a Manifest>,
}

/// Measurements of one side.
#[derive(Default)]
struct Times {
    install: Vec<Duration>,
    update: Vec<Duration>,
    /// Of an update that waits for each level.
    in_order: Vec<Duration>,
    processor: Vec<Duration>,
}

async fn roll_out(update: &Update<'_>, layouts: &Path, turns: u64, idle: Duration) -> Result<()> {
    let (mut ours, mut theirs, mut single) = (Times::default(), Times::default(), Vec::new());
    let Update { from, to, changed } = update;
    let all = from.manifests.len();
    println!(
        "\nFrom {} to {}: {all} manifests, {} changed",
        from.version,
        to.version,
        changed.len()
    );
    let table = Table::new("the operator", "bare client");
    for turn in 1..=turns {
        single.extend(bare_turn(update, &mut theirs).await?);
        let (operator, requests) = operator_turn(update, layouts, &mut ours).await?;
        if turn < turns {
            continue;
        }
        let row = |name, ours: &[Duration], theirs: &[Duration]| {
            table.row(name, Figure::median(ours.to_vec()), Some(Figure::median(theirs.to_vec())));
        };
        row("install", &ours.install, &theirs.install);
        row("update", &ours.update, &theirs.update);
        row("update, beside one in its order", &ours.update, &theirs.in_order);
        row("processor time of both", &ours.processor, &theirs.processor);
        print_requests("requests of the installation", &requests[0], all, &table);
        print_requests("requests of the update", &requests[1], changed.len(), &table);
        let maps: Vec<&Manifest> = to.of_kind("ConfigMap").take(2 * DRIFTS).collect();
        let (edited, deleted) = maps.split_at(maps.len() / 2);
        let took = time_corrections(&operator, edited, Drift::Edited).await?;
        row("repair of an edit", &took, &single);
        let took = time_corrections(&operator, deleted, Drift::Deleted).await?;
        row("repair of a deletion", &took, &single);
        measure_idle(&operator, idle).await?;
    }
    Ok(())
}

/// One object after the other, each once: repeated drift of an object backs off.
async fn time_corrections(
    operator: &TestOperator,
    maps: &[&Manifest],
    drift: Drift,
) -> Result<Vec<Duration>> {
    let mut took = Vec::new();
    for manifest in maps {
        took.push(time_correction(&operator.client(), manifest, drift).await?);
    }
    Ok(took)
}

fn print_requests(name: &str, requests: &Requests, writes: usize, table: &Table) {
    let count = Figure::Count(requests.count(|_| true));
    table.row(name, count, Some(Figure::Count(writes)));
    let verbs: Vec<String> =
        requests.by_verb().iter().map(|(verb, count)| format!("{count} {verb}")).collect();
    println!("  ({}: {requests})", verbs.join(", "));
}

/// Installs and updates with an operator. Returns the operator and its requests for each.
async fn operator_turn(
    update: &Update<'_>,
    layouts: &Path,
    times: &mut Times,
) -> Result<(TestOperator, [Requests; 2])> {
    let cluster = start_cluster().await?;
    let log = cluster.audit_log()?;
    let _reporter = Reporter::start(cluster.client(), update.from);
    create_cluster_version(&cluster).await?;
    let (mark, watch) = (log.mark()?, Stopwatch::start());
    let operator = start_operator(cluster, update.from, layouts)?;
    operator.wait_until_completed(&update.from.version).await?;
    times.install.push(watch.elapsed());
    let installing = Requests::since(&log, mark)?;
    let (mark, watch) = (log.mark()?, Stopwatch::start());
    operator.cluster_version().force(&update.to.image).await?;
    operator.wait_until_completed(&update.to.version).await?;
    times.update.push(watch.elapsed());
    times.processor.push(processor_time(operator.pid()?)?);
    Ok((operator, [installing, Requests::since(&log, mark)?]))
}

/// Writes all objects, and then those that an update changes, with the bare client. Returns the
/// durations of single writes.
async fn bare_turn(update: &Update<'_>, times: &mut Times) -> Result<Vec<Duration>> {
    let cluster = start_cluster().await?;
    let client = cluster.client();
    let before = processor_time(std::process::id())?;
    let all: Vec<&Manifest> = update.from.manifests.iter().collect();
    times.install.push(bare_client::write_all(&client, &all).await?);
    times.update.push(bare_client::write_all(&client, &update.changed).await?);
    times.processor.push(processor_time(std::process::id())?.saturating_sub(before));
    let Update { from, to, .. } = update;
    let back = from.changed_since(to);
    let _reporter = Reporter::start(client.clone(), from);
    let operators = operators(from);
    times
        .in_order
        .push(bare_client::write_in_order(&client, &back, &operators, &from.version).await?);
    let mut single = Vec::new();
    for manifest in update.from.of_kind("ConfigMap").take(DRIFTS) {
        single.push(bare_client::write_one(&client, manifest).await?);
    }
    Ok(single)
}

/// Measures an idle operator.
async fn measure_idle(operator: &TestOperator, idle: Duration) -> Result<()> {
    let log = operator.cluster.audit_log()?;
    let (mark, before) = (log.mark()?, processor_time(operator.pid()?)?);
    sleep_until(Instant::now() + idle).await;
    let requests = Requests::since(&log, mark)?;
    println!("\nThe operator while nothing happens for {} s", idle.as_secs());
    let table = Table::new("the operator", "at most");
    print_memory(operator, &table)?;
    let processor = processor_time(operator.pid()?)?.saturating_sub(before);
    table.row("processor time", Figure::Time(processor), None);
    let lease = |what: &str| what.ends_with(" leases");
    let watches = |what: &str| what.starts_with("watch ");
    table.row("requests about the lease", Figure::Count(requests.count(lease)), None);
    table.row("watches begun", Figure::Count(requests.count(watches)), None);
    let others = requests.count(|what| !lease(what) && !watches(what));
    table.row("other requests", Figure::Count(others), None);
    println!("({requests})");
    Ok(())
}

fn print_memory(operator: &TestOperator, table: &Table) -> Result<()> {
    let pid = operator.pid()?;
    table.row("memory", Figure::Bytes(resident_bytes(pid)?), Some(MAX_MEMORY));
    table.row("  the most so far", Figure::Bytes(peak_bytes(pid)?), Some(MAX_MEMORY));
    Ok(())
}

/// Measures an operator of a release with large CRDs.
async fn install_with_large_crds(payload: &Payload) -> Result<()> {
    let (directory, layouts) = (tempfile::tempdir()?, tempfile::tempdir()?);
    payload.write_with_large_crds(directory.path())?;
    let payload = Payload::read(directory.path(), layouts.path())?;
    let cluster = start_cluster().await?;
    let _reporter = Reporter::start(cluster.client(), &payload);
    create_cluster_version(&cluster).await?;
    let watch = Stopwatch::start();
    let operator = start_operator(cluster, &payload, layouts.path())?;
    operator.wait_until_completed(&payload.version).await?;
    println!("\nThe operator of a release with 200 definitions of 100 KiB more");
    let table = Table::new("the operator", "at most");
    table.row("install", Figure::Time(watch.elapsed()), None);
    print_memory(&operator, &table)
}
