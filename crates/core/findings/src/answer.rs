//! What a check answers, and how it is understood.
//!
//! The answer is the last complete JSON object of this format that starts a line of the check's log,
//! or its termination message. A check that gives none is understood by how it ended:
//!
//! | exit code | what it means |
//! | --- | --- |
//! | 0 | nothing stands against the update |
//! | 1, 3 | something does: the end of its log says what |
//! | 4 | it cannot tell |
//! | 126, 127, and a shell that says the same of what it was to run | there is no such command: the operator has no check |
//! | any other | it crashed |
//!
//! A check that claims to have found nothing and yet fails, prints what is no text, more than is
//! read, or an answer that is broken, has not answered.

use serde::{Deserialize, Serialize};

use crate::document::{CheckStatus, ExecutionStatus, Finding, Reason};
use crate::text::{self, Scissors};
use crate::{lenient, limits};

mod search;

use search::Found;

/// Bytes of a log: all of it is read, for tails cut long lines.
pub const MAX_LOG: usize = 1 << 20;

/// Bytes of a termination message that the kubelet keeps.
pub const MAX_TERMINATION_MESSAGE: usize = 4 << 10;

/// Bytes of the end of a log that are quoted.
const TAIL: usize = 1 << 10;

/// What a check answers: one JSON object, at the beginning of a line. A [`crate::Document`] has the
/// same fields, so a check may also say more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Answer {
    /// [`crate::FORMAT`].
    #[serde(deserialize_with = "lenient::text")]
    pub format: String,
    /// `completed`, or `failed` where it cannot tell.
    pub execution_status: ExecutionStatus,
    /// Why it cannot tell.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "lenient::text")]
    pub message: String,
    /// What it has found.
    #[serde(deserialize_with = "lenient::list")]
    pub risks: Vec<Finding>,
}

/// How the container of a check ended, and what it left behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending<'a> {
    /// All that it printed. More than [`MAX_LOG`] bytes need not be fetched to see that it is more.
    pub log: &'a [u8],
    /// Its termination message.
    pub termination_message: &'a str,
    /// Its exit code.
    pub exit_code: i32,
    /// The word of the kubelet for how it ended, such as `OOMKilled`.
    pub reason: &'a str,
    /// What its manifest says that it runs, with arguments; nothing where its image says it.
    pub command: &'a [String],
}

/// What a check says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What became of it.
    pub status: CheckStatus,
    /// Why there is no answer.
    pub message: String,
    /// What it has found.
    pub findings: Vec<Finding>,
    /// What of its answer was dropped or cut, for people to read.
    pub dropped: Vec<String>,
}

impl Outcome {
    /// No answer, for that reason.
    pub fn without_answer(status: CheckStatus, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), ..Self::default() }
    }
}

/// What a check that has ended says.
pub fn understand(check: &str, ending: &Ending<'_>) -> Outcome {
    let in_log = if ending.log.len() > MAX_LOG {
        Found::TooLong
    } else {
        search::last_answer(&String::from_utf8_lossy(ending.log))
    };
    let message = text::beginning(ending.termination_message, MAX_TERMINATION_MESSAGE);
    match (in_log, search::last_answer(&message)) {
        (Found::Answer(answer), _) | (_, Found::Answer(answer)) => answered(check, answer, ending),
        (Found::TooLong, _) => Outcome::without_answer(
            CheckStatus::Failed,
            format!("its log exceeds {MAX_LOG} bytes and contains no result"),
        ),
        (Found::Broken(why), _) | (Found::Nothing, Found::Broken(why)) => {
            Outcome::without_answer(CheckStatus::Failed, format!("cannot parse its result: {why}"))
        }
        (Found::Nothing, _) => unanswered(check, ending),
    }
}

/// What an answer says. It counts however the check ended afterwards, unless it says that all is
/// well and the end says something else.
fn answered(check: &str, answer: Answer, ending: &Ending<'_>) -> Outcome {
    let Answer { format: _, execution_status, mut message, mut risks } = answer;
    let mut scissors = Scissors::default();
    let dropped = limits::fit_findings(&mut risks, &mut scissors);
    let dropped = dropped.into_iter().chain(scissors.told()).collect();
    for finding in &mut risks {
        check.clone_into(&mut finding.check);
    }
    let says = |reason| risks.iter().any(|finding| finding.reason == reason);
    let (is_skewed, is_partial) =
        (says(Reason::PreflightVersionSkew), says(Reason::PreflightPartial));
    let status = match execution_status {
        // One of its questions is without an answer, whatever became of the others.
        ExecutionStatus::Completed | ExecutionStatus::Failed if is_skewed => {
            CheckStatus::VersionSkew
        }
        ExecutionStatus::Completed if is_partial => CheckStatus::CannotTell,
        ExecutionStatus::Completed if !risks.is_empty() => CheckStatus::Found,
        ExecutionStatus::Completed if ending.exit_code == 0 => CheckStatus::Passed,
        ExecutionStatus::Completed => {
            message = format!("its result has no findings, but {}", end_of(ending));
            CheckStatus::Failed
        }
        ExecutionStatus::Failed => CheckStatus::CannotTell,
        ExecutionStatus::Running => {
            message = format!("it ended before completion: {}", end_of(ending));
            CheckStatus::Failed
        }
    };
    let message = text::beginning(message.trim(), TAIL);
    Outcome { status, message, findings: risks, dropped }
}

/// What a check without an answer says by how it ended.
fn unanswered(check: &str, ending: &Ending<'_>) -> Outcome {
    let said = last_words(ending);
    if has_no_command(ending) {
        let message = format!("its image does not contain the command: {said}");
        return Outcome::without_answer(CheckStatus::Skipped, message);
    }
    if is_no_text(ending.log) {
        return Outcome::without_answer(CheckStatus::Failed, "its log is not UTF-8 text");
    }
    match (ending.reason, ending.exit_code) {
        ("DeadlineExceeded", _) => Outcome::without_answer(CheckStatus::TimedOut, said),
        ("StartError" | "ContainerCannotRun", _) => {
            Outcome::without_answer(CheckStatus::NotStarted, said)
        }
        ("OOMKilled", _) => Outcome::without_answer(CheckStatus::Failed, end_of(ending)),
        (_, 0) => Outcome { status: CheckStatus::Passed, ..Outcome::default() },
        (_, 1 | 3) => Outcome {
            status: CheckStatus::Found,
            findings: vec![says_no(check, said)],
            ..Outcome::default()
        },
        (_, 4) => Outcome::without_answer(CheckStatus::CannotTell, said),
        _ if ending.log.is_empty() => Outcome::without_answer(CheckStatus::Failed, said),
        _ => {
            let message = format!("{}: {said}", end_of(ending));
            Outcome::without_answer(CheckStatus::Failed, message)
        }
    }
}

/// The finding of a check that says no in words.
fn says_no(check: &str, said: String) -> Finding {
    Finding {
        name: format!("{}CheckFailed", text::camel_case(check)),
        message: said,
        check: check.to_owned(),
        ..Finding::default()
    }
}

/// Whether it never began because what should begin is not there.
fn has_no_command(ending: &Ending<'_>) -> bool {
    let is_missing = |said: &str| {
        ["no such file or directory", "executable file not found", "not found"]
            .iter()
            .any(|words| said.to_lowercase().contains(words))
    };
    match (ending.reason, ending.exit_code) {
        ("StartError" | "ContainerCannotRun", _) => is_missing(ending.termination_message),
        (_, 126 | 127) => shell_misses_command(ending),
        _ => false,
    }
}

/// Whether a shell says of what the container runs that it is not there, as in
/// `sh: 1: /bin/preflight: not found`. A script that misses a tool ends alike, and has crashed.
fn shell_misses_command(ending: &Ending<'_>) -> bool {
    let log = String::from_utf8_lossy(ending.log);
    let mut lines = log.trim().lines();
    let (Some(line), None) = (lines.next(), lines.next()) else { return false };
    let missing = line.rsplit(": ").nth(1);
    let mut words = ending.command.iter().flat_map(|part| part.split_whitespace());
    missing.is_some_and(|missing| words.any(|word| word == missing))
}

fn is_no_text(log: &[u8]) -> bool {
    log.contains(&0) || std::str::from_utf8(log).is_err()
}

/// What it said last.
fn last_words(ending: &Ending<'_>) -> String {
    let log = String::from_utf8_lossy(ending.log);
    match (log.trim(), ending.termination_message.trim()) {
        ("", "") => format!("{} without output", end_of(ending)),
        ("", message) => text::tail(message, TAIL),
        (log, _) => text::tail(log, TAIL),
    }
}

fn end_of(ending: &Ending<'_>) -> String {
    match (ending.reason, ending.exit_code) {
        ("OOMKilled", _) => "it exceeded its memory limit".to_owned(),
        (_, code @ 129..=192) => format!("signal {} terminated it", code - 128),
        (_, code) => format!("it exited with code {code}"),
    }
}

#[cfg(test)]
mod tests;
