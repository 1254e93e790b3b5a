//! Every command with invalid arguments, without a cluster, without permissions, with incomplete
//! objects, with a closed standard output, and on limited terminals.

mod closed_stdout;
mod cluster;
pub(crate) mod commands;
mod recorded;
mod terminal;

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use crate::fairway;

/// Exit code and output of a command.
struct CommandResult {
    code: i32,
    stdout: String,
    stderr: String,
}

impl CommandResult {
    /// Runs a command.
    fn run(command: &mut Command) -> Self {
        let output = command.output().expect("the program starts");
        let text = |bytes| String::from_utf8(bytes).expect("the program prints text");
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Runs a command against a cluster. The sandbox runs in the runtime of the test, so the wait needs
    /// another thread.
    fn run_against(kubeconfig: &Path, arguments: &[&str]) -> Self {
        let mut command = fairway();
        command.env("KUBECONFIG", kubeconfig).args(arguments);
        tokio::task::block_in_place(|| Self::run(&mut command))
    }

    /// The exit code and the first line of the output.
    fn summary(&self) -> String {
        let output = if self.stderr.is_empty() { &self.stdout } else { &self.stderr };
        let mut lines = output.lines().filter(|line| !line.is_empty());
        format!("{} {}", self.code, lines.next().unwrap_or_default())
    }
}

/// The summaries of commands, a line each.
fn table(rows: impl IntoIterator<Item = (String, CommandResult)>) -> String {
    let mut table = String::new();
    for (arguments, result) in rows {
        writeln!(table, "{arguments}\n    {}", result.summary()).unwrap();
    }
    redacted(&table)
}

/// Replaces ages and paths by placeholders.
fn redacted(text: &str) -> String {
    let lines = text.replace(env!("CARGO_MANIFEST_DIR"), "~");
    let lines = lines.lines().map(|line| line.split(' ').map(redacted_word).collect::<Vec<_>>());
    lines.map(|words| words.join(" ") + "\n").collect()
}

/// Replaces an age such as `319d4h`.
fn redacted_word(word: &str) -> &str {
    let is_age = word.starts_with(|it: char| it.is_ascii_digit())
        && word.ends_with(['d', 'h', 'm', 's'])
        && word.chars().all(|it| it.is_ascii_digit() || "dhms".contains(it));
    if is_age { "AGE" } else { word }
}
