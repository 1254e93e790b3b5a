//! A berth: the directory and the cell of something that runs, given up together.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::cache::Cache;
use crate::cell::{Cell, Component};
use crate::process::Process;
use crate::run_dir::{self, RunDir, Runs};
use crate::state::State;

#[derive(Debug)]
pub(crate) struct Berth {
    cache: Cache,
    directory: RunDir,
    /// Empty once it has ended or is detached.
    cell: Option<Cell>,
}

impl Berth {
    pub(crate) fn new(cache: &Cache, directory: RunDir) -> Result<Self> {
        let cell = Cell::start(&directory)?;
        Ok(Self { cache: cache.clone(), directory, cell: Some(cell) })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub(crate) fn directory(&self) -> &RunDir {
        &self.directory
    }

    /// Keeps others from sweeping for as long as the result lives.
    pub(crate) fn take_turn(&self) -> Result<Runs> {
        Runs::take_turn(&self.cache)
    }

    /// Starts a program in the cell that is to stay.
    pub(crate) fn spawn<I>(&mut self, name: &str, program: &Path, arguments: I) -> Result<Component>
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        self.cell.as_mut().ok_or(Ended)?.spawn(&self.directory, name, program, arguments)
    }

    /// The process of a program in the cell.
    pub(crate) fn process(&self, name: &str) -> Result<Process> {
        let components = &self.cell.as_ref().ok_or(Ended)?.record().components;
        let component = components.iter().find(|component| component.name == name);
        component.and_then(Component::process).with_context(|| format!("{name} is not running"))
    }

    /// Drops a program that has ended from the cell's record, so that another may take its place.
    pub(crate) fn forget(&mut self, component: &Component) {
        if let Some(cell) = &mut self.cell {
            cell.forget(component);
        }
    }

    /// Runs a program in the cell to its end.
    pub(crate) fn run<I>(&self, program: &str, arguments: I, timeout: Duration) -> Result<String>
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        self.cell.as_ref().ok_or(Ended)?.run(program, arguments, timeout)
    }

    /// Lets it run on after this process, to be found again by its state.
    pub(crate) fn detach(&mut self, address: &str, kubeconfig: Option<&Path>) -> Result<()> {
        let cell = self.cell.as_ref().ok_or(Ended)?;
        State::new(address, kubeconfig, cell.record()).write(self.directory.path())?;
        self.cell.take().ok_or(Ended)?.detach(&self.directory)
    }

    /// Ends what runs and removes the directory.
    pub(crate) fn stop(&mut self) -> Result<()> {
        let Some(cell) = self.cell.take() else { return Ok(()) };
        cell.stop()?;
        // In turn: others must not sweep the directory at the same time.
        let _turn = self.take_turn()?;
        run_dir::sweep(self.directory.path(), run_dir::RELEASE)
    }
}

impl Drop for Berth {
    fn drop(&mut self) {
        // What is left of the directory is swept by the next start.
        self.stop().ok();
    }
}

#[derive(Debug)]
struct Ended;

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("already stopped or detached")
    }
}

impl std::error::Error for Ended {}
