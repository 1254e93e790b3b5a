//! Where the commands of Kubernetes come from.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::build;
use crate::Progress;
use crate::cache::Cache;
use crate::command::run;

/// The variable of envtest: a directory with etcd and kube-apiserver of some version.
const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// The commands of one version of Kubernetes. Those that are missing are not started.
#[derive(Debug, Clone)]
pub struct Binaries {
    directory: PathBuf,
    /// Debian's if there is none among them.
    pub(super) etcd: Option<PathBuf>,
    pub(super) api_server: PathBuf,
    pub(super) controller_manager: Option<PathBuf>,
    pub(super) scheduler: Option<PathBuf>,
    kubelet: Option<PathBuf>,
    pub(super) minor_version: u32,
}

impl Binaries {
    /// Those in `$KUBEBUILDER_ASSETS`, else those in the cache, which are built if they are not
    /// there yet.
    pub fn find(cache: &Cache, progress: Progress<'_>) -> Result<Self> {
        match std::env::var_os(ASSETS).filter(|directory| !directory.is_empty()) {
            Some(directory) => Self::in_directory(Path::new(&directory))
                .with_context(|| format!("cannot use the Kubernetes binaries in {ASSETS}")),
            None => Self::in_directory(&build::ensure(cache, progress)?),
        }
    }

    /// Those in a directory.
    pub fn in_directory(directory: &Path) -> Result<Self> {
        // What runs in a cell has another current directory.
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

    /// The kubelet, without which there is no node.
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

    /// What is not there, for whoever might miss it.
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
    fn without_a_kubelet_the_way_out_is_named() {
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
    fn the_minor_version_is_read_from_what_the_api_server_prints() {
        assert_eq!(minor_version("Kubernetes v1.20.2\n"), Some(20));
        assert_eq!(minor_version("Kubernetes v1.33.0-rc.1"), Some(33));
        assert_eq!(minor_version("etcd Version: 3.4.23"), None);
    }
}
