//! Packages and dependencies of the workspace, by `cargo metadata` and `cargo tree`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use crate::cargo::{cargo, root, shown};

/// The output of `cargo metadata`.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    /// The IDs of the packages in this repository.
    pub(crate) workspace_members: BTreeSet<String>,
}

/// A package.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    /// An SPDX expression.
    pub(crate) license: Option<String>,
    /// The registry or repository; `None` for a path.
    pub(crate) source: Option<String>,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
}

/// A dependency that a package declares.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `dev`, `build`, or `None`.
    pub(crate) kind: Option<String>,
    pub(crate) features: Vec<String>,
}

impl Metadata {
    /// Runs `cargo metadata`, which does not change the lock file.
    pub(crate) fn read() -> Result<Self> {
        let platform = format!("--filter-platform={}", platform());
        let output = read(["metadata", "--format-version=1", "--locked", &platform])?;
        serde_json::from_slice(&output).context("cannot read the output of cargo metadata")
    }

    /// The packages of this repository.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    /// Packages from outside of this repository.
    pub(crate) fn foreign(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| !self.workspace_members.contains(&package.id))
    }
}

impl Package {
    /// Its directory, from the root of the repository.
    pub(crate) fn directory(&self) -> &Path {
        let directory = self.manifest_path.parent().unwrap_or(&self.manifest_path);
        directory.strip_prefix(root()).unwrap_or(directory)
    }
}

/// The normal dependencies of some packages and of everything below them, with the features that
/// these packages enable.
///
/// `resolve` of `cargo metadata` unifies features over the whole workspace: it has dependencies that
/// only other members enable. `cargo tree` resolves features for the given packages.
#[derive(Debug, Default)]
pub(crate) struct DependencyTree {
    roots: Vec<String>,
    /// By name and version.
    dependencies: BTreeMap<String, BTreeSet<String>>,
}

impl DependencyTree {
    /// Runs `cargo tree`, without procedural macros: they run in the compiler.
    pub(crate) fn read<'a>(packages: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let target = format!("--target={}", platform());
        let mut arguments = vec!["tree", "--locked", "--edges=normal,no-proc-macro", &target];
        arguments.push("--prefix=depth");
        for package in packages {
            arguments.extend(["--package", package]);
        }
        Self::parse(&String::from_utf8_lossy(&read(arguments)?))
    }

    /// Reads lines such as `2tokio v1.54.0 (*)`. The dependencies of a `(*)` are at its first line.
    pub(crate) fn parse(output: &str) -> Result<Self> {
        let mut tree = Self::default();
        let mut ancestors: Vec<String> = Vec::new();
        for line in output.lines().filter(|line| !line.trim().is_empty()) {
            let parts = || {
                let name = line.find(|letter: char| !letter.is_ascii_digit())?;
                let mut words = line[name..].split(' ');
                let key = format!("{} {}", words.next()?, words.next()?);
                Some((line[..name].parse::<usize>().ok()?, key))
            };
            let (depth, key) =
                parts().with_context(|| format!("cannot read the output of cargo tree: {line}"))?;
            ancestors.truncate(depth);
            match ancestors.last() {
                Some(parent) => {
                    tree.dependencies.entry(parent.clone()).or_default().insert(key.clone());
                }
                None => tree.roots.push(key.clone()),
            }
            ancestors.push(key);
        }
        Ok(tree)
    }

    /// The shortest path from each root to each package with one of these names. A path does not
    /// lead through another root or another such package: that one has its own.
    pub(crate) fn paths_to(&self, names: &[&str]) -> Vec<Vec<&str>> {
        let mut paths = Vec::new();
        for root in &self.roots {
            let mut pending = VecDeque::from([vec![root.as_str()]]);
            let mut seen = BTreeSet::from([root.as_str()]);
            while let Some(path) = pending.pop_front() {
                let last = path[path.len() - 1];
                for dependency in self.dependencies.get(last).into_iter().flatten() {
                    if !seen.insert(dependency) || self.roots.contains(dependency) {
                        continue;
                    }
                    let longer = [path.as_slice(), &[dependency.as_str()]].concat();
                    if names.contains(&name_of(dependency)) {
                        paths.push(longer);
                    } else {
                        pending.push_back(longer);
                    }
                }
            }
        }
        paths.into_iter().map(|path| path.into_iter().map(name_of).collect()).collect()
    }
}

/// The name in a name and a version.
fn name_of(key: &str) -> &str {
    key.split_once(' ').map_or(key, |(name, _)| name)
}

/// The target: packages for others need not be downloaded.
fn platform() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

/// The output of a cargo command.
fn read<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Vec<u8>> {
    let mut command = cargo(arguments);
    let shown = shown(&command);
    let output = command.output().context("cannot start cargo")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{shown}` failed: {}", errors.trim());
    Ok(output.stdout)
}
