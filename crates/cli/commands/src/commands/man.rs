//! `fairway man`: the manual pages.

use std::io;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::args::{Args, PagesArgs};
use crate::exit::ExitStatus;
use crate::output;
use crate::printer::Printer;
use crate::settings::ENVIRONMENT;

/// The source in the footer of pages.
const SOURCE: &str = concat!("fairway ", env!("CARGO_PKG_VERSION"));

pub(crate) fn run(args: &PagesArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    output::directory(&args.dir)?;
    let mut root = Args::command();
    root.build();
    let mut pages = vec![(&root, None)];
    while let Some((command, parent)) = pages.pop() {
        let man = Man::new(command.clone()).source(SOURCE).manual("Fairway Manual");
        output::file(&args.dir.join(man.get_filename()), page(&man, command, parent)?)?;
        pages.extend(shown(command).map(|subcommand| (subcommand, Some(command))));
    }
    printer.note(format_args!("wrote the manual pages to {}", args.dir.display()));
    Ok(ExitStatus::Success)
}

fn page(man: &Man, command: &Command, parent: Option<&Command>) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }
    if shown(command).next().is_some() {
        man.render_subcommands_section(&mut page)?;
    }
    examples(command).to_writer(&mut page)?;
    exit_status().to_writer(&mut page)?;
    environment().to_writer(&mut page)?;
    see_also(command, parent).to_writer(&mut page)?;
    Ok(page)
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set())
}

fn examples(command: &Command) -> Roff {
    let mut section = Roff::new();
    let Some(help) = command.get_after_help().map(ToString::to_string) else { return section };
    section.control("SH", ["EXAMPLES"]).control("nf", []);
    for line in help.lines().filter(|line| *line != "Examples:") {
        section.text([roman(line)]);
    }
    section.control("fi", []);
    section
}

fn exit_status() -> Roff {
    let mut section = Roff::new();
    section.control("SH", ["EXIT STATUS"]);
    for status in ExitStatus::ALL {
        section.control("TP", []);
        section.text([bold(status.code().to_string())]).text([roman(status.meaning())]);
    }
    section
}

fn environment() -> Roff {
    let mut section = Roff::new();
    section.control("SH", ["ENVIRONMENT"]);
    for (name, meaning) in ENVIRONMENT {
        section.control("TP", []);
        section.text([bold(*name)]).text([roman(meaning.replace('`', ""))]);
    }
    section
}

fn see_also(command: &Command, parent: Option<&Command>) -> Roff {
    let mut section = Roff::new();
    let names: Vec<String> = parent
        .into_iter()
        .chain(shown(command))
        .map(|other| format!("{}(1)", other.get_display_name().unwrap_or(other.get_name())))
        .collect();
    if !names.is_empty() {
        section.control("SH", ["SEE ALSO"]).text([roman(names.join(", "))]);
    }
    section
}
