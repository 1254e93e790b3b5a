//! `fairway upgrade status`: what an update is doing, and what it waits for.

mod gather;
mod text;
mod watch;

use fairway_insight::{Alerts, Cluster, Moment, Status};

use crate::args::insight::StatusArgs;
use crate::cluster::block_on;
use crate::errors::CannotTell;
use crate::exit::ExitStatus;
use crate::output;
use crate::printer::Printer;
use crate::schema::{self, Shape};
use crate::source::Source;
use text::Shown;

/// What documents of it are called.
const KIND: &str = "UpgradeStatus";

/// The shape of those documents.
pub(super) fn shape() -> Shape {
    schema::of::<Shown<'_>>(KIND)
}

pub(super) fn run(args: &StatusArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    if args.watch {
        return block_on(watch::run(args, printer));
    }
    let (mut status, alerts) = block_on(async { ask(&Source::open(&args.source).await?).await })?;
    warn(&alerts, printer);
    print(&mut status, false, args, printer)?;
    Ok(exit_status(&status))
}

/// What a cluster says. Alerts are read only where they are told.
async fn ask(source: &Source) -> anyhow::Result<(Status, Alerts)> {
    let mut cluster = Box::pin(gather::cluster(source)).await?;
    let moment = || source.moment(&cluster.version, &cluster.operators);
    let status = tell(&cluster, moment())?;
    if !status.updating {
        return Ok((status, cluster.alerts));
    }
    let alerts = Box::pin(source.alerts()).await;
    let moment = moment();
    cluster.alerts = alerts;
    Ok((tell(&cluster, moment)?, cluster.alerts))
}

fn tell(cluster: &Cluster, moment: Moment) -> anyhow::Result<Status> {
    Status::of(cluster, moment).map_err(|untold| {
        let hint = "run `fairway upgrade` to show the state of ClusterVersion";
        CannotTell { message: untold.to_string(), hint: hint.to_owned() }.into()
    })
}

/// That alerts could not be read is nothing to overlook.
pub(super) fn warn(alerts: &Alerts, printer: &Printer) {
    if let Alerts::Unreadable(why) = alerts {
        printer.warnings(&[format!("cannot read the alerts of the cluster: {why}")]);
    }
}

fn print(
    status: &mut Status,
    watched: bool,
    args: &StatusArgs,
    printer: &Printer,
) -> anyhow::Result<()> {
    if args.output.output.is_document() {
        for wait in &mut status.pending_resources {
            wait.inspect_command = printer.as_typed(&wait.inspect_command);
        }
    }
    let shown = Shown { status, details: args.details, watched };
    output::report(printer.stdout(), args.output.output, KIND, &shown)?;
    Ok(())
}

/// Whether anything is wrong, told before or not.
fn exit_status(status: &Status) -> ExitStatus {
    if status.is_in_trouble() { ExitStatus::Refused } else { ExitStatus::Success }
}

#[cfg(test)]
mod tests;
