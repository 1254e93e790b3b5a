//! `fairway upgrade`: what this cluster may update to, which risks it takes, and where updates come
//! from.

mod accept;
mod change;
mod channel;
#[cfg(test)]
mod fixtures;
mod report;
mod risks;
mod show;
mod similar;
mod terms;

use crate::args::upgrade::{UpgradeArgs, UpgradeCommand};
use crate::exit::ExitStatus;
use crate::printer::Printer;

pub(crate) fn run(args: &UpgradeArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    match &args.command {
        None => show::run(args, printer),
        Some(UpgradeCommand::Accept(args)) => accept::run(args, printer),
        Some(UpgradeCommand::Channel(args)) => channel::run(args, printer),
    }
}
