//! What a rollout costs: a release of a platform's size is installed and updated on a real API
//! server, kept right and left alone, beside a bare client that sends the same writes, 16 at a
//! time, to another one.
//!
//! `FAIRWAY_BENCH_PAYLOAD` names the directory of the two releases, `FAIRWAY_PAYLOADS` that of the
//! payloads of real operators, of which one is installed; `--turns=COUNT` and
//! `--idle=SECONDS` shorten or lengthen it.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

mod bare;
mod drift;
mod real;
mod releases;
mod reporter;
mod site;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fairway_release::Manifest;
use fairway_testkit::measure::{Figure, Table};
use fairway_testkit::testbed::process::{peak_bytes, processor_time, resident_bytes};
use fairway_testkit::testbed::wait::Stopwatch;
use fairway_testkit::{Requests, environment};
use tokio::time::{Instant, sleep_until};

use drift::{Drift, repaired};
use releases::Payload;
use reporter::{Reporter, operators};
use site::{Operator, Site};

/// Both sides install and update so many times, unless `--turns` says otherwise; the median counts.
const TURNS: u64 = 3;

/// For so many seconds nothing happens, unless `--idle` says otherwise.
const IDLE: u64 = 600;

/// Objects that are edited, and as many that are deleted; the median counts.
const DRIFTS: usize = 9;

/// What the operator may hold with all objects watched.
const MOST_MEMORY: Figure = Figure::Bytes(50 << 20);

fn main() -> Result<()> {
    let (turns, idle) = (argument("--turns=")?.unwrap_or(TURNS), argument("--idle=")?);
    let idle = Duration::from_secs(idle.unwrap_or(IDLE));
    match std::env::var_os(environment::PAYLOADS).map(PathBuf::from) {
        Some(payloads) if is_asked_for("real payload") => {
            tokio::runtime::Runtime::new()?.block_on(real::install(&payloads))?;
        }
        Some(_) => {}
        None => println!("\nLEFT OUT: a real payload, for {} is unset", environment::PAYLOADS),
    }
    let Some(directories) = environment::bench_payload()? else {
        println!("\nLEFT OUT: what a rollout costs, for {} is unset", environment::BENCH_PAYLOAD);
        return Ok(());
    };
    let [from, to, ..] = &directories[..] else { bail!("an update takes two releases") };
    let layouts = tempfile::tempdir()?;
    let from = Payload::read(from, layouts.path())?;
    let to = Payload::read(to, layouts.path())?;
    let update = Update { changed: to.changed_since(&from), from: &from, to: &to };
    tokio::runtime::Runtime::new()?.block_on(async {
        if is_asked_for("rollout") {
            roll_out(&update, layouts.path(), turns, idle).await?;
        }
        if is_asked_for("large definitions") {
            hold_large_definitions(&from).await?;
        }
        Ok(())
    })
}

/// Whether the filter, the first argument that is not an option, leaves a measurement in.
fn is_asked_for(name: &str) -> bool {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    filter.is_none_or(|filter| name.contains(&filter))
}

/// The number that follows an option.
fn argument(option: &str) -> Result<Option<u64>> {
    let given = std::env::args().find_map(|given| Some(given.strip_prefix(option)?.to_owned()));
    given
        .map(|number| number.parse().with_context(|| format!("{option} takes a number")))
        .transpose()
}

/// Two releases, and what is otherwise in the second.
struct Update<'a> {
    from: &'a Payload,
    to: &'a Payload,
    changed: Vec<&'a Manifest>,
}

/// What both sides are measured in.
#[derive(Default)]
struct Times {
    install: Vec<Duration>,
    update: Vec<Duration>,
    /// With the waits that an update cannot do without.
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
        let site = Site::prepare().await?;
        let (operator, requests) = our_turn(update, &site, layouts, &mut ours).await?;
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
        tell("requests of the installation", &requests[0], all, &table);
        tell("requests of the update", &requests[1], changed.len(), &table);
        let maps: Vec<&Manifest> = to.of_kind("ConfigMap").take(2 * DRIFTS).collect();
        let (edited, deleted) = maps.split_at(maps.len() / 2);
        let took = repairs(&site, edited, Drift::Edited).await?;
        row("repair of an edit", &took, &single);
        let took = repairs(&site, deleted, Drift::Deleted).await?;
        row("repair of a deletion", &took, &single);
        rest(&site, &operator, idle).await?;
    }
    Ok(())
}

/// One after the other; a second repair of the same object would come later.
async fn repairs(site: &Site, maps: &[&Manifest], drift: Drift) -> Result<Vec<Duration>> {
    let mut took = Vec::new();
    for manifest in maps {
        took.push(repaired(&site.cluster.client(), manifest, drift).await?);
    }
    Ok(took)
}

fn tell(name: &str, requests: &Requests, writes: usize, table: &Table) {
    let count = Figure::Count(requests.count(|_| true));
    table.row(name, count, Some(Figure::Count(writes)));
    let verbs: Vec<String> =
        requests.by_verb().iter().map(|(verb, count)| format!("{count} {verb}")).collect();
    println!("  ({}: {requests})", verbs.join(", "));
}

/// The operator installs and updates; it goes on, and what it asked for each is returned.
async fn our_turn(
    update: &Update<'_>,
    site: &Site,
    layouts: &Path,
    times: &mut Times,
) -> Result<(Operator, [Requests; 2])> {
    let log = site.cluster.audit_log()?;
    let _reporter = Reporter::start(site.cluster.client(), update.from);
    site.make_cluster_version().await?;
    let (mark, watch) = (log.mark()?, Stopwatch::start());
    let operator = Operator::start(site, update.from, layouts)?;
    site.completed(update.from).await?;
    times.install.push(watch.elapsed());
    let installing = Requests::since(&log, mark)?;
    let (mark, watch) = (log.mark()?, Stopwatch::start());
    site.ask_for(update.to).await?;
    site.completed(update.to).await?;
    times.update.push(watch.elapsed());
    times.processor.push(operator.processor_time()?);
    Ok((operator, [installing, Requests::since(&log, mark)?]))
}

/// The bare client writes all objects, and then those that an update changes; how long single ones
/// take is returned.
async fn bare_turn(update: &Update<'_>, times: &mut Times) -> Result<Vec<Duration>> {
    let site = Site::prepare().await?;
    let client = site.cluster.client();
    let before = processor_time(std::process::id())?;
    let all: Vec<&Manifest> = update.from.manifests.iter().collect();
    times.install.push(bare::write_all(&client, &all).await?);
    times.update.push(bare::write_all(&client, &update.changed).await?);
    times.processor.push(processor_time(std::process::id())?.saturating_sub(before));
    let Update { from, to, .. } = update;
    let back = from.changed_since(to);
    let _reporter = Reporter::start(client.clone(), from);
    let operators = operators(from);
    times.in_order.push(bare::write_in_order(&client, &back, &operators, &from.version).await?);
    let mut single = Vec::new();
    for manifest in update.from.of_kind("ConfigMap").take(DRIFTS) {
        single.push(bare::write_one(&client, manifest).await?);
    }
    Ok(single)
}

/// What the operator costs while nothing happens.
async fn rest(site: &Site, operator: &Operator, idle: Duration) -> Result<()> {
    let log = site.cluster.audit_log()?;
    let (mark, before) = (log.mark()?, operator.processor_time()?);
    sleep_until(Instant::now() + idle).await;
    let requests = Requests::since(&log, mark)?;
    println!("\nThe operator while nothing happens for {} s", idle.as_secs());
    let table = Table::new("the operator", "at most");
    hold("memory", operator, &table)?;
    let processor = operator.processor_time()?.saturating_sub(before);
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

fn hold(name: &str, operator: &Operator, table: &Table) -> Result<()> {
    table.row(name, Figure::Bytes(resident_bytes(operator.pid())?), Some(MOST_MEMORY));
    table.row("  the most so far", Figure::Bytes(peak_bytes(operator.pid())?), Some(MOST_MEMORY));
    Ok(())
}

/// What it takes to hold definitions with long schemas besides.
async fn hold_large_definitions(payload: &Payload) -> Result<()> {
    let (directory, layouts) = (tempfile::tempdir()?, tempfile::tempdir()?);
    payload.write_with_large_definitions(directory.path())?;
    let payload = Payload::read(directory.path(), layouts.path())?;
    let site = Site::prepare().await?;
    let _reporter = Reporter::start(site.cluster.client(), &payload);
    site.make_cluster_version().await?;
    let watch = Stopwatch::start();
    let operator = Operator::start(&site, &payload, layouts.path())?;
    site.completed(&payload).await?;
    println!("\nThe operator of a release with 200 definitions of 100 KiB more");
    let table = Table::new("the operator", "at most");
    table.row("install", Figure::Time(watch.elapsed()), None);
    hold("memory", &operator, &table)
}
