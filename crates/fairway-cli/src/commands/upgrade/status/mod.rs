//! `fairway upgrade status`: what an update is doing, and what it waits for.

mod text;
mod watch;

use fairway_insight::{Alerts, Cluster, Moment, Status};

use super::gather::{live, recorded::Recording};
use crate::args::insight::StatusArgs;
use crate::cluster::block_on;
use crate::errors::CannotTell;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::{clock, output};
use text::Shown;

/// What documents of it are called.
const KIND: &str = "UpgradeStatus";

pub(super) fn run(args: &StatusArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    if args.watch {
        return block_on(watch::run(args, printer));
    }
    let (status, alerts) = if let Some(path) = &args.recorded.from_file {
        let (cluster, moment) = Recording::at(path).cluster()?;
        (tell(&cluster, moment)?, cluster.alerts)
    } else {
        block_on(async { ask(&crate::cluster::Cluster::connect(&args.cluster).await?).await })?
    };
    warn(&alerts, printer);
    print(&status, args, printer)
}

/// What a live cluster says. Alerts are read only where they are told.
async fn ask(from: &crate::cluster::Cluster) -> anyhow::Result<(Status, Alerts)> {
    let mut cluster = Box::pin(live::cluster(from)).await?;
    let status = tell(&cluster, Moment::Live(clock::now()))?;
    if !status.updating {
        return Ok((status, cluster.alerts));
    }
    cluster.alerts = Box::pin(from.alerts()).await;
    Ok((tell(&cluster, Moment::Live(clock::now()))?, cluster.alerts))
}

fn tell(cluster: &Cluster, moment: Moment) -> anyhow::Result<Status> {
    Status::of(cluster, moment).map_err(|untold| {
        let hint = "`fairway upgrade` shows what is known; is this a cluster whose platform is \
                    updated as a whole?";
        CannotTell { message: untold.to_string(), hint: hint.to_owned() }.into()
    })
}

/// That alerts could not be read is nothing to overlook.
pub(super) fn warn(alerts: &Alerts, printer: &Printer) {
    if let Alerts::Unreadable(why) = alerts {
        printer.warnings(&[format!("the alerts of the cluster could not be read: {why}")]);
    }
}

fn print(status: &Status, args: &StatusArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let shown = Shown { status, details: args.details };
    output::report(printer.stdout(), args.output.output, KIND, &shown)?;
    Ok(if status.is_in_trouble() { ExitStatus::No } else { ExitStatus::Yes })
}

#[cfg(test)]
mod tests;
