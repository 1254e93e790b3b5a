//! The operator of a release, as a process of this host.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use super::RealPayload;
use crate::{TestCluster, environment};

/// What the Deployment of the operator sets for its memory.
const MEMORY: [(&str, &str); 3] = [
    ("MALLOC_ARENA_MAX", "1"),
    ("MALLOC_MMAP_THRESHOLD_", "131072"),
    ("MALLOC_TRIM_THRESHOLD_", "131072"),
];

/// The operator of a release. Ends with this value.
pub struct OperatorProcess {
    child: Child,
    directory: TempDir,
}

impl OperatorProcess {
    /// Starts the operator of a release. It finds the images of others in the OCI layouts below a
    /// directory.
    pub fn start(cluster: &TestCluster, payload: &RealPayload, layouts: &Path) -> Result<Self> {
        let images: Vec<String> = std::fs::read_dir(layouts)?
            .map(|entry| Ok(entry?.path().display().to_string()))
            .collect::<std::io::Result<_>>()?;
        let directory = tempfile::tempdir()?;
        let log = File::create(directory.path().join("log"))?;
        let child = Command::new(environment::fairway_program()?)
            .args(["operator", "--node-name=node", "--pod-uid=test", "--listen="])
            .args(["--namespace=openshift-cluster-version", "--release-image", &payload.image])
            .args((!images.is_empty()).then(|| format!("--image-layouts={}", images.join(","))))
            .arg("--payload")
            .arg(payload.directory())
            .arg("--preflight-results-dir")
            .arg(directory.path().join("results"))
            .arg("--kubeconfig")
            .arg(cluster.kubeconfig())
            .envs(MEMORY)
            .env("FAIRWAY_LOG", std::env::var("FAIRWAY_LOG").unwrap_or("info".to_owned()))
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("cannot start the operator")?;
        Ok(Self { child, directory })
    }

    /// Its process ID.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has logged so far.
    pub fn log(&self) -> Result<String> {
        let path: PathBuf = self.directory.path().join("log");
        Ok(std::fs::read_to_string(path)?)
    }
}

impl Drop for OperatorProcess {
    fn drop(&mut self) {
        // It has ended already, or cannot be ended: neither can be reported from here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
