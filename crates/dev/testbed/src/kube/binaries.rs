//! The binaries of Kubernetes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::build;
use crate::Progress;
use crate::cache::Cache;
use crate::command::run;

/// The variable of envtest: a directory with etcd and kube-apiserver.
const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// The binaries of a version of Kubernetes. Missing optional ones are not started.
#[derive(Debug, Clone)]
pub struct Binaries {
    directory: PathBuf,
    /// `None` for Debian's.
    pub(super) etcd: Option<PathBuf>,
    pub(super) api_server: PathBuf,
    pub(super) controller_manager: Option<PathBuf>,
    pub(super) scheduler: Option<PathBuf>,
    kubelet: Option<PathBuf>,
    pub(super) minor_version: u32,
}

impl Binaries {
    /// The binaries in `$KUBEBUILDER_ASSETS`, or those in the cache, which are built if they are missing.
    pub fn find(cache: &Cache, progress: Progress<'_>) -> Result<Self> {
        match std::env::var_os(ASSETS).filter(|directory| !directory.is_empty()) {
            Some(directory) => Self::in_directory(Path::new(&directory))
                .with_context(|| format!("cannot use the Kubernetes binaries in {ASSETS}")),
            None => Self::in_directory(&build::ensure(cache, progress)?),
        }
    }

    /// The binaries in a directory.
    pub fn in_directory(directory: &Path) -> Result<Self> {
        // Components run with another current directory.
        let directory = std::path::absolute(directory).context("the value is empty")?;
        let optional = |name: &str| Some(directory.join(name)).filter(|file| file.is_file());
        let api_server = optional("kube-apiserver")
            .with_context(|| format!("{} has no kube-apiserver", directory.display()))?;
        let version = run(Command::new(&api_server).arg("--version"), Duration::from_secs(30))?;
        Ok(Self {
            etcd: optional("etcd"),
            controller_manager: optional("kube-controller-manager"),
            scheduler: optional("kube-scheduler"),
            kubelet: optional("kubelet"),
            minor_version: minor_version(&version)
                .with_context(|| format!("kube-apiserver has an unknown version: {version}"))?,
            api_server,
            directory,
        })
    }

    /// The kubelet, which a node requires.
    pub(super) fn kubelet(&self) -> Result<&Path> {
        self.kubelet.as_deref().with_context(|| {
            format!(
                "cannot start a cluster with a node: {} has no kubelet. Start only a control plane \
                (`cargo xtask kube up --control-plane-only`, in code `Options::control_plane()`), \
                or unset {ASSETS} to use the Kubernetes that the testbed builds",
                self.directory.display()
            )
        })
    }

    /// The names of missing optional binaries.
    pub(super) fn missing(&self) -> Vec<&'static str> {
        let commands = [
            ("kube-controller-manager", &self.controller_manager),
            ("kube-scheduler", &self.scheduler),
        ];
        commands.into_iter().filter(|(_, path)| path.is_none()).map(|(name, _)| name).collect()
    }
}

fn minor_version(text: &str) -> Option<u32> {
    text.trim().strip_prefix("Kubernetes v1.")?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubelet_of_envtest_assets_fails_with_hint() {
        let assets = Binaries {
            directory: "/envtest".into(),
            etcd: Some("/envtest/etcd".into()),
            api_server: "/envtest/kube-apiserver".into(),
            controller_manager: None,
            scheduler: None,
            kubelet: None,
            minor_version: 33,
        };
        assert_eq!(
            assets.kubelet().unwrap_err().to_string(),
            "cannot start a cluster with a node: /envtest has no kubelet. Start only a control plane (`cargo xtask kube up --control-plane-only`, in code `Options::control_plane()`), or unset KUBEBUILDER_ASSETS to use the Kubernetes that the testbed builds"
        );
    }

    #[test]
    fn minor_version_is_read_from_version_output() {
        assert_eq!(minor_version("Kubernetes v1.20.2\n"), Some(20));
        assert_eq!(minor_version("Kubernetes v1.33.0-rc.1"), Some(33));
        assert_eq!(minor_version("etcd Version: 3.4.23"), None);
    }
}
