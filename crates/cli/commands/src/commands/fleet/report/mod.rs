//! `fairway fleet report`: updates of each cluster.

mod text;

use fairway_insight::FleetReport;
use fairway_insight::fleet::{ClusterError, ClusterSnapshot, FleetMember, Readiness};
use futures::join;
use jiff::Timestamp;

use super::clusters::{self, LiveCluster, RecordedCluster};
use super::concurrency;
use crate::args::fleet::FleetReportArgs;
use crate::cluster::{Cluster, block_on};
use crate::commands::upgrade::preflight::of_a_fleet::{self, Records};
use crate::exit::ExitStatus;
use crate::output::{self, TypedReport};
use crate::printer::Printer;
use crate::source::{Recording, Source};
pub(super) use text::Shown;

impl TypedReport for Shown<'_> {
    const KIND: &'static str = "FleetReport";
}

pub(super) fn run(args: &FleetReportArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let members = block_on(gather(args, printer))?;
    let report = FleetReport::of(&members, &args.targets());
    let shown = Shown { report: &report, width: printer.width() };
    output::report(printer.stdout(), args.output.output, &shown)?;
    Ok(match report.readiness() {
        Some(Readiness::Ready) => ExitStatus::Success,
        Some(Readiness::Blocked) => ExitStatus::Refused,
        Some(Readiness::Unknown) => ExitStatus::Unknown,
        None => ExitStatus::Error,
    })
}

async fn gather(args: &FleetReportArgs, printer: &Printer) -> anyhow::Result<Vec<FleetMember>> {
    let parallel = args.members.parallel;
    let (names, snapshots): (Vec<String>, Vec<Result<ClusterSnapshot, ClusterError>>) =
        if let Some(dir) = &args.dir {
            let recorded = clusters::recorded(dir)?;
            let read = |member| read_recorded(member, args.at);
            let snapshots = concurrency::each(&recorded, parallel, printer, read).await;
            (recorded.into_iter().map(|member| member.name).collect(), snapshots)
        } else {
            let live = clusters::live(&args.members)?;
            let snapshots = concurrency::each(&live, parallel, printer, read_live).await;
            (live.into_iter().map(|member| member.name).collect(), snapshots)
        };
    Ok(names
        .into_iter()
        .zip(snapshots)
        .map(|(name, snapshot)| FleetMember { name, snapshot })
        .collect())
}

/// Reads a live cluster.
async fn read_live(member: &LiveCluster) -> anyhow::Result<ClusterSnapshot> {
    let cluster = Cluster::connect(&member.access).await?;
    read_state(&Source::Live(Box::new(cluster))).await
}

/// Reads a recorded cluster.
async fn read_recorded(
    member: &RecordedCluster,
    at: Option<Timestamp>,
) -> anyhow::Result<ClusterSnapshot> {
    let recording = Recording::open(std::slice::from_ref(&member.path), at)?;
    read_state(&Source::Recorded(recording)).await
}

async fn read_state(source: &Source) -> anyhow::Result<ClusterSnapshot> {
    let (version, records) = join!(source.cluster_version(), Records::of_source(source));
    let version = version?;
    let now = source.observation_time_of(&version).await?.now();
    let preflights = of_a_fleet::known(&version, &records, now);
    let preflights_unread = of_a_fleet::unread(&version, &records);
    Ok(ClusterSnapshot { version, preflights, preflights_unread, now })
}
