//! Result of a check, and its interpretation.
//!
//! The result is the last complete JSON object of this format that starts a line of the check's
//! log, or its termination message. A check without one is interpreted by its exit code:
//!
//! | exit code | meaning |
//! | --- | --- |
//! | 0 | no findings |
//! | 1, 3 | one finding: the end of the log |
//! | 4 | no result |
//! | 126, 127, if the shell reports the container's command as missing | the component has no check |
//! | other | the check crashed |
//!
//! A check has failed if its result has no findings but its exit code is not 0, if its log is not
//! text or too large, or if its result is invalid.

use serde::{Deserialize, Serialize};

use crate::document::{CheckStatus, ExecutionStatus, Finding, Reason};
use crate::reading::{self, ReadError};
use crate::text::{self, Truncator};
use crate::{json, lenient, limits};

/// Maximum bytes of a log. The log is read completely, because requests for its tail may truncate
/// long lines.
pub const MAX_LOG_BYTES: usize = 1 << 20;

/// Maximum bytes of a termination message, as in the kubelet.
pub const MAX_TERMINATION_MESSAGE_BYTES: usize = 4 << 10;

/// Maximum bytes of the end of a log in a message.
const MAX_TAIL_BYTES: usize = 1 << 10;

/// Result of a check: one JSON object at the beginning of a line. A [`crate::Document`] has the
/// same fields, so a check may print one, too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CheckResult {
    /// Version of the results format.
    #[serde(deserialize_with = "lenient::text")]
    pub format: String,
    /// `completed`, or `failed` if the check has no result.
    pub execution_status: ExecutionStatus,
    /// Why the check has no result.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "lenient::text")]
    pub message: String,
    /// Findings.
    #[serde(deserialize_with = "lenient::list")]
    pub risks: Vec<Finding>,
}

/// How the container of a check terminated, and its output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContainerTermination<'a> {
    /// The log, up to more than [`MAX_LOG_BYTES`] bytes.
    pub log: &'a [u8],
    /// Termination message of the container.
    pub termination_message: &'a str,
    /// Exit code of the container.
    pub exit_code: i32,
    /// Reason of the kubelet, such as `OOMKilled`.
    pub reason: &'a str,
    /// Command and arguments of the manifest; empty if the image defines them.
    pub command: &'a [String],
}

/// Interpreted result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckOutcome {
    /// Status of the check.
    pub status: CheckStatus,
    /// Why there is no result.
    pub message: String,
    /// Findings.
    pub findings: Vec<Finding>,
    /// What was dropped or truncated, as messages.
    pub dropped: Vec<String>,
}

impl CheckOutcome {
    /// An outcome without a result.
    pub fn without_result(status: CheckStatus, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), ..Self::default() }
    }
}

/// Interprets the output of a check that has ended.
pub fn interpret(check: &str, container: &ContainerTermination<'_>) -> CheckOutcome {
    let in_log = if container.log.len() > MAX_LOG_BYTES {
        SearchResult::TooLong
    } else {
        last_result(&String::from_utf8_lossy(container.log))
    };
    let message = text::beginning(container.termination_message, MAX_TERMINATION_MESSAGE_BYTES);
    match (in_log, last_result(&message)) {
        (SearchResult::CheckResult(result), _) | (_, SearchResult::CheckResult(result)) => {
            interpret_result(check, result, container)
        }
        (SearchResult::TooLong, _) => CheckOutcome::without_result(
            CheckStatus::Failed,
            format!("its log exceeds {MAX_LOG_BYTES} bytes and contains no result"),
        ),
        (SearchResult::Invalid(why), _) | (SearchResult::Nothing, SearchResult::Invalid(why)) => {
            CheckOutcome::without_result(
                CheckStatus::Failed,
                format!("cannot parse its result: {why}"),
            )
        }
        (SearchResult::Nothing, _) => interpret_exit_code(check, container),
    }
}

/// Interprets a result. The exit code matters only if the result has no findings.
fn interpret_result(
    check: &str,
    result: CheckResult,
    container: &ContainerTermination<'_>,
) -> CheckOutcome {
    let CheckResult { format: _, execution_status, mut message, mut risks } = result;
    let mut truncator = Truncator::default();
    let dropped = limits::fit_findings(&mut risks, &mut truncator);
    let dropped = dropped.into_iter().chain(truncator.messages()).collect();
    for finding in &mut risks {
        check.clone_into(&mut finding.check);
    }
    let says = |reason| risks.iter().any(|finding| finding.reason == reason);
    let (is_skewed, is_partial) =
        (says(Reason::PreflightVersionSkew), says(Reason::PreflightPartial));
    let status = match execution_status {
        // A part of the check has no result.
        ExecutionStatus::Completed | ExecutionStatus::Failed if is_skewed => {
            CheckStatus::VersionSkew
        }
        ExecutionStatus::Completed if is_partial => CheckStatus::CannotTell,
        ExecutionStatus::Completed if !risks.is_empty() => CheckStatus::Found,
        ExecutionStatus::Completed if container.exit_code == 0 => CheckStatus::Passed,
        ExecutionStatus::Completed => {
            message = format!("its result has no findings, but {}", termination(container));
            CheckStatus::Failed
        }
        ExecutionStatus::Failed => CheckStatus::CannotTell,
        ExecutionStatus::Running => {
            message = format!("it ended before completion: {}", termination(container));
            CheckStatus::Failed
        }
    };
    let message = text::beginning(message.trim(), MAX_TAIL_BYTES);
    CheckOutcome { status, message, findings: risks, dropped }
}

/// Interprets the exit code of a check without a result.
fn interpret_exit_code(check: &str, container: &ContainerTermination<'_>) -> CheckOutcome {
    let output = last_output(container);
    if has_no_command(container) {
        let message = format!("its image does not contain the command: {output}");
        return CheckOutcome::without_result(CheckStatus::Skipped, message);
    }
    if is_binary(container.log) {
        return CheckOutcome::without_result(CheckStatus::Failed, "its log is not UTF-8 text");
    }
    match (container.reason, container.exit_code) {
        ("DeadlineExceeded", _) => CheckOutcome::without_result(CheckStatus::TimedOut, output),
        ("StartError" | "ContainerCannotRun", _) => {
            CheckOutcome::without_result(CheckStatus::NotStarted, output)
        }
        ("OOMKilled", _) => {
            CheckOutcome::without_result(CheckStatus::Failed, termination(container))
        }
        (_, 0) => CheckOutcome { status: CheckStatus::Passed, ..CheckOutcome::default() },
        (_, 1 | 3) => CheckOutcome {
            status: CheckStatus::Found,
            findings: vec![log_finding(check, output)],
            ..CheckOutcome::default()
        },
        (_, 4) => CheckOutcome::without_result(CheckStatus::CannotTell, output),
        _ if container.log.is_empty() => CheckOutcome::without_result(CheckStatus::Failed, output),
        _ => {
            let message = format!("{}: {output}", termination(container));
            CheckOutcome::without_result(CheckStatus::Failed, message)
        }
    }
}

/// Finding for the log of a check that fails without a result.
fn log_finding(check: &str, output: String) -> Finding {
    Finding {
        name: format!("{}CheckFailed", text::camel_case(check)),
        message: output,
        check: check.to_owned(),
        ..Finding::default()
    }
}

/// Whether the container did not start because its command does not exist.
fn has_no_command(container: &ContainerTermination<'_>) -> bool {
    let is_missing = |output: &str| {
        ["no such file or directory", "executable file not found", "not found"]
            .iter()
            .any(|words| output.to_lowercase().contains(words))
    };
    match (container.reason, container.exit_code) {
        ("StartError" | "ContainerCannotRun", _) => is_missing(container.termination_message),
        (_, 126 | 127) => shell_reports_missing_command(container),
        _ => false,
    }
}

/// Whether a shell reports the container's command as missing, as in `sh: 1: /bin/preflight: not
/// found`. A script that misses another command exits with the same code, and has crashed.
fn shell_reports_missing_command(container: &ContainerTermination<'_>) -> bool {
    let log = String::from_utf8_lossy(container.log);
    let mut lines = log.trim().lines();
    let (Some(line), None) = (lines.next(), lines.next()) else { return false };
    let missing = line.rsplit(": ").nth(1);
    let mut words = container.command.iter().flat_map(|part| part.split_whitespace());
    missing.is_some_and(|missing| words.any(|word| word == missing))
}

fn is_binary(log: &[u8]) -> bool {
    log.contains(&0) || std::str::from_utf8(log).is_err()
}

/// End of the output.
fn last_output(container: &ContainerTermination<'_>) -> String {
    let log = String::from_utf8_lossy(container.log);
    match (log.trim(), container.termination_message.trim()) {
        ("", "") => format!("{} without output", termination(container)),
        ("", message) => text::tail(message, MAX_TAIL_BYTES),
        (log, _) => text::tail(log, MAX_TAIL_BYTES),
    }
}

fn termination(container: &ContainerTermination<'_>) -> String {
    match (container.reason, container.exit_code) {
        ("OOMKilled", _) => "it exceeded its memory limit".to_owned(),
        (_, code @ 129..=192) => format!("signal {} terminated it", code - 128),
        (_, code) => format!("it exited with code {code}"),
    }
}

/// Prefix of all versions of the format.
const FORMAT_PREFIX: &str = "preflight-v";

/// Result of a search.
#[derive(Debug, PartialEq, Eq)]
enum SearchResult {
    CheckResult(CheckResult),
    /// An invalid result.
    Invalid(String),
    Nothing,
    /// The text is too long to search.
    TooLong,
}

/// Finds the last complete result that starts a line.
fn last_result(text: &str) -> SearchResult {
    let mut broken = SearchResult::Nothing;
    for begin in object_starts(text).rev() {
        match result_at(&text[begin..]) {
            found @ SearchResult::CheckResult(_) => return found,
            SearchResult::Invalid(why) if broken == SearchResult::Nothing => {
                broken = SearchResult::Invalid(why);
            }
            _ => {}
        }
    }
    match broken {
        SearchResult::Nothing if text.contains(FORMAT_PREFIX) => {
            SearchResult::Invalid("it does not start at the beginning of a line".to_owned())
        }
        other => other,
    }
}

/// Positions of the lines that start with an object.
fn object_starts(text: &str) -> impl DoubleEndedIterator<Item = usize> {
    let first = std::iter::once(0);
    let others = text.match_indices('\n').map(|(at, _)| at + 1);
    first.chain(others).filter(|begin| text[*begin..].starts_with('{'))
}

/// Result at the start of a text.
fn result_at(text: &str) -> SearchResult {
    let Some(length) = json::object_length(text) else {
        let line = text.lines().next().unwrap_or_default();
        if line.contains(FORMAT_PREFIX) {
            return SearchResult::Invalid("not a complete JSON object".to_owned());
        }
        return SearchResult::Nothing;
    };
    let object = &text[..length];
    if !object.contains(FORMAT_PREFIX) {
        return SearchResult::Nothing;
    }
    match read(object) {
        Ok(result) => SearchResult::CheckResult(result),
        Err(why) => SearchResult::Invalid(why),
    }
}

fn read(object: &str) -> Result<CheckResult, String> {
    let value = json::parse(object.as_bytes()).map_err(|why| why.to_string())?;
    reading::verify_format(&value).map_err(|error| match error {
        ReadError::UnknownFormat(format) => format!("unsupported format {format:?}"),
        ReadError::Invalid(why) => why,
        other => other.to_string(),
    })?;
    CheckResult::deserialize(&value).map_err(|why| why.to_string())
}

#[cfg(test)]
mod tests;
