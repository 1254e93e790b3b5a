//! The command line: arguments, settings, commands, output and exit codes.
//!
//! [`run`] parses the arguments, combines them with the environment, and runs the module of the
//! command. Commands print only through the printer: results to standard output, everything else to
//! standard error. An error has a hint and an exit code ([`exit`]). With the output format JSON or
//! YAML, a failed command prints a document, too. Text of clusters and registries is escaped, so
//! that it cannot control a terminal.
//!
//! Read-only commands read their objects from a source: a live cluster, or recorded files.
//!
//! | module | content |
//! | --- | --- |
//! | `args` | arguments and their help |
//! | `settings` | settings from the arguments and the environment |
//! | `commands` | a module for each command |
//! | `completion` | dynamic completion for shells, with data of the cluster |
//! | `cluster` | connection to a cluster, requests, errors with hints |
//! | `source` | objects of a live or recorded cluster |
//! | `input`, `mounted` | files of arguments, and paths of mounts in a pod |
//! | `printer`, `output` | output of commands, documents and files |
//! | `text`, `table`, `foreign_text` | line width, characters, commands, tables, untrusted text |
//! | `terminal` | confirmation on the terminal |
//! | `errors`, `failure`, [`exit`] | errors with hints, the document of a failure, exit codes |
//! | `schema`, `reference` | JSON Schemas of documents, and the reference page |

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
use crate::text::{ClusterFlags, Invocation};

/// Runs the command of the arguments. Returns its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(words) = completion::requested(&arguments) {
        return completion::print(words);
    }
    #[cfg(feature = "sandbox")]
    let arguments = args::example::insert_check_subcommand(arguments);
    let invocation = Invocation::of(arguments.first());
    let command = Args::command().bin_name(invocation.words());
    #[cfg(feature = "sandbox")]
    if let Some(answer) = args::example::forgotten(&command, arguments.get(1)) {
        return print_parser_result(&answer, invocation);
    }
    let parsed = command.try_get_matches_from(&arguments);
    let parsed = parsed.and_then(|matches| {
        Args::from_arg_matches(&matches).map(|args| (args, failure::format(&matches)))
    });
    let (args, format) = match parsed {
        Ok(parsed) => parsed,
        Err(answer) => return print_parser_result(&answer, invocation),
    };
    let (settings, command) = Settings::resolve(args);
    let printer = Printer::new(settings.color, settings.verbosity, invocation)
        .with_cluster_flags(ClusterFlags::of(&arguments));
    let outcome = settings.start_logging().and_then(|()| commands::run(command, &printer));
    match outcome {
        Ok(status) => status.into(),
        // The reader has closed the pipe, as `head` does.
        Err(error) if errors::is_closed_output(&error) => ExitStatus::Success.into(),
        Err(error) => {
            printer.error(&error);
            if !printer.has_printed() {
                // An error is ignored: the exit code remains.
                let _ = Failure::of(&error, &printer).write(printer.stdout(), format);
            }
            errors::status(&error).into()
        }
    }
}

/// Prints help, version or usage errors: the parser returns all three as errors.
fn print_parser_result(result: &clap::Error, invocation: Invocation) -> ExitCode {
    let printer = Printer::new(ColorChoice::Auto, Verbosity::Normal, invocation);
    let text = result.render();
    let (written, status) = if result.use_stderr() {
        (write!(printer.stderr(), "{}", text.ansi()), ExitStatus::Usage)
    } else {
        (write!(printer.text(), "{}", text.ansi()), ExitStatus::Success)
    };
    // An error is ignored: the reader has closed the pipe.
    drop(written);
    status.into()
}
