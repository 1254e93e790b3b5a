//! `fairway olm`: operators that OLM installs, and up to which version of the platform they run.

mod check;
mod files;
mod list;
pub(super) mod state;

use crate::args::olm::OlmCommand;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::schema::Shape;

/// The shapes of the documents that it prints.
pub(crate) fn shapes() -> [Shape; 2] {
    [check::shape(), list::shape()]
}

pub(crate) fn run(command: &OlmCommand, printer: &Printer) -> anyhow::Result<ExitStatus> {
    match command {
        OlmCommand::List(args) => list::run(args, printer),
        OlmCommand::Check(args) => check::run(args, printer),
    }
}
