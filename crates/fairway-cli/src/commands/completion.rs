//! `fairway completion`: scripts that complete what is being typed.

use std::io::Write;

use clap::CommandFactory;

use crate::args::{Args, CompletionArgs};
use crate::exit::ExitStatus;
use crate::printer::Printer;

pub(crate) fn run(args: &CompletionArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "fairway", &mut script);
    printer.stdout().write_all(&script)?;
    Ok(ExitStatus::Yes)
}
