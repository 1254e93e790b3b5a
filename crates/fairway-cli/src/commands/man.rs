//! `fairway man`: the manual pages.

use anyhow::Context;
use clap::CommandFactory;

use crate::args::{Args, ManArgs};
use crate::exit::ExitStatus;
use crate::output;
use crate::printer::Printer;

pub(crate) fn run(args: &ManArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    output::directory(&args.dir)?;
    clap_mangen::generate_to(Args::command(), &args.dir)
        .with_context(|| format!("cannot write the manual pages to {}", args.dir.display()))?;
    printer.note(format_args!("wrote the manual pages to {}", args.dir.display()));
    Ok(ExitStatus::Yes)
}
