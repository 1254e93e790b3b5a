//! The reference page of the command line, generated from the help.

use std::fmt::Write;

use clap::{Arg, ArgAction, Command, CommandFactory};

use crate::args::Args;
use crate::exit::ExitStatus;
use crate::settings::ENVIRONMENT;

/// The reference page.
pub(crate) fn command_line() -> String {
    let mut page = String::from(
        "# Command line\n\nGenerated from the help of the binary: `fairway --help` and `fairway \
         COMMAND --help` print the same text.\n",
    );
    let mut root = Args::command();
    root.build();
    write_command(&mut page, &root, "fairway");

    page.push_str("\n## Exit codes\n\n| code | meaning |\n| --- | --- |\n");
    for status in ExitStatus::ALL {
        line(&mut page, format_args!("| {} | {} |", status.code(), status.meaning()));
    }
    page.push_str("\n## Environment\n\n| variable | meaning |\n| --- | --- |\n");
    for (name, meaning) in ENVIRONMENT {
        line(&mut page, format_args!("| `{name}` | {meaning} |"));
    }
    page
}

fn write_command(page: &mut String, command: &Command, path: &str) {
    line(page, format_args!("\n## `{path}`\n"));
    if let Some(about) = command.get_long_about().or(command.get_about()) {
        line(page, format_args!("{about}\n"));
    }
    let usage = command.clone().render_usage().to_string();
    line(page, format_args!("```text\n{}\n```", usage.trim_start_matches("Usage: ")));

    let is_root = !path.contains(' ');
    let described: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set() && (is_root || !arg.is_global_set()))
        .filter(|arg| !is_built_in(arg))
        .collect();
    if !described.is_empty() {
        page.push_str("\n| option | meaning |\n| --- | --- |\n");
        for arg in described {
            line(page, format_args!("| {} | {} |", spelling(arg), meaning(arg)));
        }
    }
    if let Some(examples) = command.get_after_help() {
        line(page, format_args!("\n```text\n{examples}\n```"));
    }
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        write_command(page, subcommand, &format!("{path} {}", subcommand.get_name()));
    }
}

/// Whether clap adds the argument to a command: `--help` and `--version` of the binary. Some
/// commands have an argument `version` of their own.
fn is_built_in(arg: &Arg) -> bool {
    use ArgAction::{Help, HelpLong, HelpShort, Version};
    matches!(arg.get_action(), Help | HelpLong | HelpShort | Version)
}

fn spelling(arg: &Arg) -> String {
    let value = if arg.get_action().takes_values() {
        let names = arg.get_value_names().unwrap_or_default();
        names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    } else {
        String::new()
    };
    match (arg.get_short(), arg.get_long()) {
        (_, None) => format!("`<{value}>`"),
        (short, Some(long)) => {
            let short = short.map(|short| format!("`-{short}`, ")).unwrap_or_default();
            let value = if value.is_empty() { value } else { format!("={value}") };
            format!("{short}`--{long}{value}`")
        }
    }
}

fn meaning(arg: &Arg) -> String {
    let mut text = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let words: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| arg.get_action().takes_values() && !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !words.is_empty() {
        text = format!("{text}: {}", words.join(", "));
    }
    if let Some(variable) = arg.get_env() {
        text = format!("{text} (`{}`)", variable.display());
    }
    text.replace('|', "\\|")
}

fn line(page: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = writeln!(page, "{text}");
}
