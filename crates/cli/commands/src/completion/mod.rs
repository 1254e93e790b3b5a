//! Dynamic completion: commands, options, and data of the cluster.
//!
//! Shells run `fairway __complete WORD…`, in the protocol of kubectl plugins (Cobra): the last word is
//! being typed and may be empty. Each line of the output is a candidate and, after a tab, its description.
//! The last line has a directive for the shell.

mod arguments;
mod cluster;
mod values;

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anstream::ColorChoice;
use clap::CommandFactory;
use clap_complete::engine::{CompletionCandidate, complete};

use crate::args::Args;
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;
use crate::printer::Printer;
use crate::settings::Verbosity;
use crate::text::Invocation;

/// The hidden subcommand for completion.
const SUBCOMMAND: &str = "__complete";

/// Names of the binary for completion only: kubectl and oc run these beside their plugin.
const PLUGIN_COMPLETERS: [&str; 2] = ["kubectl_complete-fairway", "oc_complete-fairway"];

/// Directive `ShellCompDirectiveNoFileComp`: file names are among the candidates.
const NO_FILES: u8 = 4;
/// Directive `ShellCompDirectiveNoSpace`: the word is not complete.
const NO_SPACE: u8 = 2;

/// The typed words, if the arguments request completion.
pub(crate) fn requested(arguments: &[OsString]) -> Option<&[OsString]> {
    let (program, words) = arguments.split_first()?;
    let name = Path::new(program).file_name().and_then(OsStr::to_str);
    if name.is_some_and(|name| PLUGIN_COMPLETERS.contains(&name)) {
        return Some(words);
    }
    words.split_first().filter(|(first, _)| *first == SUBCOMMAND).map(|(_, words)| words)
}

/// Prints the candidates. Errors are not printed: they would disturb the command line.
pub(crate) fn print(words: &[OsString]) -> ExitCode {
    let candidates = candidates(words);
    let mut text = String::new();
    for candidate in &candidates {
        text.push_str(&candidate.get_value().to_string_lossy());
        if let Some(help) = candidate.get_help() {
            let help = help.to_string();
            text.push('\t');
            text.push_str(&OneLine(help.lines().next().unwrap_or_default()).to_string());
        }
        text.push('\n');
    }
    let goes_on = |candidate: &CompletionCandidate| {
        candidate.get_value().to_str().is_some_and(|value| value.ends_with(['/', '=']))
    };
    let directive = if candidates.iter().any(goes_on) { NO_FILES | NO_SPACE } else { NO_FILES };
    let printer = Printer::new(ColorChoice::Never, Verbosity::Quiet, Invocation::Fairway);
    let written = writeln!(printer.stdout(), "{text}:{directive}");
    // An error is ignored: the shell has closed the pipe.
    drop(written);
    ExitStatus::Success.into()
}

fn candidates(words: &[OsString]) -> Vec<CompletionCandidate> {
    let mut typed = vec![OsString::from("fairway")];
    typed.extend_from_slice(words);
    if words.is_empty() {
        typed.push(OsString::new());
    }
    let mut command = arguments::completed(Args::command(), words);
    let last = typed.len() - 1;
    let directory = std::env::current_dir().ok();
    let mut found = complete(&mut command, typed, last, directory.as_deref()).unwrap_or_default();
    let is_option =
        |candidate: &CompletionCandidate| candidate.get_value().to_string_lossy().starts_with('-');
    // Options come last unless the word starts with a hyphen.
    let begun = words.last().is_some_and(|word| word.to_string_lossy().starts_with('-'));
    if !begun && found.iter().any(|candidate| !is_option(candidate)) {
        found.retain(|candidate| !is_option(candidate));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn completed(line: &str) -> Vec<String> {
        let candidates = candidates(&words(line));
        candidates.iter().map(|it| it.get_value().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn requested_is_none_for_commands() {
        let asked = |line: &str| requested(&words(line)).map(<[OsString]>::len);
        assert_eq!(asked("fairway upgrade --to"), None);
        assert_eq!(asked("fairway __complete upgrade --to"), Some(2));
        assert_eq!(asked("/bin/kubectl_complete-fairway upgrade "), Some(2));
        assert_eq!(asked("oc_complete-fairway"), Some(0));
        assert_eq!(requested(&[]), None);
    }

    #[test]
    fn candidates_are_commands_options_and_values() {
        assert_eq!(completed("upgrade rec"), ["recommend"]);
        assert_eq!(completed("crds --output "), ["json", "yaml"]);
        assert_eq!(completed("crds --output=j"), ["--output=json"]);
        assert_eq!(completed("upgrade --to-l"), ["--to-latest"]);
        assert!(completed("").contains(&"upgrade".to_owned()));
        assert!(completed("upgrade ").iter().all(|word| !word.starts_with('-')));
        assert_eq!(completed("nonsense "), completed(""));
    }
}
