//! `fairway upgrade`: available updates, requests, accepted risks and channels of a cluster.
//!
//! A command that changes ClusterVersion decides in a pure function and sends the result through
//! `change`: a server-side dry run, a patch, and polls for the effect. After a conflict, it reads
//! and decides again. `fairway-insight` computes the reports of `status`, `recommend`, `plan` and
//! `explain`.
//!
//! | module | content |
//! | --- | --- |
//! | `report` | the report on releases, updates and accepted risks |
//! | `request` | requests for updates, rollbacks, withdrawals |
//! | `preflight` | preflight requests, their reports, and comparisons |
//! | `accept`, `acceptance` | accepted risks, and how ClusterVersion stores them |
//! | `channel` | the channel of a cluster |
//! | `status` | progress of an update, once or with `--watch` |
//! | `recommend` | available updates, and issues before an update |
//! | `plan` | upgrade paths to a version |
//! | `explain` | explanations of risks and updates |
//! | `change` | changes of ClusterVersion |
//! | `release`, `risks`, `notes` | releases and risks in ClusterVersion, notes of components |
//! | `similar` | suggestions for misspelled names |

mod accept;
mod acceptance;
mod change;
mod channel;
mod explain;
#[cfg(test)]
pub(super) mod fixtures;
mod notes;
mod plan;
pub(super) mod preflight;
mod recommend;
mod release;
mod report;
mod request;
mod risks;
mod similar;
mod status;

use crate::args::upgrade::{UpgradeArgs, UpgradeCommand};
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::schema::{self, Shape};
pub(super) use report::text::Age;

/// Schemas of the documents of these commands.
pub(crate) fn shapes() -> Vec<Shape> {
    let mut shapes = vec![
        schema::of::<channel::ChannelReport>(),
        schema::of::<explain::ExplanationText<'_>>(),
        schema::of::<plan::PlanText<'_>>(),
        schema::of::<recommend::RecommendationText<'_>>(),
        schema::of::<report::Report>(),
        schema::of::<request::UpdateOutcome>(),
        schema::of::<status::StatusText<'_>>(),
    ];
    shapes.extend(accept::shapes());
    shapes.extend(preflight::shapes());
    shapes
}

pub(crate) fn run(args: &UpgradeArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let preflight = args.preflight.action(&args.request)?;
    if args.command.is_none() {
        change::check_requests(args, preflight)?;
    }
    match &args.command {
        None if let Some(action) = preflight => preflight::run(action, args, printer),
        None if args.request.is_one() => request::run(args, printer),
        None => report::run(args, printer),
        Some(UpgradeCommand::Accept(args)) => accept::run(args, printer),
        Some(UpgradeCommand::Channel(args)) => channel::run(args, printer),
        Some(UpgradeCommand::Compare(args)) => preflight::compare::run(args, printer),
        Some(UpgradeCommand::Plan(args)) => plan::run(args, printer),
        Some(UpgradeCommand::Explain(args)) => explain::run(args, printer),
        Some(UpgradeCommand::Recommend(args)) => recommend::run(args, printer),
        Some(UpgradeCommand::Rollback(args)) => request::roll_back(args, printer),
        Some(UpgradeCommand::Status(args)) => status::run(args, printer),
    }
}
