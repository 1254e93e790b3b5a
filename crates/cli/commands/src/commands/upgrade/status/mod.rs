//! `fairway upgrade status`: progress, problems and pending resources of an update.

mod nodes_text;
mod text;
mod watch;

use fairway_insight::objects::Deployment;
use fairway_insight::{Alerts, ClusterObjects, ObservationTime, Status};
use futures::join;

use crate::args::insight::StatusArgs;
use crate::cluster::block_on;
use crate::cluster::kind::{
    CLUSTER_OPERATORS, DEPLOYMENTS, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS, NODES,
};
use crate::errors::CannotTell;
use crate::exit::ExitStatus;
use crate::output::{self, TypedReport};
use crate::printer::Printer;
use crate::source::Source;
pub(super) use text::StatusText;

impl TypedReport for StatusText<'_> {
    const KIND: &'static str = "UpgradeStatus";
}

pub(super) fn run(args: &StatusArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    if args.watch {
        return block_on(watch::run(args, printer));
    }
    let (mut status, alerts) = block_on(async { read(&Source::open(&args.source).await?).await })?;
    warn(&alerts, printer);
    print(&mut status, false, args, printer)?;
    Ok(exit_status(&status))
}

/// Status of a cluster. Alerts are read only during an update.
async fn read(source: &Source) -> anyhow::Result<(Status, Alerts)> {
    let mut cluster = Box::pin(read_objects(source)).await?;
    let observation = || source.observation_time(&cluster.version, &cluster.operators);
    let status = compute(&cluster, observation())?;
    if !status.updating {
        return Ok((status, cluster.alerts));
    }
    let alerts = Box::pin(source.alerts()).await;
    let observation = observation();
    cluster.alerts = alerts;
    Ok((compute(&cluster, observation)?, cluster.alerts))
}

fn compute(cluster: &ClusterObjects, observation: ObservationTime) -> anyhow::Result<Status> {
    Status::of(cluster, observation).map_err(|error| {
        let hint = "run `fairway upgrade` to show the state of ClusterVersion";
        CannotTell::new(error.to_string(), hint).into()
    })
}

/// Warns that alerts could not be read.
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
    let text = StatusText { status, details: args.details, watched };
    output::report(printer.stdout(), args.output.output, &text)?;
    Ok(())
}

/// Exit status: refused if the update has problems.
fn exit_status(status: &Status) -> ExitStatus {
    if status.has_problems() { ExitStatus::Refused } else { ExitStatus::Success }
}

/// Namespace of the machine-config operator.
const NODE_OPERATOR_NAMESPACE: &str = "openshift-machine-config-operator";

/// Deployment and container of the machine-config operator.
const NODE_OPERATOR: &str = "machine-config-operator";

/// Objects that the status uses, without the alerts of a live cluster.
async fn read_objects(source: &Source) -> anyhow::Result<ClusterObjects> {
    let (version, operators, pools, nodes, configs, deployment) = join!(
        source.cluster_version(),
        source.needed(&CLUSTER_OPERATORS),
        source.every(MACHINE_CONFIG_POOLS.all()),
        source.every(NODES.all()),
        source.every(MACHINE_CONFIGS.all().metadata()),
        source.one::<Deployment>(DEPLOYMENTS.all().within(NODE_OPERATOR_NAMESPACE), NODE_OPERATOR),
    );
    // Of several failures, the first in this order is reported, so that the error is stable.
    Ok(ClusterObjects {
        version: version?,
        operators: operators?,
        pools: pools?.unwrap_or_default(),
        configs: configs?.unwrap_or_default(),
        nodes: nodes?.unwrap_or_default(),
        node_operator_image: deployment?.and_then(|found| found.image_of(NODE_OPERATOR)),
        alerts: match source {
            Source::Live(_) => Alerts::NoMonitoring,
            Source::Recorded(recording) => recording.alerts(),
        },
    })
}

#[cfg(test)]
mod tests;
