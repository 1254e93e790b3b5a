//! Debian's Prometheus.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::cache::Cache;
use crate::command::{self, find};
use crate::managed_run::ManagedRun;
use crate::packages::{self, Purpose};
use crate::port::start_on_free_port;
use crate::run_dir::RunDirs;
use crate::{Lifetime, Progress};

/// The name of the directory and the state of a detached Prometheus.
pub const KIND: &str = "prometheus";

/// Timeout of loading samples; a million of them take a few seconds.
const BACKFILL_TIMEOUT: Duration = Duration::from_mins(2);

/// Options of Prometheus.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The lifetime of Prometheus.
    pub lifetime: Lifetime,
    /// The cache with its directory; by default that of the environment.
    pub cache: Option<Cache>,
    /// The targets to scrape every second, as `host:port`.
    pub scrape: Vec<String>,
    /// A directory of rule files, evaluated every second.
    pub rules: Option<PathBuf>,
    /// A configuration file that replaces `scrape` and `rules`.
    pub config: Option<PathBuf>,
    /// Samples of the past, as `OpenMetrics` text with timestamps.
    pub samples: Option<String>,
}

impl Options {
    /// Adds samples of the past. The text has to end with `# EOF`.
    pub fn backfill(mut self, open_metrics: impl Into<String>) -> Self {
        self.samples = Some(open_metrics.into());
        self
    }
}

/// A running Prometheus. Dropping it stops it, unless it is detached:
/// [`state::stop`](crate::state::stop) stops that.
#[derive(Debug)]
pub struct Prometheus {
    run: ManagedRun,
    address: SocketAddr,
}

impl Prometheus {
    /// Starts Prometheus and waits until it is ready.
    pub fn start(options: Options) -> Result<Self> {
        Self::start_with(options, &|_| {})
    }

    /// [`Prometheus::start`] that reports its progress to `progress`.
    pub fn start_with(options: Options, progress: Progress<'_>) -> Result<Self> {
        let Options { lifetime, cache, scrape, rules, config, samples } = options;
        let cache = cache.map_or_else(Cache::from_env, Ok)?;
        packages::ensure(&[Purpose::Namespace, Purpose::Prometheus], progress)?;
        let program = find("prometheus").context("prometheus is missing")?;
        let directory = RunDirs::take_turn(&cache)?.create(KIND, lifetime)?;
        let mut run = ManagedRun::new(&cache, directory)?;
        if let Some(samples) = samples {
            backfill(&run, &samples).context("cannot load samples of the past")?;
        }
        let config = match config {
            // Prometheus runs in another directory.
            Some(config) => std::path::absolute(config)?,
            None => write_config(&run, &scrape, rules.as_deref())?,
        };
        let address = start_on_free_port(&mut run, "/-/ready", |run, address| {
            run.spawn(KIND, &program, arguments(run, &config, address))
        })?;
        if lifetime == Lifetime::Detached {
            run.detach(&address.to_string(), None)?;
        }
        Ok(Self { run, address })
    }

    /// The base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The directory of all its files, which is removed with Prometheus.
    pub fn run_dir(&self) -> &Path {
        self.run.path()
    }

    /// Stops Prometheus and removes its directory.
    pub fn stop(mut self) -> Result<()> {
        self.run.stop()
    }
}

fn arguments(run: &ManagedRun, config: &Path, address: SocketAddr) -> Vec<String> {
    vec![
        format!("--config.file={}", config.display()),
        format!("--storage.tsdb.path={}", run.join("data").display()),
        // Samples of the past may be older than the default retention of 15 days.
        "--storage.tsdb.retention.time=100y".to_owned(),
        format!("--web.listen-address={address}"),
        "--web.enable-lifecycle".to_owned(),
    ]
}

fn backfill(run: &ManagedRun, samples: &str) -> Result<()> {
    let file = run.join("samples.txt");
    fs::write(&file, samples)?;
    command::run(
        Command::new("promtool")
            .args(["tsdb", "create-blocks-from", "openmetrics"])
            .arg(&file)
            .arg(run.join("data")),
        BACKFILL_TIMEOUT,
    )?;
    Ok(())
}

fn write_config(run: &ManagedRun, scrape: &[String], rules: Option<&Path>) -> Result<PathBuf> {
    let file = run.join("prometheus.yaml");
    let rules = rules.map(fs::canonicalize).transpose().context("cannot find the rules")?;
    fs::write(&file, config_text(scrape, rules.as_deref()))?;
    Ok(file)
}

fn config_text(scrape: &[String], rules: Option<&Path>) -> String {
    let mut lines = vec!["global: {scrape_interval: 1s, evaluation_interval: 1s}".to_owned()];
    if let Some(rules) = rules {
        let rules = rules.display();
        lines.push(format!("rule_files: [\"{rules}/*.yaml\", \"{rules}/*.yml\"]"));
    }
    if !scrape.is_empty() {
        let targets: Vec<String> = scrape.iter().map(|target| format!("\"{target}\"")).collect();
        lines.push("scrape_configs:\n- job_name: fairway\n  static_configs:".to_owned());
        lines.push(format!("  - targets: [{}]", targets.join(", ")));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn config_text_has_targets_and_rules() {
        let global = "global: {scrape_interval: 1s, evaluation_interval: 1s}\n";
        assert_eq!(config_text(&[], None), global);
        assert_eq!(
            config_text(
                &["127.0.0.1:1".to_owned(), "127.0.0.1:2".to_owned()],
                Some(Path::new("/r"))
            ),
            format!(
                "{global}rule_files: [\"/r/*.yaml\", \"/r/*.yml\"]\nscrape_configs:\n\
                 - job_name: fairway\n  static_configs:\n  - targets: [\"127.0.0.1:1\", \"127.0.0.1:2\"]\n"
            )
        );
    }
}
