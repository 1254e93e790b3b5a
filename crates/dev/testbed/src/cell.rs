//! Cells: namespaces in which components run, so that nothing of them can be left behind.
//!
//! A cell is a namespace of processes and one of mounts. When its first process ends, the kernel
//! ends all others and drops the mounts. The first process of an owned cell reads a pipe that the
//! owner holds, so it ends with the owner, even if the owner is killed.

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

/// Entering namespaces takes milliseconds; only a machine in trouble needs longer.
const ENTRY: Duration = Duration::from_secs(20);
/// The kernel ends every process of a cell before its first one is gone.
const EXIT: Duration = Duration::from_secs(30);

/// What components see of the environment: a proxy or a locale of the owner is not their business.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The file that tells the first process to stay when its owner goes.
const KEEP: &str = "keep";
/// The first process waits for its owner to end, and then ends unless it is to stay.
const INIT: &str = "cat; if [ -e \"$0\" ]; then exec sleep infinity; fi";

/// What is known of a cell: enough to look after it and to end it from another process.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The process that holds the namespaces.
    holder: Process,
    /// The first process inside.
    init: Process,
    /// What was started inside.
    pub components: Vec<Component>,
}

/// A program started inside a cell.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Component {
    /// Its name, unique in the cell.
    pub name: String,
    /// Its output.
    pub log: PathBuf,
    /// The process outside the cell that waits for it.
    waiter: Process,
}

impl Component {
    /// The program's process, while it runs.
    pub fn process(&self) -> Option<Process> {
        if self.waiter.is_alive() { self.waiter.child() } else { None }
    }

    /// An error if it has ended.
    pub(crate) fn ensure_alive(&self) -> Result<()> {
        if self.waiter.is_alive() {
            return Ok(());
        }
        bail!("{} has exited", self.name);
    }
}

impl Record {
    /// Whether the cell still exists.
    pub fn is_alive(&self) -> bool {
        self.init.is_alive()
    }

    /// Ends everything inside and waits until it is gone. Does nothing if it is gone.
    pub fn stop(&self) -> Result<()> {
        self.init.kill().context("cannot stop the cell")?;
        let waiters = self.components.iter().map(|component| component.waiter);
        let outside: Vec<Process> = waiters.chain([self.holder]).collect();
        wait::until("the cell to end", EXIT, || {
            let gone = !outside.iter().any(|process| process.is_alive()) && !self.init.is_alive();
            Ok(gone.then_some(()))
        })
    }
}

/// A cell of this process, which ends with this value.
#[derive(Debug)]
pub(crate) struct Cell {
    record: Record,
    /// Empty once the cell has ended or is no longer this process's.
    children: Vec<Child>,
    /// Its end is the end of the first process, unless the cell is detached.
    lifeline: Option<ChildStdin>,
}

impl Cell {
    /// A new, empty cell. It holds the directory's lock as long as it exists.
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
            // Nothing is written there: an open file is how a lock passes to another process.
            .stdout(directory.share_lock()?)
            .stderr(File::create(directory.log("cell"))?)
            .spawn()
            .context("cannot start a cell")?;
        let lifeline = child.stdin.take();
        let holder = Process::of(child.id())?;
        let init = wait::until_logged("a cell to start", ENTRY, &directory.log("cell"), || {
            if let Some(status) = child.try_wait()? {
                bail!("cannot create the namespaces of a cell ({status})");
            }
            Ok(holder.child().filter(|init| init.name() == "tini"))
        })?;
        let record = Record { holder, init, components: Vec::new() };
        Ok(Self { record, children: vec![child], lifeline })
    }

    /// What to remember of it.
    pub(crate) fn record(&self) -> &Record {
        &self.record
    }

    /// Lets the cell outlive its owner: from now on only its record can end it.
    pub(crate) fn detach(mut self, directory: &RunDir) -> Result<()> {
        File::create(directory.join(KEEP))?;
        self.children.clear();
        self.lifeline = None;
        Ok(())
    }

    /// Starts a program inside that is to stay, its output in the directory's log of that name.
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
            .entering()
            .arg(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let waiter = Process::of(child.id())?;
        self.children.push(child);
        let component = Component { name: name.to_owned(), log, waiter };
        self.record.components.push(component.clone());
        Ok(component)
    }

    /// Drops a program that has ended from the record.
    pub(crate) fn forget(&mut self, ended: &Component) {
        self.record.components.retain(|component| component.waiter != ended.waiter);
    }

    /// Runs a program inside to its end.
    pub(crate) fn run<I>(&self, program: &str, arguments: I, timeout: Duration) -> Result<String>
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        command::run(self.entering().arg(program).args(arguments), timeout)
            .with_context(|| format!("cannot run {program} in the cell"))
    }

    /// A command that enters the cell; what to run there is to be appended.
    fn entering(&self) -> Command {
        // A session of its own: a signal of the owner's terminal is not for components.
        let mut command = Command::new("setsid");
        command.args(["nsenter", "--target", &self.record.init.pid.to_string()]);
        command.args(["--pid", "--mount"]);
        if !is_root() {
            command.args(["--user", "--preserve-credentials"]);
        }
        command.arg("--").env_clear().env("PATH", PATH).current_dir("/");
        command
    }

    /// Ends everything inside and waits until it is gone.
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

impl Drop for Cell {
    fn drop(&mut self) {
        // If even the kernel cannot end it, there is nobody to tell.
        self.end().ok();
    }
}
