//! `fairway fleet preflight`: a release is asked what it says about each cluster.

mod text;

use fairway_insight::fleet::Unread;
use schemars::JsonSchema;
use serde::Serialize;

use super::at_once;
use super::members::{self, Live};
use crate::args::fleet::FleetPreflightArgs;
use crate::cluster::{Cluster, block_on};
use crate::commands::upgrade::preflight::of_a_fleet::{self, Asked};
use crate::exit::ExitStatus;
use crate::output;
use crate::printer::Printer;
use crate::schema::{self, Shape};

/// What documents of it are called.
const KIND: &str = "FleetPreflight";

/// The shape of those documents.
pub(super) fn shape() -> Shape {
    schema::of::<FleetPreflight>(KIND)
}

pub(super) fn run(args: &FleetPreflightArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let members = members::live(&args.members)?;
    let ask = |member: &Live| {
        let (access, printer) = (member.access.clone(), printer.about(&member.name));
        async move {
            let cluster = Cluster::connect(&access).await?;
            of_a_fleet::ask(&cluster, args, &printer).await
        }
    };
    let asked =
        block_on(async { Ok(at_once::each(&members, args.members.parallel, printer, ask).await) })?;
    let names = members.into_iter().map(|member| member.name);
    let clusters = names.zip(asked).map(|(name, asked)| ClusterPreflight::of(name, asked));
    let preflights = FleetPreflight {
        target: args.to.clone(),
        clusters: clusters.collect(),
        selection: args.members.selection(),
        width: printer.width(),
    };
    output::report(printer.stdout(), args.output.output, KIND, &preflights)?;
    Ok(preflights.exit_status())
}

/// What came of asking a release about several clusters.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FleetPreflight {
    /// The version of the release.
    target: String,
    /// Each cluster, in the order in which they were named.
    clusters: Vec<ClusterPreflight>,
    /// What names these clusters.
    #[serde(skip)]
    selection: String,
    /// How wide a table may be.
    #[serde(skip)]
    width: Option<usize>,
}

/// What came of asking it about one.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ClusterPreflight {
    name: String,
    /// The exit code with which `fairway upgrade` would have ended.
    exit_code: u8,
    /// What came of it; nothing where it was not asked for.
    outcome: Option<Asked>,
    /// Why it could not be asked for; nothing where the cluster is at that version already.
    failed: Option<Unread>,
}

impl ClusterPreflight {
    fn of(name: String, asked: Result<Option<Asked>, Unread>) -> Self {
        let (outcome, failed) = match asked {
            Ok(outcome) => (outcome, None),
            Err(failed) => (None, Some(failed)),
        };
        let exit_code = exit_status(outcome.as_ref(), failed.as_ref()).code();
        Self { name, exit_code, outcome, failed }
    }

    fn exit_status(&self) -> ExitStatus {
        exit_status(self.outcome.as_ref(), self.failed.as_ref())
    }
}

fn exit_status(outcome: Option<&Asked>, failed: Option<&Unread>) -> ExitStatus {
    match (outcome, failed) {
        (Some(outcome), _) => outcome.exit_status(),
        (None, Some(_)) => ExitStatus::CannotTell,
        (None, None) => ExitStatus::Yes,
    }
}

impl FleetPreflight {
    /// What is known to be wrong comes before what is not known.
    fn exit_status(&self) -> ExitStatus {
        let statuses = || self.clusters.iter().map(ClusterPreflight::exit_status);
        let order = [ExitStatus::No, ExitStatus::CannotTell, ExitStatus::TimedOut];
        if self.clusters.iter().all(|cluster| cluster.failed.is_some()) {
            return ExitStatus::Error;
        }
        let worst = order.into_iter().find(|worst| statuses().any(|one| one == *worst));
        worst.unwrap_or(ExitStatus::Yes)
    }
}
