//! `cargo xtask check`: the checks of changed crates that take a minute.
#![expect(clippy::print_stdout, reason = "tasks print to the terminal")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use fairway_fixtures::skip;

use crate::cargo::{self, cargo, root};
use crate::layers;
use crate::metadata::{Metadata, Package};
use crate::suite::TestList;

/// Files and directories outside of crates that can affect all of them.
const SHARED: [&str; 7] = [
    ".cargo",
    ".config/nextest.toml",
    "Cargo.lock",
    "Cargo.toml",
    "clippy.toml",
    "rust-toolchain.toml",
    "rustfmt.toml",
];

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Crates to check, by name; the prefix `fairway-` is optional [default: crates with changes]
    crates: Vec<String>,

    /// Find changes since this commit
    #[arg(long, value_name = "COMMIT", default_value = "HEAD")]
    since: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let metadata = Metadata::read()?;
    let files = changed_files(&arguments.since)?;
    let packages = if arguments.crates.is_empty() {
        changed(&metadata, &files)
    } else {
        arguments.crates.iter().map(|name| named(&metadata, name)).collect::<Result<_>>()?
    };
    println!("==> layers");
    layers::check()?;
    if packages.is_empty() {
        println!(
            "No crate has changed since {}. To check a crate: cargo xtask check CRATE",
            arguments.since
        );
    } else {
        check(&packages)?;
    }
    for hint in hints(&metadata, &packages, &files) {
        println!("hint: {hint}");
    }
    Ok(())
}

fn check(packages: &[&Package]) -> Result<()> {
    let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    println!("==> format: {}", names.join(", "));
    cargo::run(cargo(["fmt", "--check"]).args(selected(packages)))?;
    println!("==> lints");
    let lints = ["--all-targets", "--", "--deny", "warnings"];
    cargo::run(cargo(["clippy"]).args(selected(packages)).args(lints))?;
    println!("==> tests");
    let (core, others): (Vec<&Package>, Vec<&Package>) =
        packages.iter().partition(|package| package.directory().starts_with("crates/core"));
    // Integration tests of core crates take seconds; those of others may need a cluster.
    let skipped = TestList::skipped();
    skipped.clear()?;
    let outcome =
        test(&core, &["--lib", "--tests"]).and_then(|()| test(&others, &["--lib", "--bins"]));
    outcome.and(skipped.print("SKIPPED"))
}

/// Parts that the check does not cover.
fn hints(metadata: &Metadata, packages: &[&Package], files: &[String]) -> Vec<String> {
    let mut hints = Vec::new();
    let is_shared = |file: &&String| SHARED.iter().any(|it| Path::new(file).starts_with(it));
    let shared: Vec<&str> = files.iter().filter(is_shared).map(String::as_str).collect();
    if !shared.is_empty() {
        hints.push(format!(
            "{} can affect every crate: run `cargo xtask test --quick`",
            shared.join(", ")
        ));
    }
    let dependents = dependents(metadata, packages);
    if !dependents.is_empty() {
        let names: Vec<&str> =
            dependents.iter().map(|name| name.strip_prefix("fairway-").unwrap_or(name)).collect();
        let names = names.join(" ");
        hints.push(format!("not tested, although they depend on these crates: {names}"));
    }
    hints
}

/// The other crates of the workspace whose build or tests use these, directly or not.
fn dependents<'a>(metadata: &'a Metadata, packages: &[&Package]) -> BTreeSet<&'a str> {
    let given: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let uses = |package: &Package, used: &BTreeSet<&str>, with_tests: bool| {
        package.dependencies.iter().any(|dependency| {
            let is_dev = dependency.kind.as_deref() == Some("dev");
            (with_tests || !is_dev) && used.contains(dependency.name.as_str())
        })
    };
    let mut reached = given.clone();
    loop {
        let more: Vec<&str> = metadata
            .members()
            .filter(|package| !reached.contains(package.name.as_str()))
            .filter(|package| uses(package, &reached, false))
            .map(|package| package.name.as_str())
            .collect();
        if more.is_empty() {
            break;
        }
        reached.extend(more);
    }
    // A dev-dependency does not affect dependents.
    let members = metadata
        .members()
        .filter(|package| reached.contains(package.name.as_str()) || uses(package, &reached, true));
    members.map(|package| package.name.as_str()).filter(|name| !given.contains(name)).collect()
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
    let has_name =
        |package: &&Package| package.name == name || package.name == format!("fairway-{name}");
    if let Some(package) = metadata.members().find(has_name) {
        return Ok(package);
    }
    let names: Vec<&str> = metadata.members().map(|package| package.name.as_str()).collect();
    bail!("unknown crate {name:?}; known crates: {}", names.join(", "))
}

/// The files that differ from a commit, or that git does not know yet.
fn changed_files(since: &str) -> Result<Vec<String>> {
    let mut files = git(&["diff", "--name-only", since, "--"])?;
    files.extend(git(&["ls-files", "--others", "--exclude-standard"])?);
    Ok(files)
}

/// The crates that have one of these files.
fn changed<'a>(metadata: &'a Metadata, files: &[String]) -> Vec<&'a Package> {
    let has_changed = |package: &&Package| {
        files.iter().any(|file| Path::new(file).starts_with(package.directory()))
    };
    metadata.members().filter(has_changed).collect()
}

fn git(arguments: &[&str]) -> Result<Vec<String>> {
    let output = Command::new("git").args(arguments).current_dir(root()).output();
    let output = output.context("cannot start git")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git {}: {}", arguments.join(" "), errors.trim());
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Dependency;

    fn workspace() -> Metadata {
        let package = |name: &str, dependencies: &[(&str, Option<&str>)]| Package {
            id: name.to_owned(),
            name: name.to_owned(),
            manifest_path: root().join("crates").join(name).join("Cargo.toml"),
            dependencies: dependencies
                .iter()
                .map(|(name, kind)| Dependency {
                    name: (*name).to_owned(),
                    kind: kind.map(str::to_owned),
                    ..Dependency::default()
                })
                .collect(),
            ..Package::default()
        };
        let packages = vec![
            package("fairway-risk", &[]),
            package("fairway-operator", &[("fairway-risk", None)]),
            package("fairway-cli", &[("fairway-operator", None)]),
            package("fairway-olm", &[("fairway-operator", Some("dev"))]),
            package("fairway-example", &[("fairway-olm", None)]),
        ];
        let workspace_members = packages.iter().map(|package| package.id.clone()).collect();
        Metadata { packages, workspace_members }
    }

    #[test]
    fn dependents_of_crate_include_indirect_ones_and_users_in_tests() {
        let metadata = workspace();
        let risk = named(&metadata, "risk").unwrap();
        let expected = ["fairway-cli", "fairway-olm", "fairway-operator"];
        assert_eq!(Vec::from_iter(dependents(&metadata, &[risk])), expected);
        let operator = named(&metadata, "operator").unwrap();
        let expected = ["fairway-cli", "fairway-olm"];
        assert_eq!(Vec::from_iter(dependents(&metadata, &[risk, operator])), expected);
    }

    #[test]
    fn hints_for_shared_files_and_dependents_name_them() {
        let metadata = workspace();
        let files = ["Cargo.lock", "crates/fairway-cli/Cargo.toml"].map(str::to_owned);
        let packages = changed(&metadata, &files);
        assert_eq!(
            hints(&metadata, &packages, &files),
            ["Cargo.lock can affect every crate: run `cargo xtask test --quick`"]
        );
        let olm = named(&metadata, "olm").unwrap();
        assert_eq!(
            hints(&metadata, &[olm], &[]),
            ["not tested, although they depend on these crates: example"]
        );
    }
}
