//! `fairway fleet preflight`: a preflight on each cluster.

mod text;

use fairway_insight::fleet::ClusterError;
use schemars::JsonSchema;
use serde::Serialize;

use super::clusters::{self, LiveCluster};
use super::concurrency;
use crate::args::fleet::FleetPreflightArgs;
use crate::cluster::{Cluster, block_on};
use crate::commands::upgrade::preflight::of_a_fleet::{self, Asked};
use crate::exit::ExitStatus;
use crate::output::{self, TypedReport};
use crate::printer::Printer;

impl TypedReport for FleetPreflight {
    const KIND: &'static str = "FleetPreflight";
}

pub(super) fn run(args: &FleetPreflightArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let members = clusters::live(&args.members)?;
    let ask = |member: &LiveCluster| {
        let (access, printer) = (member.access.clone(), printer.about(&member.name));
        async move {
            let cluster = Cluster::connect(&access).await?;
            of_a_fleet::ask(&cluster, args, &printer).await
        }
    };
    let asked = block_on(async {
        Ok(concurrency::each(&members, args.members.parallel, printer, ask).await)
    })?;
    let names = members.into_iter().map(|member| member.name);
    let clusters = names.zip(asked).map(|(name, asked)| ClusterPreflight::of(name, asked));
    let preflights = FleetPreflight {
        target: args.to.clone(),
        clusters: clusters.collect(),
        selection: args.members.selection(),
        width: printer.width(),
    };
    output::report(printer.stdout(), args.output.output, &preflights)?;
    Ok(preflights.exit_status())
}

/// Preflight of one release on several clusters.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FleetPreflight {
    /// Version of the target release.
    target: String,
    /// Clusters, in the order of the arguments.
    clusters: Vec<ClusterPreflight>,
    /// Arguments that select these clusters.
    #[serde(skip)]
    selection: String,
    /// Maximum width of a table.
    #[serde(skip)]
    width: Option<usize>,
}

/// Preflight of the release on one cluster.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ClusterPreflight {
    /// Name of the cluster.
    name: String,
    /// Exit code of `fairway upgrade` for this cluster alone.
    exit_code: u8,
    /// Result of the request, `null` if no preflight was requested.
    outcome: Option<Asked>,
    /// Error that prevented the request, `null` if there is none, as when the cluster already has
    /// the release.
    error: Option<ClusterError>,
}

impl ClusterPreflight {
    fn of(name: String, asked: Result<Option<Asked>, ClusterError>) -> Self {
        let (outcome, error) = match asked {
            Ok(outcome) => (outcome, None),
            Err(error) => (None, Some(error)),
        };
        let exit_code = exit_status(outcome.as_ref(), error.as_ref()).code();
        Self { name, exit_code, outcome, error }
    }

    fn exit_status(&self) -> ExitStatus {
        exit_status(self.outcome.as_ref(), self.error.as_ref())
    }
}

fn exit_status(outcome: Option<&Asked>, error: Option<&ClusterError>) -> ExitStatus {
    match (outcome, error) {
        (Some(outcome), _) => outcome.exit_status(),
        (None, Some(_)) => ExitStatus::Unknown,
        (None, None) => ExitStatus::Success,
    }
}

impl FleetPreflight {
    /// Findings take precedence over missing results.
    fn exit_status(&self) -> ExitStatus {
        let statuses = || self.clusters.iter().map(ClusterPreflight::exit_status);
        let order = [ExitStatus::Refused, ExitStatus::Unknown, ExitStatus::TimedOut];
        if self.clusters.iter().all(|cluster| cluster.error.is_some()) {
            return ExitStatus::Error;
        }
        let worst = order.into_iter().find(|worst| statuses().any(|one| one == *worst));
        worst.unwrap_or(ExitStatus::Success)
    }
}
