//! `fairway fleet report`: where each cluster may update to.

mod text;

use fairway_insight::FleetReport;
use fairway_insight::fleet::{Answer, Member, Said, Unread};
use futures::join;
use jiff::Timestamp;

use super::at_once;
use super::members::{self, Live, Recorded};
use crate::args::fleet::FleetReportArgs;
use crate::cluster::{Cluster, block_on};
use crate::commands::upgrade::preflight::of_a_fleet;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::source::{Recording, Source};
use crate::{clock, output};
use text::Shown;

pub(super) fn run(args: &FleetReportArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let members = block_on(gather(args, printer))?;
    let report = FleetReport::of(&members, &args.targets());
    let shown = Shown { report: &report, width: printer.width() };
    output::report(printer.stdout(), args.output.output, "FleetReport", &shown)?;
    Ok(match report.answer() {
        Some(Answer::Yes) => ExitStatus::Yes,
        Some(Answer::No) => ExitStatus::No,
        Some(Answer::CannotTell) => ExitStatus::CannotTell,
        None => ExitStatus::Error,
    })
}

async fn gather(args: &FleetReportArgs, printer: &Printer) -> anyhow::Result<Vec<Member>> {
    let parallel = args.members.parallel;
    let (names, said): (Vec<String>, Vec<Result<Said, Unread>>) = if let Some(dir) = &args.dir {
        let recorded = members::recorded(dir)?;
        let read = |member| read(member, args.at);
        let said = at_once::each(&recorded, parallel, printer, read).await;
        (recorded.into_iter().map(|member| member.name).collect(), said)
    } else {
        let live = members::live(&args.members)?;
        let said = at_once::each(&live, parallel, printer, ask).await;
        (live.into_iter().map(|member| member.name).collect(), said)
    };
    Ok(names.into_iter().zip(said).map(|(name, said)| Member { name, said }).collect())
}

/// What a cluster says that can be asked.
async fn ask(member: &Live) -> anyhow::Result<Said> {
    let cluster = Cluster::connect(&member.access).await?;
    let source = Source::Live(Box::new(cluster));
    let (version, records) = join!(source.cluster_version(), of_a_fleet::records(&source));
    let (version, now) = (version?, clock::now());
    let preflights = of_a_fleet::known(&version, &records, now);
    Ok(Said { version, preflights, now })
}

/// What a cluster says that somebody wrote down.
async fn read(member: &Recorded, at: Option<Timestamp>) -> anyhow::Result<Said> {
    let source = Source::Recorded(Recording::open(std::slice::from_ref(&member.path), at)?);
    let version = source.cluster_version().await?;
    let components = source.components().await?;
    let now = source.moment(&version, &components).now();
    let preflights = of_a_fleet::known(&version, &of_a_fleet::records(&source).await, now);
    Ok(Said { version, preflights, now })
}
