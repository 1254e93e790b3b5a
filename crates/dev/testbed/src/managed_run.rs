//! A running service in its run directory and its namespaces: `ManagedRun`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::cache::Cache;
use crate::pid_namespace::{Component, PidNamespace};
use crate::process::Process;
use crate::run_dir::{self, RunDir, RunDirs};
use crate::state::State;
use crate::wait;

/// A killed process ends within milliseconds on a healthy host.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// The run directory and the namespace of a service. Dropping it stops the service and removes the
/// directory.
#[derive(Debug)]
pub(crate) struct ManagedRun {
    cache: Cache,
    directory: RunDir,
    /// `None` after it has stopped or is detached.
    namespace: Option<PidNamespace>,
}

impl ManagedRun {
    pub(crate) fn new(cache: &Cache, directory: RunDir) -> Result<Self> {
        let namespace = PidNamespace::start(&directory)?;
        Ok(Self { cache: cache.clone(), directory, namespace: Some(namespace) })
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

    /// Holds the lock of all run directories, so that no other process removes one.
    pub(crate) fn take_turn(&self) -> Result<RunDirs> {
        RunDirs::take_turn(&self.cache)
    }

    /// Starts a long-running command in the namespace.
    pub(crate) fn spawn<I>(&mut self, name: &str, program: &Path, arguments: I) -> Result<Component>
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        self.namespace.as_mut().ok_or(Ended)?.spawn(&self.directory, name, program, arguments)
    }

    /// The process of a component.
    pub(crate) fn process(&self, name: &str) -> Result<Process> {
        let components = &self.namespace.as_ref().ok_or(Ended)?.record().components;
        let component = components.iter().find(|component| component.name == name);
        component.and_then(Component::process).with_context(|| format!("{name} is not running"))
    }

    /// Kills a component and waits until it has ended.
    pub(crate) fn end(&mut self, name: &str) -> Result<()> {
        let components = &self.namespace.as_ref().ok_or(Ended)?.record().components;
        let component = components.iter().find(|component| component.name == name).cloned();
        let component = component.with_context(|| format!("{name} is not running"))?;
        self.process(name)?.kill()?;
        wait::until(&format!("{name} to end"), STOP_TIMEOUT, || {
            Ok(component.ensure_alive().is_err().then_some(()))
        })?;
        self.forget(&component);
        Ok(())
    }

    /// Removes an exited component from the record, so that another one can have its name.
    pub(crate) fn forget(&mut self, component: &Component) {
        if let Some(namespace) = &mut self.namespace {
            namespace.forget(component);
        }
    }

    /// Runs a command in the namespace until it exits.
    pub(crate) fn run<I>(&self, program: &str, arguments: I, timeout: Duration) -> Result<String>
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        self.namespace.as_ref().ok_or(Ended)?.run(program, arguments, timeout)
    }

    /// Lets the service outlive this process. Its state file finds it again.
    pub(crate) fn detach(&mut self, address: &str, kubeconfig: Option<&Path>) -> Result<()> {
        let namespace = self.namespace.as_ref().ok_or(Ended)?;
        State::new(address, kubeconfig, namespace.record()).write(self.directory.path())?;
        self.namespace.take().ok_or(Ended)?.detach(&self.directory)
    }

    /// Stops the service and removes the directory.
    pub(crate) fn stop(&mut self) -> Result<()> {
        let Some(namespace) = self.namespace.take() else { return Ok(()) };
        namespace.stop()?;
        // With the lock: another process must not remove the directory at the same time.
        let _turn = self.take_turn()?;
        run_dir::remove_all(self.directory.path(), run_dir::RELEASE_TIMEOUT)
    }
}

impl Drop for ManagedRun {
    fn drop(&mut self) {
        // The next start removes what is left of the directory.
        self.stop().ok();
    }
}

/// The service is stopped or detached.
#[derive(Debug)]
struct Ended;

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("already stopped or detached")
    }
}

impl std::error::Error for Ended {}
