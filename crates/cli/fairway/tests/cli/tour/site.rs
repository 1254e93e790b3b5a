//! Where a tour takes place: a directory, a shell, and a sandbox once somebody starts one.

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

use super::moment::has_come;

/// An update replaces pods one after the other, and a busy machine takes its time for each.
const PATIENCE: Duration = Duration::from_mins(5);

/// What begins a command that goes on until the tour is over.
const SANDBOX: &str = "fairway sandbox";

pub(super) struct Site {
    directory: TempDir,
    kubeconfig: PathBuf,
    variables: Vec<(&'static str, String)>,
    sandbox: Option<Child>,
}

impl Site {
    /// A directory in which nothing is but the program. The kubeconfig is going to be in there.
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

    /// What is shown of a command on a terminal: notes about how far it is are gone when it ends.
    pub(super) fn run(&mut self, command: &str) -> Result<String> {
        if command.starts_with(SANDBOX) {
            return self.start(command);
        }
        let output = tokio::task::block_in_place(|| self.shell(command).output())?;
        let stdout = String::from_utf8(output.stdout)?;
        let stderr = String::from_utf8(output.stderr)?;
        let mut failed = false;
        let mut said = String::new();
        for line in stderr.lines() {
            failed |= line.starts_with("error:");
            if failed || line.starts_with("warning:") {
                writeln!(said, "{line}")?;
            }
        }
        said += &stdout;
        if let Some(code) = output.status.code().filter(|code| *code != 0) {
            writeln!(said, "(exit code {code})")?;
        }
        Ok(said)
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

    /// Starts a sandbox; its greeting.
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

    /// Waits until ClusterVersion is as the words say.
    pub(super) async fn wait(&self, until: &str) -> Result<()> {
        // An error means that it is there already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let read = Kubeconfig::read_from(&self.kubeconfig)?;
        let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?;
        let versions: Api<ClusterVersion> = Api::all(Client::try_from(config)?);
        let versions = &versions;
        wait::until_within(PATIENCE, until, || async move {
            let version = versions.get(CLUSTER_VERSION_NAME).await?;
            Ok(has_come(&version, until)?.then_some(()))
        })
        .await
    }

    /// Ends the sandbox as the terminal does.
    pub(super) fn end(mut self) -> Result<()> {
        if let Some(mut sandbox) = self.sandbox.take() {
            kill_process(Pid::from_child(&sandbox), Signal::INT)?;
            let status = sandbox.wait()?;
            ensure!(status.success(), "the sandbox ended with {status}");
        }
        Ok(())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(sandbox) = &mut self.sandbox {
            // It is gone, or cannot be ended: either way there is nobody to tell.
            let _ = sandbox.kill();
            let _ = sandbox.wait();
        }
    }
}
