//! The session of a page: a directory, a shell, and a sandbox if the page starts one.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion};
use fairway_testkit::wait;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::wait_condition::is_met;

/// An update replaces pods one after the other, on a busy host.
const WAIT_TIMEOUT: Duration = Duration::from_mins(5);

/// The command that runs until the end of the session.
const SANDBOX: &str = "fairway sandbox";

pub(super) struct Session {
    directory: TempDir,
    kubeconfig: PathBuf,
    variables: Vec<(&'static str, String)>,
    sandbox: Option<Child>,
}

impl Session {
    /// A session in an empty directory. The kubeconfig is a path in it.
    pub(super) fn new(kubeconfig: &str, variables: Vec<(&'static str, String)>) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let programs = directory.path().join(".bin");
        std::fs::create_dir(&programs)?;
        for name in ["fairway", "kubectl-fairway"] {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fairway"), programs.join(name))?;
        }
        let kubeconfig = directory.path().join(kubeconfig);
        Ok(Self { directory, kubeconfig, variables, sandbox: None })
    }

    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Runs a command. Returns its output without progress lines, which a terminal erases.
    pub(super) fn run(&mut self, command: &str) -> Result<String> {
        if command.starts_with(SANDBOX) {
            return self.start(command);
        }
        let output = tokio::task::block_in_place(|| self.shell(command).output())?;
        let stdout = String::from_utf8(output.stdout)?;
        let stderr = String::from_utf8(output.stderr)?;
        let mut failed = false;
        let mut printed = String::new();
        for line in stderr.lines() {
            failed |= line.starts_with("error:");
            if failed || line.starts_with("warning:") {
                writeln!(printed, "{line}")?;
            }
        }
        printed += &stdout;
        if let Some(code) = output.status.code().filter(|code| *code != 0) {
            writeln!(printed, "(exit code {code})")?;
        }
        Ok(printed)
    }

    fn shell(&self, command: &str) -> Command {
        let mut shell = Command::new("bash");
        let search = std::env::var("PATH").unwrap_or_default();
        for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            shell.env_remove(proxy).env_remove(proxy.to_lowercase());
        }
        shell
            .args(["-o", "pipefail", "-c", command])
            .current_dir(self.directory())
            .env("PATH", format!("{}:{search}", self.directory().join(".bin").display()))
            .env("HOME", self.directory())
            .env("KUBECONFIG", &self.kubeconfig)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .env("LC_ALL", "C.UTF-8")
            .env_remove("COLUMNS")
            .env_remove("FAIRWAY_LOG")
            .stdin(Stdio::null());
        shell
    }

    /// Starts a sandbox. Returns its greeting.
    fn start(&mut self, command: &str) -> Result<String> {
        let mut shell = self.shell(&format!("exec {command}"));
        let mut child = shell.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut stdout = BufReader::new(child.stdout.take().context("a pipe")?);
        self.sandbox = Some(child);
        let mut greeting = String::new();
        while !greeting.contains("Ctrl-C") {
            let read = stdout.read_line(&mut greeting)?;
            ensure!(read > 0, "the sandbox ended: {greeting}");
        }
        Ok(greeting)
    }

    /// Waits until a condition is met.
    pub(super) async fn wait(&self, until: &str) -> Result<()> {
        // An error means that it is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let read = Kubeconfig::read_from(&self.kubeconfig)?;
        let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?;
        let versions: Api<ClusterVersion> = Api::all(Client::try_from(config)?);
        let versions = &versions;
        wait::until_within(WAIT_TIMEOUT, until, || async move {
            let version = versions.get(CLUSTER_VERSION_NAME).await?;
            Ok(is_met(&version, until)?.then_some(()))
        })
        .await
    }

    /// Stops the sandbox with SIGINT.
    pub(super) fn end(mut self) -> Result<()> {
        if let Some(mut sandbox) = self.sandbox.take() {
            kill_process(Pid::from_child(&sandbox), Signal::INT)?;
            let status = sandbox.wait()?;
            ensure!(status.success(), "the sandbox ended with {status}");
        }
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(sandbox) = &mut self.sandbox {
            // A destructor cannot report that the process has ended already.
            let _ = sandbox.kill();
            let _ = sandbox.wait();
        }
    }
}
