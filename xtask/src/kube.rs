//! `cargo xtask kube`: a real one-node Kubernetes.
#![expect(clippy::print_stdout, reason = "a chore talks to the terminal")]

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Subcommand;
use fairway_testbed::Lifetime;
use fairway_testbed::cache::Cache;
use fairway_testbed::kube::{Cluster, KIND, Options, build};
use fairway_testbed::state::State;

use crate::detached;

/// What to do with the cluster.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Build Kubernetes from Debian's source package into the cache
    ///
    /// Takes about 5 minutes on two cores and 3 GB of disk while it runs; 400 MB stay. Does
    /// nothing if it was built before. `up` does this by itself.
    Build,
    /// Start the cluster, unless it runs (about 12 seconds)
    ///
    /// Builds Kubernetes first if necessary (about 5 minutes, once) and installs the Debian
    /// packages it needs. Needs root. The cluster outlives this command: stop it with `down`.
    Up {
        /// Start no node, so that no pod runs (about 5 seconds)
        #[arg(long)]
        control_plane_only: bool,
    },
    /// Stop the cluster and remove everything it left (about a second)
    Down,
    /// Show what runs; exit status 1 if nothing does
    Status,
}

pub(crate) fn run(verb: &Verb) -> Result<ExitCode> {
    let cache = Cache::from_env()?;
    match verb {
        Verb::Build => {
            let commands = build::ensure(&cache, &detached::say)?;
            println!("built: {}", commands.display());
            Ok(ExitCode::SUCCESS)
        }
        Verb::Up { control_plane_only } => up(&cache, !control_plane_only),
        Verb::Down => detached::down(&cache, KIND),
        Verb::Status => detached::status(&cache, KIND),
    }
}

fn up(cache: &Cache, node: bool) -> Result<ExitCode> {
    if let Some(state) = detached::running(cache, KIND)? {
        println!("kube already runs since {}", state.since);
        return Ok(explain(&state));
    }
    let options = Options {
        node,
        lifetime: Lifetime::Detached,
        cache: Some(cache.clone()),
        ..Options::default()
    };
    Cluster::start_with(options, &detached::say)?;
    let state = State::read(cache, KIND)?.context("the cluster left no state")?;
    Ok(explain(&state))
}

fn explain(state: &State) -> ExitCode {
    if let Some(kubeconfig) = &state.kubeconfig {
        println!("export KUBECONFIG={}", kubeconfig.display());
        println!("kubectl get nodes");
    }
    ExitCode::SUCCESS
}
