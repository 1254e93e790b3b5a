//! The JSON logs of all processes of a tour: a contract with log pipelines.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::unique_keys::UniqueKeys;

/// The containers that log JSON.
const CONTAINERS: [&str; 2] = ["cluster-version-operator", "olm-guard"];

/// Messages of an installation and an update.
const EXPECTED: [&str; 3] = ["leader elected", "rollout started", "rollout complete"];

/// Parses every line that the processes below a directory have logged.
pub(super) fn check(directory: &Path) -> Result<()> {
    let mut messages: BTreeMap<String, usize> = BTreeMap::new();
    for path in logs(directory)? {
        let text = fs::read_to_string(&path)?;
        for line in lines(&text) {
            let message = entry(&line).with_context(|| format!("{}: {line}", path.display()))?;
            *messages.entry(message).or_default() += 1;
        }
    }
    for expected in EXPECTED {
        ensure!(messages.contains_key(expected), "{expected:?} is not among {messages:#?}");
    }
    Ok(())
}

/// The message of a log line.
fn entry(line: &str) -> Result<String> {
    let UniqueKeys(fields) = serde_json::from_str(line)?;
    let fields = fields.as_object().context("a log line is an object")?;
    for key in ["timestamp", "level", "target", "message"] {
        ensure!(fields.contains_key(key), "{key} is missing");
    }
    let is_name = |key: &str| key.chars().all(|it| it.is_ascii_lowercase() || "_.".contains(it));
    for key in fields.keys() {
        ensure!(is_name(key), "{key:?} is no field name");
    }
    let message = fields["message"].as_str().context("the message is a string")?;
    let has_digit = message.chars().any(|it| it.is_ascii_digit());
    ensure!(!has_digit && message.len() <= 80, "the message is not constant: {message:?}");
    Ok(message.to_owned())
}

/// The lines of a container log in the format of the CRI; `P` marks a part of a line.
fn lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for written in text.lines() {
        let mut parts = written.splitn(4, ' ').skip(2);
        let tag = parts.next().unwrap_or_default();
        line.push_str(parts.next().unwrap_or_default());
        if tag == "F" {
            lines.push(std::mem::take(&mut line));
        }
    }
    lines
}

/// The logs of the containers that log JSON.
fn logs(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            let is_log = path.extension().is_some_and(|it| it == "log");
            let container = directory.file_name().and_then(|it| it.to_str()).unwrap_or_default();
            if kind.is_dir() {
                directories.push(path);
            } else if kind.is_file() && is_log && CONTAINERS.contains(&container) {
                found.push(path);
            }
        }
    }
    Ok(found)
}

#[test]
fn entry_with_a_duplicate_key_or_a_variable_message_is_refused() {
    let line = |rest: &str| format!(r#"{{"timestamp":"t","level":"INFO","target":"a",{rest}}}"#);
    let ok = entry(&line(r#""message":"rollout started","version":"5.0.1""#));
    assert_eq!(ok.unwrap(), "rollout started");
    for rest in [
        r#""message":"a","message":"b""#,
        r#""message":"rollout of 5.0.1 started""#,
        r#""message":"a","Version":"5""#,
        r#""version":"5""#,
    ] {
        assert!(entry(&line(rest)).is_err(), "{rest}");
    }
}
