//! Cargo commands and paths.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// The root of the checkout.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// `cargo` with these arguments, in the root of the checkout.
pub(crate) fn cargo(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    // Build scripts rerun if these variables change, so those of xtask must not reach other builds.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if PACKAGE_VARIABLES.iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(&*name);
        }
    }
    command
}

/// Prefixes of the variables that cargo sets for the package of a process.
const PACKAGE_VARIABLES: &[&str] = &["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];

/// Runs a command with the terminal as its output.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    let status =
        command.stdin(Stdio::null()).status().with_context(|| format!("cannot start `{shown}`"))?;
    ensure!(status.success(), "`{shown}` failed ({status})");
    Ok(())
}

/// The command line, for messages.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let program_name = |word: &OsStr| {
        let name = Path::new(word).file_name().unwrap_or(word);
        name.to_string_lossy().into_owned()
    };
    let mut shown = Vec::new();
    for (index, word) in words.enumerate() {
        shown.push(if index == 0 {
            program_name(word)
        } else {
            word.to_string_lossy().into_owned()
        });
    }
    shown.join(" ")
}

/// Whether nextest is installed.
pub(crate) fn has_nextest() -> bool {
    let version =
        cargo(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Builds the binary. Returns its path.
pub(crate) fn build() -> Result<PathBuf> {
    built_fairway(&mut cargo(["build", "--package=fairway"]))
}

/// Builds the binary for images: without the sandbox, with the allocator for long-running processes.
/// Returns its path.
pub(crate) fn build_release() -> Result<PathBuf> {
    let features = ["--no-default-features", "--features=jemalloc"];
    built_fairway(cargo(["build", "--package=fairway", "--release"]).args(features))
}

/// Builds the binary with the tests. Returns its path. Without the tests, features would be unified
/// differently and dependencies rebuilt.
pub(crate) fn build_with_tests() -> Result<PathBuf> {
    built_fairway(&mut cargo(["test", "--no-run", "--workspace", "--lib", "--bins", "--tests"]))
}

fn built_fairway(build: &mut Command) -> Result<PathBuf> {
    build.arg("--message-format=json-render-diagnostics");
    let shown = shown(build);
    let output = build.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    ensure!(output.status.success(), "`{shown}` failed");
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    let executable = messages.lines().rev().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_fairway = message["target"]["name"] == "fairway"
            && message["target"]["kind"] == serde_json::json!(["bin"])
            && message["profile"]["test"] == false;
        let executable = message["executable"].as_str().filter(|_| is_fairway)?;
        Some(PathBuf::from(executable))
    });
    executable.with_context(|| format!("`{shown}` produced no binary"))
}
