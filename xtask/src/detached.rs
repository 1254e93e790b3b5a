//! What all chores share that start and stop something.
#![expect(clippy::print_stdout, reason = "tasks print to the terminal")]

use std::process::ExitCode;

use anyhow::Result;
use fairway_testbed::cache::Cache;
use fairway_testbed::state::{self, State};

/// Prints a line of progress.
pub(crate) fn say(line: &str) {
    println!("{line}");
}

/// The state of what runs. Something of which only a part still runs is stopped.
pub(crate) fn running(cache: &Cache, kind: &str) -> Result<Option<State>> {
    let state = State::read(cache, kind)?;
    if let Some(state) = state {
        if state.is_whole() {
            return Ok(Some(state));
        }
        println!("removing the remains of an earlier {kind}");
        state::stop(cache, kind)?;
    }
    Ok(None)
}

pub(crate) fn down(cache: &Cache, kind: &str) -> Result<ExitCode> {
    let stopped = state::stop(cache, kind)?;
    println!("{kind} {}", if stopped { "stopped" } else { "was not running" });
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn status(cache: &Cache, kind: &str) -> Result<ExitCode> {
    let Some(state) = State::read(cache, kind)? else {
        println!("{kind} is not running");
        return Ok(ExitCode::FAILURE);
    };
    println!("{kind} at {} since {}", state.address, state.since);
    if let Some(kubeconfig) = &state.kubeconfig {
        println!("  KUBECONFIG={}", kubeconfig.display());
    }
    for component in &state.cell.components {
        let what = match component.process() {
            Some(process) => format!("running, PID {}", process.pid),
            None => format!("exited, see {}", component.log.display()),
        };
        println!("  {:<24} {what}", component.name);
    }
    Ok(if state.is_whole() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
