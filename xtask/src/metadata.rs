//! What cargo knows about the workspace and everything that it is built from.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use crate::cargo::{cargo, root};

/// The output of `cargo metadata`, as far as it is needed.
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
    /// Where it comes from; nothing for a path.
    pub(crate) source: Option<String>,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
}

/// What a package declares.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `dev`, `build`, or nothing.
    pub(crate) kind: Option<String>,
    pub(crate) features: Vec<String>,
}

impl Metadata {
    /// Asks cargo. The lock file stays as it is.
    pub(crate) fn read() -> Result<Self> {
        // Packages for other systems need not even be downloaded.
        let platform = format!("--filter-platform={}-unknown-linux-gnu", std::env::consts::ARCH);
        let mut command = cargo(["metadata", "--format-version=1", "--locked", &platform]);
        let output = command.output().context("cannot start cargo")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`cargo metadata` failed: {}", errors.trim());
        serde_json::from_slice(&output.stdout).context("cannot read the output of cargo metadata")
    }

    /// The packages of this repository.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    /// The packages of others.
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
