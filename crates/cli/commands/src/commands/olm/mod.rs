//! `fairway olm`: OLM operators and the versions that they support.

mod check;
mod files;
mod list;
pub(super) mod state;

use crate::args::olm::OlmCommand;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::schema::{self, Shape};

/// The schemas of its documents.
pub(crate) fn shapes() -> [Shape; 2] {
    [schema::of::<check::Report>(), schema::of::<list::List>()]
}

pub(crate) fn run(command: &OlmCommand, printer: &Printer) -> anyhow::Result<ExitStatus> {
    match command {
        OlmCommand::List(args) => list::run(args, printer),
        OlmCommand::Check(args) => check::run(args, printer),
    }
}
