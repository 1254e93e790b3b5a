//! State of the single preflight run in the cluster. The previous run is always removed before a
//! new one is created, so that nothing is left over.

use std::io;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::time::Instant;

use super::active_run::ActiveRun;
use super::deployment::PreflightRun;
use super::diagnosis::PreflightError;
use super::inputs::PreflightPlacement;
use super::monitor::RunTimeouts;
use super::results_root::ResultsRoot;
use super::run_directory::RunDirectory;
use super::writer::PreflightWriter;
use crate::settings::PreflightSettings;
use crate::sync::blocking;

/// State of the run in the cluster.
pub(super) enum RunState {
    /// The operator looks for a run of a previous operator process.
    Looking(BoxFuture<'static, Option<PreflightRun>>),
    /// Result of the lookup.
    Found(Option<PreflightRun>),
    /// The operator removes all runs.
    Clearing(BoxFuture<'static, ()>),
    /// There is no run. The next one starts at this time or later.
    Clear { not_before: Option<Instant> },
    /// The operator creates a run.
    Starting(Box<StartingRun>),
    /// The run exists.
    Active(Box<ActiveRun>),
}

/// A run that the operator creates.
pub(super) struct StartingRun {
    pub(super) run: PreflightRun,
    timeouts: RunTimeouts,
    work: BoxFuture<'static, Result<RunDirectory, PreflightError>>,
}

/// A run that could not be created.
pub(super) struct StartFailure {
    /// Image of the target release.
    pub(super) image: String,
    pub(super) error: PreflightError,
}

/// Dependencies of state changes.
pub(super) struct RunContext {
    pub(super) placement: PreflightPlacement,
    pub(super) settings: PreflightSettings,
    pub(super) writer: PreflightWriter,
}

impl RunContext {
    fn root(&self) -> ResultsRoot {
        ResultsRoot::new(&self.settings.results.here)
    }

    /// Looks for a run in the cluster.
    pub(super) fn find(&self) -> RunState {
        let find = self.writer.clone().find_run(self.placement.namespace.clone());
        RunState::Looking(find.boxed())
    }

    /// Removes all runs.
    pub(super) fn clear(&self) -> RunState {
        let clear = self.writer.clone().clear(self.placement.namespace.clone(), self.root());
        RunState::Clearing(clear.boxed())
    }

    /// Starts a run.
    pub(super) fn start(&self, run: PreflightRun, timeouts: RunTimeouts) -> RunState {
        let (version, image) = (&run.version, &run.image);
        tracing::info!(run = %run.id, version, image, "preflight started");
        let (namespace, settings) = (self.placement.namespace.clone(), self.settings.clone());
        let work = self.writer.clone().start(run.clone(), namespace, settings).boxed();
        RunState::Starting(Box::new(StartingRun { run, timeouts, work }))
    }

    /// Resumes a run of a previous operator process.
    pub(super) fn adopt(&self, run: PreflightRun, timeouts: RunTimeouts) -> io::Result<RunState> {
        let directory = blocking(|| self.root().open(&run.id))?;
        tracing::info!(run = %run.id, version = run.version, "preflight resumed");
        let namespace = self.placement.namespace.clone();
        let egress = self.settings.egress.clone();
        let work = self.writer.clone().resume(run.clone(), namespace, egress, directory).boxed();
        Ok(RunState::Starting(Box::new(StartingRun { run, timeouts, work })))
    }

    fn active(
        &self,
        run: PreflightRun,
        directory: RunDirectory,
        timeouts: RunTimeouts,
    ) -> RunState {
        RunState::Active(Box::new(ActiveRun::new(run, directory, timeouts, self)))
    }

    /// Runs until the state changes. If a run cannot be created, removes it and returns why.
    pub(super) async fn step(&self, state: &mut RunState) -> Option<StartFailure> {
        // The futures are part of the state, so dropping `step` does not cancel a write.
        match state {
            RunState::Found(_) => std::future::pending().await,
            RunState::Looking(find) => {
                let found = find.await;
                *state = RunState::Found(found);
                None
            }
            RunState::Clearing(clear) => {
                clear.await;
                *state = RunState::Clear { not_before: None };
                None
            }
            RunState::Clear { not_before } => {
                match *not_before {
                    None => std::future::pending().await,
                    wake => fairway_clock::sleep_until(wake).await,
                }
                *not_before = None;
                None
            }
            RunState::Starting(starting) => {
                let started = (&mut starting.work).await;
                let (run, timeouts) = (starting.run.clone(), starting.timeouts);
                match started {
                    Ok(directory) => {
                        *state = self.active(run, directory, timeouts);
                        None
                    }
                    Err(error) => {
                        tracing::warn!(run = %run.id, error = error.message, "cannot start preflight");
                        *state = self.clear();
                        Some(StartFailure { image: run.image, error })
                    }
                }
            }
            RunState::Active(active) => {
                active.changed().await;
                None
            }
        }
    }
}
