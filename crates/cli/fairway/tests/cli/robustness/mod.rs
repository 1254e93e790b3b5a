//! Every command where something is missing: arguments that make sense, a cluster, permission, what
//! the cluster should have, a reader, room, colours, characters.

mod cluster;
mod commands;
mod reader;
mod recording;
mod terminal;

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use crate::fairway;

/// How a command ended.
struct Ended {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Ended {
    /// Runs a command on a thread that may wait: a sandbox answers from the runtime of its test.
    fn of(command: &mut Command) -> Self {
        let output = command.output().expect("the program starts");
        let text = |bytes| String::from_utf8(bytes).expect("the program prints text");
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Of a command about the cluster of a kubeconfig.
    fn about(kubeconfig: &Path, arguments: &[&str]) -> Self {
        let mut command = fairway();
        command.env("KUBECONFIG", kubeconfig).args(arguments);
        tokio::task::block_in_place(|| Self::of(&mut command))
    }

    /// What it said first, and how it ended.
    fn in_short(&self) -> String {
        let said = if self.stderr.is_empty() { &self.stdout } else { &self.stderr };
        let mut lines = said.lines().filter(|line| !line.is_empty());
        format!("{} {}", self.code, lines.next().unwrap_or_default())
    }
}

/// A line for each command: how it ended, and what it said first.
fn table(rows: impl IntoIterator<Item = (String, Ended)>) -> String {
    let mut table = String::new();
    for (arguments, ended) in rows {
        writeln!(table, "{arguments}\n    {}", ended.in_short()).unwrap();
    }
    settled(&table)
}

/// The text without what differs from day to day and from machine to machine.
fn settled(text: &str) -> String {
    let lines = text.replace(env!("CARGO_MANIFEST_DIR"), "~");
    let lines = lines.lines().map(|line| line.split(' ').map(settled_word).collect::<Vec<_>>());
    lines.map(|words| words.join(" ") + "\n").collect()
}

/// Such as `319d4h`.
fn settled_word(word: &str) -> &str {
    let is_age = word.starts_with(|it: char| it.is_ascii_digit())
        && word.ends_with(['d', 'h', 'm', 's'])
        && word.chars().all(|it| it.is_ascii_digit() || "dhms".contains(it));
    if is_age { "AGE" } else { word }
}
