//! Throughput and latency of the service compared with a bare HTTP server that sends the same bytes
//! from memory, and the cost of starting it.
//!
//! Both servers share one process and one runtime, and the clients share the host, so only the ratio
//! counts. With `FAIRWAY_DATA`, the graph is that of a real platform.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

mod bare;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::Result;
use fairway_testbed::bench_job::{self, Job};
use fairway_testkit::measure::{Figure, Table};
use fairway_testkit::platform::Platform;
use fairway_testkit::testbed::wrk::{Load, Wrk};
use fairway_update_service::source::{Directory, ReleasesFile};
use fairway_update_service::{PolledSource, Service, ServiceOptions};
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep_until};

/// Both servers are measured in turns of this length. The best turn counts, because other load on
/// the host disturbs it least.
const TURNS: usize = 8;
const TURN: Duration = Duration::from_secs(1);

/// Concurrent connections, as in the measurement of Cincinnati.
const CONNECTIONS: usize = 8;

const START: Job = Job { name: "start", work: start_and_stop };

fn main() -> Result<()> {
    if bench_job::do_own(&[START])? {
        return Ok(());
    }
    let platform = Platform::find()?;
    println!("\nThe update service, with {}", platform.origin());
    let table = Table::new("service", "existing one");
    let cost = START.cost(&platform)?;
    table.row(
        "start: processor time",
        Figure::Time(cost.processor),
        platform.known(existing::START),
    );
    table.row(
        "start: most memory",
        Figure::Bytes(cost.peak_bytes),
        platform.known(existing::MEMORY),
    );
    match Wrk::find(&|text| println!("{text}")) {
        Ok(wrk) => serve(&platform, &wrk, &table),
        Err(error) => {
            println!("left out: answers in a second, which need wrk: {error:#}");
            Ok(())
        }
    }
}

/// Measurements of Cincinnati with the same data on two cores, for the larger channel, with the
/// same number of connections.
mod existing {
    use std::time::Duration;

    use fairway_testkit::measure::Figure;

    /// Time to assemble and parse the graph, after all metadata is fetched.
    pub(super) const START: Figure = Figure::Time(Duration::from_secs(16));
    pub(super) const MEMORY: Figure = Figure::Bytes(303 << 20);
    pub(super) const ANSWERS: Figure = Figure::PerSecond(13.3);
    pub(super) const P50: Figure = Figure::Time(Duration::from_millis(580));
    pub(super) const P99: Figure = Figure::Time(Duration::from_millis(852));
}

fn serve(platform: &Platform, wrk: &Wrk, existing: &Table) -> Result<()> {
    let runtime = Runtime::new()?;
    let service = runtime.block_on(start(platform))?;
    let ask = |case: &Case| -> Result<(Load, Load)> {
        let answer = bare::fetch(service.address(), &case.path, &case.headers)?;
        let bare = runtime.block_on(bare::serve(answer))?;
        let measure = |address| case.load(wrk, address);
        let (mut ours, mut theirs) = (measure(service.address())?, measure(bare)?);
        for _ in 1..TURNS {
            ours = better(ours, measure(service.address())?);
            theirs = better(theirs, measure(bare)?);
        }
        Ok((ours, theirs))
    };

    let (large, _) = ask(&Case::new(platform.large(), None))?;
    existing.row("answers", Figure::PerSecond(large.per_second), platform.known(existing::ANSWERS));
    existing.row("half of them within", Figure::Time(large.p50), platform.known(existing::P50));
    existing.row("99 of 100 within", Figure::Time(large.p99), platform.known(existing::P99));

    println!("\nAnswers on {CONNECTIONS} connections");
    let table = Table::new("service", "bare server");
    for channel in [platform.small(), platform.large()] {
        let plain = Case::new(channel, None);
        let tag = bare::fetch(service.address(), &plain.path, &[])?.header("etag")?;
        let gzip = Case::new(channel, Some(("accept-encoding", "gzip")));
        let known = Case::new(channel, Some(("if-none-match", &tag)));
        for (how, case) in [("plain", plain), ("gzip", gzip), ("not modified", known)] {
            let bytes = bare::fetch(service.address(), &case.path, &case.headers)?.body.len();
            let (ours, theirs) = ask(&case)?;
            let rate = |load: Load| Figure::PerSecond(load.per_second);
            table.row(&format!("{channel}, {how}, {bytes} bytes"), rate(ours), Some(rate(theirs)));
            for (name, time) in [
                ("    half of them within", (ours.p50, theirs.p50)),
                ("    99 of 100 within", (ours.p99, theirs.p99)),
            ] {
                table.row(name, Figure::Time(time.0), Some(Figure::Time(time.1)));
            }
        }
    }
    runtime.block_on(service.stop());
    Ok(())
}

/// A request that is repeated.
struct Case {
    path: String,
    headers: Vec<(String, String)>,
}

impl Case {
    fn new(channel: &str, header: Option<(&str, &str)>) -> Self {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self {
            path: format!("/api/upgrades_info/v1/graph?channel={channel}"),
            headers: header.map(owned).into_iter().collect(),
        }
    }

    fn load(&self, wrk: &Wrk, address: SocketAddr) -> Result<Load> {
        wrk.load(&format!("http://{address}{}", self.path), &self.headers, CONNECTIONS, TURN)
    }
}

fn better(one: Load, other: Load) -> Load {
    if other.per_second > one.per_second { other } else { one }
}

fn start_and_stop(platform: &Platform) -> Result<()> {
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        start(platform).await?.stop().await;
        Ok(())
    })
}

/// Starts a service and waits for its graph.
async fn start(platform: &Platform) -> Result<Service> {
    let often = Duration::from_mins(10);
    let graph_data = PolledSource::new(Directory::new(platform.graph_data()), often);
    let releases = PolledSource::new(ReleasesFile::new(platform.releases()), often);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let mut options = ServiceOptions::new(address, graph_data, releases);
    options.limits.drain = Duration::ZERO;
    let service = Service::start(options).await?;
    while service.status().graph.is_none() {
        sleep_until(Instant::now() + Duration::from_millis(50)).await;
    }
    Ok(service)
}
