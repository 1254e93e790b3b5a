//! `fairway release`: release images for those who build a platform.

mod info;
pub(super) mod input;

use crate::args::release::ReleaseCommand;
use crate::exit::ExitStatus;
use crate::printer::Printer;

pub(crate) fn run(command: &ReleaseCommand, printer: &Printer) -> anyhow::Result<ExitStatus> {
    match command {
        ReleaseCommand::Info(args) => info::run(args, printer),
    }
}
