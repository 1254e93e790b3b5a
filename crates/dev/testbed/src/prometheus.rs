//! Prometheus, as Debian has it.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::berth::Berth;
use crate::cache::Cache;
use crate::command::{find, run};
use crate::packages::{self, Purpose};
use crate::port::start_on_free_port;
use crate::run_dir::Runs;
use crate::{Lifetime, Progress};

/// The name of the detached Prometheus' directory and state.
pub const KIND: &str = "prometheus";

/// A million samples take a few seconds.
const BACKFILL: Duration = Duration::from_mins(2);

/// What Prometheus to start.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How long it lives.
    pub lifetime: Lifetime,
    /// Where its directory is; the cache of the environment if not given.
    pub cache: Option<Cache>,
    /// The targets to scrape every second, as `host:port`.
    pub scrape: Vec<String>,
    /// A directory of rule files, evaluated every second.
    pub rules: Option<PathBuf>,
    /// A whole configuration in place of one made of `scrape` and `rules`.
    pub config: Option<PathBuf>,
    /// Samples of the past, in the text format of `OpenMetrics` with time stamps.
    pub samples: Option<String>,
}

impl Options {
    /// Adds samples of the past. The text is to end with `# EOF`.
    pub fn backfill(mut self, open_metrics: impl Into<String>) -> Self {
        self.samples = Some(open_metrics.into());
        self
    }
}

/// A running Prometheus. It ends with this value, unless it is
/// detached: then [`state::stop`](crate::state::stop) ends it.
#[derive(Debug)]
pub struct Prometheus {
    berth: Berth,
    address: SocketAddr,
}

impl Prometheus {
    /// Starts Prometheus and waits until it is ready.
    pub fn start(options: Options) -> Result<Self> {
        Self::start_with(options, &|_| {})
    }

    /// Like [`Prometheus::start`], telling what it is doing.
    pub fn start_with(options: Options, progress: Progress<'_>) -> Result<Self> {
        let Options { lifetime, cache, scrape, rules, config, samples } = options;
        let cache = cache.map_or_else(Cache::from_env, Ok)?;
        packages::ensure(&[Purpose::Cell, Purpose::Prometheus], progress)?;
        let program = find("prometheus").context("prometheus is missing")?;
        let directory = Runs::take_turn(&cache)?.create(KIND, lifetime)?;
        let mut berth = Berth::new(&cache, directory)?;
        if let Some(samples) = samples {
            fill(&berth, &samples).context("cannot load samples of the past")?;
        }
        let config = match config {
            // Prometheus runs in another directory.
            Some(config) => std::path::absolute(config)?,
            None => write_config(&berth, &scrape, rules.as_deref())?,
        };
        let address = start_on_free_port(&mut berth, "/-/ready", |berth, address| {
            berth.spawn(KIND, &program, arguments(berth, &config, address))
        })?;
        if lifetime == Lifetime::Detached {
            berth.detach(&address.to_string(), None)?;
        }
        Ok(Self { berth, address })
    }

    /// The base of its API and pages.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The directory of everything it writes; it goes with Prometheus.
    pub fn run_dir(&self) -> &Path {
        self.berth.path()
    }

    /// Ends it and removes its directory.
    pub fn stop(mut self) -> Result<()> {
        self.berth.stop()
    }
}

fn arguments(berth: &Berth, config: &Path, address: SocketAddr) -> Vec<String> {
    vec![
        format!("--config.file={}", config.display()),
        format!("--storage.tsdb.path={}", berth.join("data").display()),
        // Samples of the past may be older than the fifteen days it keeps by default.
        "--storage.tsdb.retention.time=100y".to_owned(),
        format!("--web.listen-address={address}"),
        "--web.enable-lifecycle".to_owned(),
    ]
}

fn fill(berth: &Berth, samples: &str) -> Result<()> {
    let file = berth.join("samples.txt");
    fs::write(&file, samples)?;
    run(
        Command::new("promtool")
            .args(["tsdb", "create-blocks-from", "openmetrics"])
            .arg(&file)
            .arg(berth.join("data")),
        BACKFILL,
    )?;
    Ok(())
}

fn write_config(berth: &Berth, scrape: &[String], rules: Option<&Path>) -> Result<PathBuf> {
    let file = berth.join("prometheus.yaml");
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
    fn a_configuration_holds_what_was_asked_for() {
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
