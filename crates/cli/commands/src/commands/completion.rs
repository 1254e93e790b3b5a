//! `fairway completion`: completion scripts for shells.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::{Args, CompletionArgs};
use crate::exit::ExitStatus;
use crate::printer::Printer;

pub(crate) fn run(args: &CompletionArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let mut script = Vec::new();
    match args.shell {
        Shell::Bash => script.extend_from_slice(include_bytes!("completion/fairway.bash")),
        Shell::Fish => script.extend_from_slice(include_bytes!("completion/fairway.fish")),
        Shell::Zsh => script.extend_from_slice(include_bytes!("completion/fairway.zsh")),
        // Scripts of other shells are static: commands and options of this version only.
        other => clap_complete::generate(other, &mut Args::command(), "fairway", &mut script),
    }
    printer.stdout().write_all(&script)?;
    Ok(ExitStatus::Success)
}
