//! `fairway upgrade` without anything to do: the report.

use super::report::Report;
use crate::args::upgrade::UpgradeArgs;
use crate::cluster::{Cluster, block_on};
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::{clock, output};

pub(super) fn run(args: &UpgradeArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let cluster_version =
        block_on(async { Cluster::connect(&args.cluster).await?.cluster_version().await })?;
    let report = Report::of(&cluster_version, clock::now()).in_full(args.include_not_recommended);
    output::report(printer.stdout(), args.output.output, "UpgradeReport", &report)?;
    Ok(if report.updates_known() { ExitStatus::Yes } else { ExitStatus::CannotTell })
}
