//! An operator as a process of this host: [`TestOperator`].

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use fairway_api::cluster_version::ClusterVersionStatus;
use kube::Client;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::cluster_version::{TestClusterVersion, has_completed};
use crate::{NAMESPACE, TestCluster, environment};

/// The memory settings of the operator's Deployment.
const MALLOC_SETTINGS: [(&str, &str); 3] = [
    ("MALLOC_ARENA_MAX", "1"),
    ("MALLOC_MMAP_THRESHOLD_", "131072"),
    ("MALLOC_TRIM_THRESHOLD_", "131072"),
];

/// How long a release of a thousand manifests may take: old API servers take minutes for large CRDs.
const DEFAULT_ROLLOUT_TIMEOUT: Duration = Duration::from_mins(6);

/// Command line of an operator process.
#[derive(Clone, Debug)]
pub struct OperatorOptions {
    /// The image of its release.
    pub release_image: String,
    /// The directory with the files of its release.
    pub payload: PathBuf,
    /// The namespace of its Lease.
    pub namespace: String,
    /// A directory with OCI layouts, in which the operator finds the images of other releases.
    pub image_layouts: Option<PathBuf>,
    /// Further arguments.
    pub arguments: Vec<String>,
    /// How long [`TestOperator::wait_until`] waits.
    pub timeout: Duration,
}

impl OperatorOptions {
    /// The operator of a release in the default namespace.
    pub fn new(release_image: &str, payload: &Path) -> Self {
        Self {
            release_image: release_image.to_owned(),
            payload: payload.to_owned(),
            namespace: NAMESPACE.to_owned(),
            image_layouts: None,
            arguments: Vec::new(),
            timeout: DEFAULT_ROLLOUT_TIMEOUT,
        }
    }
}

/// A cluster with a running operator: a process of this host. Dropping it kills the process.
pub struct TestOperator {
    child: Child,
    options: OperatorOptions,
    /// Log, identity and preflight results. They outlive a restart.
    files: TempDir,
    /// The cluster of the operator.
    pub cluster: Arc<TestCluster>,
}

impl TestOperator {
    /// Starts an operator.
    pub fn start(cluster: impl Into<Arc<TestCluster>>, options: OperatorOptions) -> Result<Self> {
        let cluster = cluster.into();
        let files = tempfile::tempdir()?;
        let child = spawn(&cluster, &options, files.path())?;
        Ok(Self { child, options, files, cluster })
    }

    /// A client of the cluster with all permissions.
    pub fn client(&self) -> Client {
        self.cluster.client()
    }

    /// The ClusterVersion of the cluster.
    pub fn cluster_version(&self) -> TestClusterVersion {
        self.cluster.cluster_version()
    }

    /// Waits until the status of ClusterVersion meets a condition. An error has the logs.
    pub async fn wait_until(
        &self,
        what: &str,
        condition: impl Fn(&ClusterVersionStatus) -> bool,
    ) -> Result<ClusterVersionStatus> {
        let version = self.cluster_version();
        let waited = version.wait_until(self.options.timeout, what, condition).await;
        waited.with_context(|| self.logs())
    }

    /// Waits until the newest history entry is a version, and is completed.
    pub async fn wait_until_completed(&self, version: &str) -> Result<ClusterVersionStatus> {
        let what = format!("{version} to be completed");
        self.wait_until(&what, |status| has_completed(status, version)).await
    }

    /// The log of the operator since its first start.
    pub fn logs(&self) -> String {
        std::fs::read_to_string(self.files.path().join("log")).unwrap_or_default()
    }

    /// Kills the operator with SIGKILL and starts it again.
    pub async fn restart(&mut self) -> Result<()> {
        self.child.kill().await?;
        self.child = spawn(&self.cluster, &self.options, self.files.path())?;
        Ok(())
    }

    /// Fails if the operator exits within a time.
    pub async fn run_for(&mut self, time: Duration) -> Result<()> {
        timeout(time, self.exit()).await.unwrap_or(Ok(()))
    }

    /// Waits until the operator exits, which is an error: it has no reason to.
    pub async fn exit(&mut self) -> Result<()> {
        let status = self.child.wait().await?;
        bail!("the operator exited ({status})\n{}", self.logs())
    }

    /// The process ID. An error means that the operator has exited.
    pub fn pid(&self) -> Result<u32> {
        self.child.id().context("the operator has exited")
    }
}

fn spawn(cluster: &TestCluster, options: &OperatorOptions, files: &Path) -> Result<Child> {
    let log = OpenOptions::new().create(true).append(true).open(files.join("log"))?;
    let path = |flag: &str, path: &Path| format!("--{flag}={}", path.display());
    let mut command = Command::new(environment::fairway_program()?);
    command
        .args(["operator", "--node-name=node", "--listen=", "--probe-listen="])
        .arg(path("kubeconfig", cluster.kubeconfig()))
        .arg(path("payload", &options.payload))
        .arg(path("preflight-results-dir", &files.join("preflight")))
        // With the same identity, a restarted operator holds the Lease and need not wait for it.
        .arg(path("identity-file", &files.join("identity")))
        .arg(format!("--namespace={}", options.namespace))
        .arg(format!("--release-image={}", options.release_image))
        .args(image_layouts(options)?)
        .args(&options.arguments)
        .envs(MALLOC_SETTINGS)
        .env("FAIRWAY_LOG", std::env::var("FAIRWAY_LOG").unwrap_or("info".to_owned()))
        .env("NO_COLOR", "1")
        .env_remove("POD_UID");
    let quiet = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    quiet.kill_on_drop(true).spawn().context("cannot start the operator")
}

fn image_layouts(options: &OperatorOptions) -> Result<Option<String>> {
    let Some(directory) = &options.image_layouts else { return Ok(None) };
    let layouts: Vec<String> = std::fs::read_dir(directory)?
        .map(|entry| Ok(entry?.path().display().to_string()))
        .collect::<std::io::Result<_>>()?;
    Ok((!layouts.is_empty()).then(|| format!("--image-layouts={}", layouts.join(","))))
}
