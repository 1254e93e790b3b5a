//! `cargo xtask gen`: CRDs and reference pages that the binary writes, and the table of removed APIs.
#![expect(clippy::print_stdout, reason = "tasks print to the terminal")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{cargo, removed_apis};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Write nothing; fail if a file is not current
    #[arg(long)]
    check: bool,
}

/// Each directory, and the `fairway` command that writes it.
const DIRECTORIES: &[(&str, &[&str])] =
    &[("deploy/crds", &["crds", "--dir"]), ("docs/reference", &["reference"])];

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let program = cargo::build()?;
    if arguments.check { check(&program) } else { write(&program) }
}

fn write(program: &Path) -> Result<()> {
    let table = cargo::root().join(removed_apis::TABLE);
    std::fs::write(&table, removed_apis()?)?;
    println!("wrote {}", table.display());
    for (directory, command) in DIRECTORIES {
        let scratch = tempfile::tempdir_in(cargo::root().join("target"))?;
        let fresh = scratch.path().join("fresh");
        fill(program, command, &fresh)?;
        let directory = cargo::root().join(directory);
        if directory.exists() {
            std::fs::remove_dir_all(&directory)?;
        }
        std::fs::create_dir_all(directory.parent().unwrap_or(cargo::root()))?;
        std::fs::rename(&fresh, &directory)?;
        println!("wrote {}", directory.display());
    }
    Ok(())
}

/// Fails if a committed file differs from a generated one.
pub(crate) fn check(program: &Path) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let mut stale = Vec::new();
    if std::fs::read_to_string(cargo::root().join(removed_apis::TABLE))? != removed_apis()? {
        stale.push(removed_apis::TABLE.to_owned());
    }
    for (directory, command) in DIRECTORIES {
        let fresh = scratch.path().join(directory);
        fill(program, command, &fresh)?;
        let (fresh, committed) = (files(&fresh)?, files(&cargo::root().join(directory))?);
        let names = fresh.keys().chain(committed.keys()).collect::<std::collections::BTreeSet<_>>();
        let differs = |name: &&&OsString| fresh.get(**name) != committed.get(**name);
        stale.extend(
            names.iter().filter(differs).map(|name| format!("{directory}/{}", name.display())),
        );
    }
    if !stale.is_empty() {
        bail!("not current: {}; run `cargo xtask gen` and commit the result", stale.join(", "));
    }
    println!("generated files are current");
    Ok(())
}

fn removed_apis() -> Result<String> {
    let source = std::fs::read_to_string(cargo::root().join(removed_apis::SOURCE));
    let source = source.with_context(|| format!("cannot read {}", removed_apis::SOURCE))?;
    removed_apis::table(&source).context(removed_apis::SOURCE)
}

fn fill(program: &Path, command: &[&str], directory: &Path) -> Result<()> {
    cargo::run(Command::new(program).arg("--quiet").args(command).arg(directory))
}

/// The content of every file below a directory, by name. Empty if the directory is missing.
fn files(directory: &Path) -> Result<BTreeMap<OsString, Vec<u8>>> {
    let mut files = BTreeMap::new();
    if !directory.exists() {
        return Ok(files);
    }
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(self::files(&path)?);
            continue;
        }
        let content =
            std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        files.insert(path.file_name().unwrap_or_default().to_owned(), content);
    }
    Ok(files)
}
