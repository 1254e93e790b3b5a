//! What another release says about this cluster, before anything is changed: `fairway upgrade
//! --mode=preflight` and the like.

mod again;
mod ask;
mod author;
pub(super) mod before;
mod clear;
pub(super) mod compare;
mod dry_run;
mod errand;
#[cfg(test)]
mod fixtures;
mod follow;
pub(in crate::commands) mod of_a_fleet;
mod outcome;
mod phase;
mod records;
mod release;
mod report;
mod request;
pub(super) mod requirement;
mod status;
mod withdrawal;
mod write;

use crate::args::upgrade::UpgradeArgs;
use crate::args::upgrade_preflight::PreflightWish;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::schema::Shape;

/// The shapes of the documents that it prints.
pub(super) fn shapes() -> [Shape; 4] {
    [clear::shape(), compare::shape(), outcome::shape(), status::shape()]
}

pub(super) fn run(
    wish: PreflightWish,
    args: &UpgradeArgs,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    match wish {
        PreflightWish::Ask => ask::run(args, printer),
        PreflightWish::DryRun => dry_run::run(args, printer),
        PreflightWish::Status => status::run(args, printer),
        PreflightWish::Clear => clear::run(args, printer),
    }
}

#[cfg(test)]
mod tests;
