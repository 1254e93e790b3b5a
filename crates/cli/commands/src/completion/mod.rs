//! What may be typed next: commands and options, and what the cluster has.
//!
//! Shells ask with `fairway __complete WORD…`, as kubectl asks its plugins: the last word is the one
//! that is being typed, and may be empty. Each line of the answer is a candidate, with a tab before
//! what it means, and the last line has what the shell is to do with them.

mod ask;
mod live;
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
use crate::text::Program;

/// The first word of a question.
const QUESTION: &str = "__complete";

/// What the program is called where only questions are asked: kubectl and oc look for a program of
/// that name beside their plugin.
const ASKERS: [&str; 2] = ["kubectl_complete-fairway", "oc_complete-fairway"];

/// Do not complete names of files: where one is wanted, it is among the candidates.
const NO_FILES: u8 = 4;
/// And type no blank after the word: more of it is to come.
const NO_BLANK: u8 = 2;

/// The words that somebody is typing, if that is the question.
pub(crate) fn question(arguments: &[OsString]) -> Option<&[OsString]> {
    let (program, words) = arguments.split_first()?;
    let name = Path::new(program).file_name().and_then(OsStr::to_str);
    if name.is_some_and(|name| ASKERS.contains(&name)) {
        return Some(words);
    }
    words.split_first().filter(|(first, _)| *first == QUESTION).map(|(_, words)| words)
}

/// Answers it. Whoever types is not to be disturbed: without an answer, there are no candidates.
pub(crate) fn answer(words: &[OsString]) -> ExitCode {
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
    let directive = if candidates.iter().any(goes_on) { NO_FILES | NO_BLANK } else { NO_FILES };
    let printer = Printer::new(ColorChoice::Never, Verbosity::Quiet, Program::Fairway);
    let written = writeln!(printer.stdout(), "{text}:{directive}");
    // A shell that does not wait for the answer does not want it.
    drop(written);
    ExitStatus::Success.into()
}

fn candidates(words: &[OsString]) -> Vec<CompletionCandidate> {
    let mut typed = vec![OsString::from("fairway")];
    typed.extend_from_slice(words);
    if words.is_empty() {
        typed.push(OsString::new());
    }
    let mut command = live::completed(Args::command(), words);
    let last = typed.len() - 1;
    let directory = std::env::current_dir().ok();
    let mut found = complete(&mut command, typed, last, directory.as_deref()).unwrap_or_default();
    let is_option =
        |candidate: &CompletionCandidate| candidate.get_value().to_string_lossy().starts_with('-');
    // Who has not begun an option wants something else first, if there is something else.
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
    fn questions_are_told_from_commands() {
        let asked = |line: &str| question(&words(line)).map(<[OsString]>::len);
        assert_eq!(asked("fairway upgrade --to"), None);
        assert_eq!(asked("fairway __complete upgrade --to"), Some(2));
        assert_eq!(asked("/bin/kubectl_complete-fairway upgrade "), Some(2));
        assert_eq!(asked("oc_complete-fairway"), Some(0));
        assert_eq!(question(&[]), None);
    }

    #[test]
    fn commands_options_and_words_are_completed() {
        assert_eq!(completed("upgrade rec"), ["recommend"]);
        assert_eq!(completed("crds --output "), ["json", "yaml"]);
        assert_eq!(completed("crds --output=j"), ["--output=json"]);
        assert_eq!(completed("upgrade --to-l"), ["--to-latest"]);
        assert!(completed("").contains(&"upgrade".to_owned()));
        assert!(completed("upgrade ").iter().all(|word| !word.starts_with('-')));
        assert_eq!(completed("nonsense "), completed(""));
    }
}
