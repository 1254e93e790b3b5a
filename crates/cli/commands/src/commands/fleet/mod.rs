//! `fairway fleet`: commands for several clusters.

mod clusters;
mod concurrency;
mod preflight;
mod report;

use crate::args::fleet::FleetCommand;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::schema::{self, Shape};

/// The schemas of its documents.
pub(super) fn shapes() -> [Shape; 2] {
    [schema::of::<preflight::FleetPreflight>(), schema::of::<report::Shown<'_>>()]
}

pub(crate) fn run(command: &FleetCommand, printer: &Printer) -> anyhow::Result<ExitStatus> {
    match command {
        FleetCommand::Report(args) => report::run(args, printer),
        FleetCommand::Preflight(args) => preflight::run(args, printer),
    }
}
