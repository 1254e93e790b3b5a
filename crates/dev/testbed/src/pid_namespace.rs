//! PID and mount namespaces in which components run, so that no process and no mount is left.
//!
//! When the init process of a namespace ends, the kernel kills all others and drops the mounts. The init
//! process of an owned namespace reads a pipe that the owner holds, so it ends with the owner, also if
//! the owner is killed.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::command::{self, find, is_root};
use crate::process::Process;
use crate::run_dir::RunDir;
use crate::wait;

/// Timeout of the creation of namespaces, which takes milliseconds on a healthy host.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// Timeout of the init process: the kernel first kills every other process of the namespace.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// `PATH`, the only environment variable of components: proxy or locale of the owner must not affect
/// them.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The file that keeps the init process running after its owner has ended.
const KEEP: &str = "keep";
/// The init process: waits for the end of its owner, and then ends unless the file exists.
const INIT: &str = "cat; if [ -e \"$0\" ]; then exec sleep infinity; fi";

/// The processes of a namespace, by which another process can inspect and stop it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceRecord {
    /// The process that holds the namespaces.
    holder: Process,
    /// The init process.
    init: Process,
    /// The started components.
    pub components: Vec<Component>,
}

/// A process started in a namespace.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Component {
    /// The name, unique in the namespace.
    pub name: String,
    /// The file with its output.
    pub log: PathBuf,
    /// The process outside of the namespace that waits for it.
    waiter: Process,
}

impl Component {
    /// The process, if it runs.
    pub fn process(&self) -> Option<Process> {
        if self.waiter.is_alive() { self.waiter.child() } else { None }
    }

    /// Fails if the process has exited.
    pub(crate) fn ensure_alive(&self) -> Result<()> {
        if self.waiter.is_alive() {
            return Ok(());
        }
        bail!("{} has exited", self.name);
    }
}

impl NamespaceRecord {
    /// Whether the namespace exists.
    pub fn is_alive(&self) -> bool {
        self.init.is_alive()
    }

    /// Kills all processes and waits until they are gone. Does nothing if they are.
    pub fn stop(&self) -> Result<()> {
        self.init.kill().context("cannot stop the namespace")?;
        let waiters = self.components.iter().map(|component| component.waiter);
        let outside: Vec<Process> = waiters.chain([self.holder]).collect();
        wait::until("the namespace to end", STOP_TIMEOUT, || {
            let gone = !outside.iter().any(|process| process.is_alive()) && !self.init.is_alive();
            Ok(gone.then_some(()))
        })
    }
}

/// A namespace of this process. Dropping it kills its processes.
#[derive(Debug)]
pub(crate) struct PidNamespace {
    record: NamespaceRecord,
    /// Empty after the namespace has ended or is detached.
    children: Vec<Child>,
    /// Closing it ends the init process, unless the namespace is detached.
    lifeline: Option<ChildStdin>,
}

impl PidNamespace {
    /// Creates a namespace that holds the lock of a run directory while it exists.
    pub(crate) fn start(directory: &RunDir) -> Result<Self> {
        let tini = find("tini").context("tini is missing: apt-get install tini")?;
        let mut command = Command::new("setsid");
        command.arg("unshare");
        if !is_root() {
            command.args(["--user", "--map-root-user"]);
        }
        let mut child = command
            .args(["--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "--"])
            .arg(tini)
            .args(["--", "sh", "-c", INIT])
            .arg(directory.join(KEEP))
            .env_clear()
            .env("PATH", PATH)
            .current_dir("/")
            .stdin(Stdio::piped())
            // Nothing is written there: an inherited open file passes the lock to the process.
            .stdout(directory.share_lock()?)
            .stderr(File::create(directory.log("namespace"))?)
            .spawn()
            .context("cannot start a namespace")?;
        let lifeline = child.stdin.take();
        let holder = Process::find(child.id())?;
        let init = wait::until_logged(
            "a namespace to start",
            START_TIMEOUT,
            &directory.log("namespace"),
            || {
                if let Some(status) = child.try_wait()? {
                    bail!("cannot create the namespaces ({status})");
                }
                Ok(holder.child().filter(|init| init.name() == "tini"))
            },
        )?;
        let record = NamespaceRecord { holder, init, components: Vec::new() };
        Ok(Self { record, children: vec![child], lifeline })
    }

    /// The processes of the namespace.
    pub(crate) fn record(&self) -> &NamespaceRecord {
        &self.record
    }

    /// Lets the namespace outlive its owner: only its record can stop it.
    pub(crate) fn detach(mut self, directory: &RunDir) -> Result<()> {
        File::create(directory.join(KEEP))?;
        self.children.clear();
        self.lifeline = None;
        Ok(())
    }

    /// Starts a long-running command. Its output goes to the log of this name.
    pub(crate) fn spawn<I>(
        &mut self,
        directory: &RunDir,
        name: &str,
        program: &Path,
        arguments: I,
    ) -> Result<Component>
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        let log = directory.log(name);
        let output = File::create(&log)?;
        let child = self
            .nsenter()
            .arg(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let waiter = Process::find(child.id())?;
        self.children.push(child);
        let component = Component { name: name.to_owned(), log, waiter };
        self.record.components.push(component.clone());
        Ok(component)
    }

    /// Removes an exited component from the record.
    pub(crate) fn forget(&mut self, ended: &Component) {
        self.record.components.retain(|component| component.waiter != ended.waiter);
    }

    /// Runs a command until it exits.
    pub(crate) fn run<I>(&self, program: &str, arguments: I, timeout: Duration) -> Result<String>
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        command::run(self.nsenter().arg(program).args(arguments), timeout)
            .with_context(|| format!("cannot run {program} in the namespace"))
    }

    /// `nsenter` for the namespace, without the command to run there.
    fn nsenter(&self) -> Command {
        // A new session, so that components get no signals of the owner's terminal.
        let mut command = Command::new("setsid");
        command.args(["nsenter", "--target", &self.record.init.pid.to_string()]);
        command.args(["--pid", "--mount"]);
        if !is_root() {
            command.args(["--user", "--preserve-credentials"]);
        }
        command.arg("--").env_clear().env("PATH", PATH).current_dir("/");
        command
    }

    /// Kills all processes and waits until they are gone.
    pub(crate) fn stop(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if self.children.is_empty() {
            return Ok(());
        }
        self.record.stop()?;
        for child in &mut self.children {
            child.wait()?;
        }
        self.children.clear();
        Ok(())
    }
}

impl Drop for PidNamespace {
    fn drop(&mut self) {
        // A destructor cannot report that the kernel did not kill a process.
        self.end().ok();
    }
}
