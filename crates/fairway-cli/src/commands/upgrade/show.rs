//! `fairway upgrade` without anything to do: the report.

use futures::try_join;

use super::gather::live;
use super::notes;
use super::report::Report;
use crate::args::upgrade::UpgradeArgs;
use crate::cluster::{Cluster, block_on};
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::{clock, output};

pub(super) fn run(args: &UpgradeArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let (cluster_version, components) = block_on(async {
        let cluster = Cluster::connect(&args.cluster).await?;
        try_join!(cluster.cluster_version(), live::components(&cluster))
    })?;
    let report = Report::of(&cluster_version, clock::now())
        .with_notes(notes::of(&components, &cluster_version))
        .in_full(args.include_not_recommended);
    output::report(printer.stdout(), args.output.output, "UpgradeReport", &report)?;
    Ok(if report.updates_known() { ExitStatus::Yes } else { ExitStatus::CannotTell })
}
