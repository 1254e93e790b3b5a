//! `cargo xtask kube`: a real one-node Kubernetes.
#![expect(clippy::print_stdout, reason = "tasks print to the terminal")]

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
    /// Takes about 5 minutes on two cores, and 3 GB of disk space during the build; 400 MB remain.
    /// Does nothing if the build exists. `up` builds automatically.
    Build,
    /// Start the cluster, unless it is running (about 12 seconds)
    ///
    /// Builds Kubernetes first if necessary (about 5 minutes, once) and installs the Debian
    /// packages it needs. Requires root. The cluster outlives this command: stop it with `down`.
    Up {
        /// Start only the control plane, which runs no pods (about 5 seconds)
        #[arg(long)]
        control_plane_only: bool,
    },
    /// Stop the cluster and remove its files (about a second)
    Down,
    /// Show the running cluster; exit code 1 if none is running
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
        println!("kube is already running since {}", state.since);
        return Ok(explain(&state));
    }
    let options = Options {
        node,
        lifetime: Lifetime::Detached,
        cache: Some(cache.clone()),
        ..Options::default()
    };
    Cluster::start_with(options, &detached::say)?;
    let state = State::read(cache, KIND)?.context("the cluster has no state")?;
    Ok(explain(&state))
}

fn explain(state: &State) -> ExitCode {
    if let Some(kubeconfig) = &state.kubeconfig {
        println!("export KUBECONFIG={}", kubeconfig.display());
        println!("kubectl get nodes");
    }
    ExitCode::SUCCESS
}
