//! `cargo xtask registry` and `cargo xtask prometheus`.
#![expect(clippy::print_stdout, reason = "tasks print to the terminal")]

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Subcommand;
use fairway_testbed::Lifetime;
use fairway_testbed::cache::Cache;
use fairway_testbed::prometheus::{self, Prometheus};
use fairway_testbed::registry::{self, Registry};
use fairway_testbed::state::State;

use crate::detached;

/// What to do with the registry.
#[derive(Debug, Subcommand)]
pub(crate) enum RegistryVerb {
    /// Start an empty registry on a free port, unless one is running (about a second)
    ///
    /// Installs Debian's docker-registry first if necessary (about a minute, as root). The
    /// registry outlives this command: stop it with `down`.
    Up,
    /// Stop the registry and remove its images (less than a second)
    Down,
    /// Show the running service; exit code 1 if none is running
    Status,
}

/// What to do with Prometheus.
#[derive(Debug, Subcommand)]
pub(crate) enum PrometheusVerb {
    /// Start Prometheus on a free port, unless one is running (about a second)
    ///
    /// Installs Debian's prometheus first if necessary (about a minute, as root). Prometheus
    /// outlives this command: stop it with `down`.
    Up {
        /// A target to scrape every second; may be repeated
        #[arg(long, value_name = "HOST:PORT")]
        scrape: Vec<String>,
        /// A directory of rule files
        #[arg(long, value_name = "DIRECTORY")]
        rules: Option<PathBuf>,
    },
    /// Stop Prometheus and remove its samples (less than a second)
    Down,
    /// Show the running service; exit code 1 if none is running
    Status,
}

pub(crate) fn run_registry(verb: &RegistryVerb) -> Result<ExitCode> {
    let cache = Cache::from_env()?;
    match verb {
        RegistryVerb::Up => up(&cache, registry::KIND, || {
            let options =
                registry::Options { lifetime: Lifetime::Detached, cache: Some(cache.clone()) };
            Registry::start_with(options, &detached::say).map(drop)
        }),
        RegistryVerb::Down => detached::down(&cache, registry::KIND),
        RegistryVerb::Status => detached::status(&cache, registry::KIND),
    }
}

pub(crate) fn run_prometheus(verb: PrometheusVerb) -> Result<ExitCode> {
    let cache = Cache::from_env()?;
    match verb {
        PrometheusVerb::Up { scrape, rules } => up(&cache, prometheus::KIND, || {
            let options = prometheus::Options {
                lifetime: Lifetime::Detached,
                cache: Some(cache.clone()),
                scrape,
                rules,
                ..prometheus::Options::default()
            };
            Prometheus::start_with(options, &detached::say).map(drop)
        }),
        PrometheusVerb::Down => detached::down(&cache, prometheus::KIND),
        PrometheusVerb::Status => detached::status(&cache, prometheus::KIND),
    }
}

fn up(cache: &Cache, kind: &str, start: impl FnOnce() -> Result<()>) -> Result<ExitCode> {
    if let Some(state) = detached::running(cache, kind)? {
        println!("{kind} is already running at {} since {}", state.address, state.since);
        return Ok(ExitCode::SUCCESS);
    }
    start()?;
    let state = State::read(cache, kind)?.with_context(|| format!("{kind} has no state"))?;
    println!("{kind} is running at {}", state.address);
    Ok(ExitCode::SUCCESS)
}
