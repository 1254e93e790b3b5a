//! What the test command tells the tests it runs.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

pub use fairway_testbed::environment::*;

/// A folder of other projects' vectors, where there is such a directory. Tests without it end
/// early; the test command says so.
pub fn conformance(folder: &str) -> Option<PathBuf> {
    std::env::var_os(CONFORMANCE).map(|root| PathBuf::from(root).join(folder))
}

/// The directory with payloads of real operators, where there is one. Tests without it end early;
/// the test command says so.
pub fn payloads() -> Option<PathBuf> {
    std::env::var_os(PAYLOADS).map(PathBuf::from)
}

/// Releases of the size of a platform's, where there are such: their directories, by version.
pub fn bench_payload() -> Result<Option<Vec<PathBuf>>> {
    let Some(root) = std::env::var_os(BENCH_PAYLOAD).map(PathBuf::from) else { return Ok(None) };
    let entries = std::fs::read_dir(&root).with_context(|| {
        format!("{BENCH_PAYLOAD} names {}, which cannot be read", root.display())
    })?;
    let mut releases: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    releases.retain(|path| path.join("release-manifests").is_dir());
    releases.sort();
    ensure!(!releases.is_empty(), "{} has no directory with a release", root.display());
    Ok(Some(releases))
}

/// The address of the registry that tests share.
pub fn registry() -> Result<String> {
    from_the_test_command(REGISTRY)
}

/// An image of the `fairway` under test, by digest.
pub fn fairway_image() -> Result<String> {
    from_the_test_command(IMAGE)
}

/// The `fairway` under test, which sandboxes start again for the containers of their pods.
pub fn fairway_program() -> Result<PathBuf> {
    let program = match std::env::var_os(PROGRAM) {
        Some(program) => PathBuf::from(program),
        // Test programs are in a directory of their own below.
        None => std::env::current_exe()?.ancestors().nth(2).context("no program")?.join("fairway"),
    };
    ensure!(
        program.is_file(),
        "{} is missing: `cargo build --package fairway`, or name it by {PROGRAM}",
        program.display()
    );
    Ok(program)
}

pub(crate) fn kube_directory() -> Option<PathBuf> {
    std::env::var_os(KUBE).map(PathBuf::from)
}

fn from_the_test_command(name: &str) -> Result<String> {
    std::env::var(name).with_context(|| format!("{name} is not set: run `cargo xtask test`"))
}
