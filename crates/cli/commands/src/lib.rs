//! The command line: what was typed becomes [`args`], what it means becomes [`settings`], and
//! each command is one file in `commands`.
//!
//! Commands print through the [`printer`] alone, and end with one of the codes in
//! [`exit`].

mod args;
mod cluster;
mod commands;
mod completion;
mod errors;
pub mod exit;
mod failure;
mod foreign_text;
mod input;
mod mounted;
mod output;
mod printer;
mod reference;
mod schema;
mod settings;
mod source;
mod table;
mod terminal;
mod text;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use anstream::ColorChoice;
use clap::{CommandFactory, FromArgMatches};

use crate::args::Args;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::{Settings, Verbosity};
use crate::text::{Program, Whom};

/// Runs the command that the arguments name, and says how it ended.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(words) = completion::question(&arguments) {
        return completion::answer(words);
    }
    #[cfg(feature = "sandbox")]
    let arguments = args::example::as_a_check(arguments);
    let program = Program::of(arguments.first());
    let command = Args::command().bin_name(program.words());
    #[cfg(feature = "sandbox")]
    if let Some(answer) = args::example::forgotten(&command, arguments.get(1)) {
        return answer_from_the_parser(&answer, program);
    }
    let parsed = command.try_get_matches_from(&arguments);
    let parsed = parsed.and_then(|matches| {
        Args::from_arg_matches(&matches).map(|args| (args, failure::format(&matches)))
    });
    let (args, format) = match parsed {
        Ok(parsed) => parsed,
        Err(answer) => return answer_from_the_parser(&answer, program),
    };
    let (settings, command) = Settings::resolve(args);
    let printer =
        Printer::new(settings.color, settings.verbosity, program).calling(Whom::of(&arguments));
    let outcome = settings.start_logging().and_then(|()| commands::run(command, &printer));
    match outcome {
        Ok(status) => status.into(),
        // Whoever read our output has enough of it, as `head` does.
        Err(error) if errors::is_closed_output(&error) => ExitStatus::Success.into(),
        Err(error) => {
            printer.error(&error);
            if !printer.has_printed() {
                // A script without a document still has the exit code.
                let _ = Failure::of(&error, &printer).write(printer.stdout(), format);
            }
            errors::status(&error).into()
        }
    }
}

/// Help, version, and mistakes in the arguments: all three come as errors.
fn answer_from_the_parser(answer: &clap::Error, program: Program) -> ExitCode {
    let printer = Printer::new(ColorChoice::Auto, Verbosity::Normal, program);
    let text = answer.render();
    let (written, status) = if answer.use_stderr() {
        (write!(printer.stderr(), "{}", text.ansi()), ExitStatus::Usage)
    } else {
        (write!(printer.text(), "{}", text.ansi()), ExitStatus::Success)
    };
    // Whoever closed the pipe does not want to read the rest.
    drop(written);
    status.into()
}
