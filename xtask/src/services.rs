//! `cargo xtask kube`, `registry` and `prometheus`: services that outlive the command.
#![expect(clippy::print_stdout, reason = "tasks print to the terminal")]

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Subcommand;
use fairway_testbed::Lifetime;
use fairway_testbed::cache::Cache;
use fairway_testbed::kube::{self, Cluster, build};
use fairway_testbed::prometheus::{self, Prometheus};
use fairway_testbed::registry::{self, Registry};
use fairway_testbed::state::{self, State};

/// Subcommands of `cargo xtask kube`.
#[derive(Debug, Subcommand)]
pub(crate) enum KubeVerb {
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

/// Subcommands of `cargo xtask registry`.
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

/// Subcommands of `cargo xtask prometheus`.
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

pub(crate) fn run_kube(verb: &KubeVerb) -> Result<ExitCode> {
    let cache = Cache::from_env()?;
    match verb {
        KubeVerb::Build => {
            let commands = build::ensure(&cache, &print_progress)?;
            println!("built: {}", commands.display());
            Ok(ExitCode::SUCCESS)
        }
        KubeVerb::Up { control_plane_only } => kube_up(&cache, !control_plane_only),
        KubeVerb::Down => down(&cache, kube::KIND),
        KubeVerb::Status => status(&cache, kube::KIND),
    }
}

fn kube_up(cache: &Cache, node: bool) -> Result<ExitCode> {
    if let Some(state) = running(cache, kube::KIND)? {
        println!("kube is already running since {}", state.since);
        return Ok(print_kubeconfig(&state));
    }
    let options = kube::Options {
        node,
        lifetime: Lifetime::Detached,
        cache: Some(cache.clone()),
        ..kube::Options::default()
    };
    Cluster::start_with(options, &print_progress)?;
    let state = State::read(cache, kube::KIND)?.context("the cluster has no state")?;
    Ok(print_kubeconfig(&state))
}

fn print_kubeconfig(state: &State) -> ExitCode {
    if let Some(kubeconfig) = &state.kubeconfig {
        println!("export KUBECONFIG={}", kubeconfig.display());
        println!("kubectl get nodes");
    }
    ExitCode::SUCCESS
}

pub(crate) fn run_registry(verb: &RegistryVerb) -> Result<ExitCode> {
    let cache = Cache::from_env()?;
    match verb {
        RegistryVerb::Up => up(&cache, registry::KIND, || {
            let options =
                registry::Options { lifetime: Lifetime::Detached, cache: Some(cache.clone()) };
            Registry::start_with(options, &print_progress).map(drop)
        }),
        RegistryVerb::Down => down(&cache, registry::KIND),
        RegistryVerb::Status => status(&cache, registry::KIND),
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
            Prometheus::start_with(options, &print_progress).map(drop)
        }),
        PrometheusVerb::Down => down(&cache, prometheus::KIND),
        PrometheusVerb::Status => status(&cache, prometheus::KIND),
    }
}

fn up(cache: &Cache, kind: &str, start: impl FnOnce() -> Result<()>) -> Result<ExitCode> {
    if let Some(state) = running(cache, kind)? {
        println!("{kind} is already running at {} since {}", state.address, state.since);
        return Ok(ExitCode::SUCCESS);
    }
    start()?;
    let state = State::read(cache, kind)?.with_context(|| format!("{kind} has no state"))?;
    println!("{kind} is running at {}", state.address);
    Ok(ExitCode::SUCCESS)
}

/// Prints a line of progress.
pub(crate) fn print_progress(line: &str) {
    println!("{line}");
}

/// The state of a running service. Stops a service with an exited component.
fn running(cache: &Cache, kind: &str) -> Result<Option<State>> {
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

fn down(cache: &Cache, kind: &str) -> Result<ExitCode> {
    let stopped = state::stop(cache, kind)?;
    println!("{kind} {}", if stopped { "stopped" } else { "was not running" });
    Ok(ExitCode::SUCCESS)
}

fn status(cache: &Cache, kind: &str) -> Result<ExitCode> {
    let Some(state) = State::read(cache, kind)? else {
        println!("{kind} is not running");
        return Ok(ExitCode::FAILURE);
    };
    println!("{kind} at {} since {}", state.address, state.since);
    if let Some(kubeconfig) = &state.kubeconfig {
        println!("  KUBECONFIG={}", kubeconfig.display());
    }
    for component in &state.namespace.components {
        let process = match component.process() {
            Some(running) => format!("running, PID {}", running.pid),
            None => format!("exited, see {}", component.log.display()),
        };
        println!("  {:<24} {process}", component.name);
    }
    Ok(if state.is_whole() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
