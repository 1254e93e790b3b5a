//! Metrics of preflights.

use std::collections::BTreeMap;
use std::time::Duration;

use fairway_findings::Severity;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::handles::outcomes;
use super::register;

/// Buckets from a run with a cached image to one that waits for an hour.
const BUCKETS: [f64; 8] = [5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BySeverity {
    severity: &'static str,
}

/// Metrics of the stage `preflight`.
#[derive(Clone)]
pub struct Preflight {
    completed: Counter,
    partial: Counter,
    failed: Counter,
    took: Histogram,
    running: Gauge,
    risks: Family<BySeverity, Gauge>,
}

/// Result of the first pass of a preflight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All checks have a result.
    Completed,
    /// Some checks have no result.
    Partial,
    /// The run was aborted.
    Failed,
}

impl Preflight {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let [completed, partial, failed] = outcomes(
            registry,
            "cluster_version_preflight_runs",
            "Preflights by result: all checks completed, some had no result, or the run failed",
            ["completed", "partial", "failed"],
        );
        let took = register(
            registry,
            "cluster_version_preflight_duration_seconds",
            "Duration from the start of a preflight until all its checks have run once",
            Histogram::new(BUCKETS),
        );
        let running = register(
            registry,
            "cluster_version_preflight_running",
            "Whether a preflight is running",
            Gauge::default(),
        );
        let risks = register(
            registry,
            "cluster_version_preflight_risks",
            "Stored preflight findings of all targets, by severity",
            Family::default(),
        );
        let preflight = Self { completed, partial, failed, took, running, risks };
        preflight.found(&BTreeMap::new());
        preflight
    }

    /// The first pass is complete, or the run was aborted.
    pub fn ended(&self, how: Ended, took: Option<Duration>) {
        match how {
            Ended::Completed => self.completed.inc(),
            Ended::Partial => self.partial.inc(),
            Ended::Failed => self.failed.inc(),
        };
        if let Some(took) = took {
            self.took.observe(took.as_secs_f64());
        }
    }

    /// Sets whether a preflight runs.
    pub fn running(&self, running: bool) {
        self.running.set(running.into());
    }

    /// Sets the number of stored findings.
    pub fn found(&self, found: &BTreeMap<Severity, usize>) {
        for (severity, label) in [
            (Severity::Critical, "critical"),
            (Severity::Warning, "warning"),
            (Severity::Info, "info"),
        ] {
            let count = found.get(&severity).copied().unwrap_or_default();
            let gauge = self.risks.get_or_create_owned(&BySeverity { severity: label });
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }
}
