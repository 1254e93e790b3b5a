//! The operator as a process of this machine.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::process::{Child, Command};
use tokio::time::timeout;

const FAIRWAY: &str = env!("CARGO_BIN_EXE_fairway");

/// What the operator needs to be started again and again.
pub(crate) struct Start {
    pub(crate) kubeconfig: PathBuf,
    pub(crate) namespace: String,
    pub(crate) image: String,
    /// Its payload, its identity and its log.
    pub(crate) files: PathBuf,
}

/// Where the payload is among its files.
pub(crate) const PAYLOAD: &str = "payload";

impl Start {
    fn log(&self) -> PathBuf {
        self.files.join("log")
    }

    fn run(&self) -> Result<Child> {
        let log = OpenOptions::new().create(true).append(true).open(self.log())?;
        let file = |flag: &str, path: &Path| format!("--{flag}={}", path.display());
        let mut command = Command::new(FAIRWAY);
        command
            .args(["operator", "--node-name=node", "--listen="])
            // Somebody who is not killed but slow keeps the lease, and nobody waits long.
            .args(["--lease-duration=15s", "--lease-renew-deadline=10s", "--lease-retry-period=1s"])
            .arg(file("kubeconfig", &self.kubeconfig))
            .arg(file("payload", &self.files.join(PAYLOAD)))
            // Runs on the machine are not its business.
            .arg(file("preflight-results-dir", &self.files.join("preflight")))
            // By this, whoever is started again knows the lease as its own.
            .arg(file("identity-file", &self.files.join("identity")))
            .arg(format!("--namespace={}", self.namespace))
            .arg(format!("--release-image={}", self.image))
            .env_remove("POD_UID")
            .env("NO_COLOR", "1");
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        quiet.kill_on_drop(true).spawn().context("cannot start the operator")
    }
}

/// The operator; it ends with this value.
pub(crate) struct Operator {
    start: Start,
    child: Child,
}

impl Operator {
    pub(crate) fn start(start: Start) -> Result<Self> {
        let child = start.run()?;
        Ok(Self { start, child })
    }

    /// Lets it work for so long.
    pub(crate) async fn work(&mut self, time: Duration) -> Result<()> {
        timeout(time, self.ended()).await.unwrap_or(Ok(()))
    }

    /// Fails when it ends: it has no reason to.
    pub(crate) async fn ended(&mut self) -> Result<()> {
        let ended = self.child.wait().await?;
        bail!("the operator ended by itself ({ended})\n{}", self.log())
    }

    /// `kill -9`, and another one.
    pub(crate) async fn kill_and_start(&mut self) -> Result<()> {
        self.child.kill().await?;
        self.child = self.start.run()?;
        Ok(())
    }

    /// What all that were started have said.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.start.log()).unwrap_or_default()
    }
}
