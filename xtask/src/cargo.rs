//! Running cargo, and knowing where things are.

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
    // What cargo says about this chore's own package would make some dependencies believe that
    // they are being built for somebody else, and build again.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if OWN_PACKAGE.iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(&*name);
        }
    }
    command
}

/// What the names of variables begin with by which cargo tells a program about its package.
const OWN_PACKAGE: &[&str] = &["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];

/// Runs a command to its end; what it prints goes to the terminal.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    let status =
        command.stdin(Stdio::null()).status().with_context(|| format!("cannot start `{shown}`"))?;
    ensure!(status.success(), "`{shown}` failed ({status})");
    Ok(())
}

/// The command as one would type it.
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
    let asked =
        cargo(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}

/// Builds the program and says where it is.
pub(crate) fn build() -> Result<PathBuf> {
    built_fairway(&mut cargo(["build", "--package=fairway"]))
}

/// Builds the binary for images: without the sandbox, with the allocator for long-running processes.
/// Returns its path.
pub(crate) fn build_release() -> Result<PathBuf> {
    let features = ["--no-default-features", "--features=jemalloc"];
    built_fairway(cargo(["build", "--package=fairway", "--release"]).args(features))
}

/// Says where the program is that the tests try, and builds it with them if necessary: without
/// them, it would be built with fewer features of what it depends on, and so again.
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
        let is_the_program = message["target"]["name"] == "fairway"
            && message["target"]["kind"] == serde_json::json!(["bin"])
            && message["profile"]["test"] == false;
        let executable = message["executable"].as_str().filter(|_| is_the_program)?;
        Some(PathBuf::from(executable))
    });
    executable.with_context(|| format!("`{shown}` produced no binary"))
}
