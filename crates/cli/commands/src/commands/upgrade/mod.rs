//! `fairway upgrade`: what this cluster may update to, asking for it, which risks it takes, and
//! where updates come from.

mod accept;
mod change;
mod channel;
mod explain;
#[cfg(test)]
pub(super) mod fixtures;
mod notes;
mod offline;
mod plan;
pub(super) mod preflight;
mod recommend;
mod report;
mod request;
mod risks;
mod show;
mod similar;
mod status;
mod stored;
mod terms;

use crate::args::upgrade::{UpgradeArgs, UpgradeCommand};
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::schema::Shape;
pub(super) use report::text::Age;

/// The shapes of the documents that it prints.
pub(crate) fn shapes() -> Vec<Shape> {
    let mut shapes = vec![
        channel::shape(),
        explain::shape(),
        plan::shape(),
        recommend::shape(),
        request::shape(),
        show::shape(),
        status::shape(),
    ];
    shapes.extend(accept::shapes());
    shapes.extend(preflight::shapes());
    shapes
}

pub(crate) fn run(args: &UpgradeArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let wish = args.preflight.wish(&args.request)?;
    if args.command.is_none() {
        offline::check(args, wish)?;
    }
    match &args.command {
        None if let Some(wish) = wish => preflight::run(wish, args, printer),
        None if args.request.is_one() => request::run(args, printer),
        None => show::run(args, printer),
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
