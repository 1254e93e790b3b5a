//! `cargo xtask check`: what can be said about a change within a minute.
#![expect(clippy::print_stdout, reason = "a chore talks to the terminal")]

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use fairway_fixtures::skip;

use crate::cargo::{self, cargo, root};
use crate::metadata::{Metadata, Package};
use crate::suite::TestList;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Crates to check, by name; the prefix `fairway-` may be left out [default: those with changes]
    crates: Vec<String>,

    /// Find changes since this commit
    #[arg(long, value_name = "COMMIT", default_value = "HEAD")]
    since: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let metadata = Metadata::read()?;
    let packages = if arguments.crates.is_empty() {
        changed(&metadata, &arguments.since)?
    } else {
        arguments.crates.iter().map(|name| named(&metadata, name)).collect::<Result<_>>()?
    };
    if packages.is_empty() {
        println!(
            "No crate has changed since {}. Name one: cargo xtask check CRATE",
            arguments.since
        );
        return Ok(());
    }
    let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    println!("==> format: {}", names.join(", "));
    cargo::run(cargo(["fmt", "--check"]).args(selected(&packages)))?;
    println!("==> lints");
    let lints = ["--all-targets", "--", "--deny", "warnings"];
    cargo::run(cargo(["clippy"]).args(selected(&packages)).args(lints))?;
    println!("==> tests");
    let (core, others): (Vec<&Package>, Vec<&Package>) =
        packages.iter().partition(|package| package.directory().starts_with("crates/core"));
    // Tests of core crates take seconds. Those of other crates may need a cluster, or a platform.
    let skipped = TestList::skipped();
    skipped.clear()?;
    let outcome =
        test(&core, &["--lib", "--tests"]).and_then(|()| test(&others, &["--lib", "--bins"]));
    outcome.and(skipped.print("SKIPPED"))
}

fn test(packages: &[&Package], targets: &[&str]) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let mut tests = if cargo::has_nextest() {
        cargo(["nextest", "run", "--no-fail-fast", "--no-tests=pass", "--status-level=fail"])
    } else {
        cargo(["test", "--no-fail-fast"])
    };
    tests.env(skip::SKIPPED, TestList::skipped().path());
    cargo::run(tests.args(selected(packages)).args(targets))
}

fn selected<'a>(packages: &'a [&Package]) -> impl Iterator<Item = &'a str> {
    packages.iter().flat_map(|package| ["--package", package.name.as_str()])
}

fn named<'a>(metadata: &'a Metadata, name: &str) -> Result<&'a Package> {
    let is_meant =
        |package: &&Package| package.name == name || package.name == format!("fairway-{name}");
    if let Some(package) = metadata.members().find(is_meant) {
        return Ok(package);
    }
    let names: Vec<&str> = metadata.members().map(|package| package.name.as_str()).collect();
    bail!("there is no crate {name:?}; there are {}", names.join(", "))
}

/// The crates with files that differ from a commit, or that git does not know yet.
fn changed<'a>(metadata: &'a Metadata, since: &str) -> Result<Vec<&'a Package>> {
    let mut files = git(&["diff", "--name-only", since, "--"])?;
    files.extend(git(&["ls-files", "--others", "--exclude-standard"])?);
    let has_changed = |package: &&Package| {
        files.iter().any(|file| Path::new(file).starts_with(package.directory()))
    };
    Ok(metadata.members().filter(has_changed).collect())
}

fn git(arguments: &[&str]) -> Result<Vec<String>> {
    let output = Command::new("git").args(arguments).current_dir(root()).output();
    let output = output.context("cannot start git")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git {}: {}", arguments.join(" "), errors.trim());
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}
