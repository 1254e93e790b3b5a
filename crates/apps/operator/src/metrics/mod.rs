//! Metrics of the operator. Metrics of the Go operator keep their names.
//!
//! Metrics of cluster objects are computed at each scrape (`cluster`), so that no series outlives its
//! object. The stages record all others: [`Updates`], [`Queries`], [`Preflight`], [`Rollout`] and
//! [`Status`].

mod cluster;
mod handles;
mod preflight;
mod rollout;
mod watches;

pub use cluster::Running;
pub use handles::{Queries, Status, Updates};
pub use preflight::{Ended, Preflight};
pub use rollout::Rollout;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use cluster::{Transitions, View};
use handles::Retrieval;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::{Metric, Registry};
use tokio::time::Instant;

use crate::cluster::{ClusterWatches, Objects, only};
use crate::sync::lock;

/// All metrics.
pub struct Metrics {
    registry: Registry,
    updates: Updates,
    queries: Queries,
    rollout: Rollout,
    preflight: Preflight,
    status: Status,
    tls_errors: Counter,
    seen: SharedLeaderState,
}

/// Registers a metric, and returns a handle to it.
fn register<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register(name, help, metric.clone());
    metric
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let updates = Updates::register(&mut registry);
        let queries = Queries::register(&mut registry);
        let rollout = Rollout::default();
        let preflight = Preflight::register(&mut registry);
        let status = Status::register(&mut registry);
        let tls_errors = register(
            &mut registry,
            "fairway_operator_tls_reload_errors",
            "Failed certificate reloads; the previous certificate remains in use",
            Counter::default(),
        );
        let seen = SharedLeaderState::default();
        registry.register_collector(Box::new(ComputedMetrics {
            seen: seen.clone(),
            retrieval: updates.retrieval(),
            rollout: rollout.clone(),
        }));
        Self { registry, updates, queries, rollout, preflight, status, tls_errors, seen }
    }
}

impl Metrics {
    /// Metrics of the stage `updates`.
    pub fn updates(&self) -> Updates {
        self.updates.clone()
    }

    /// Metrics of PromQL queries.
    pub fn queries(&self) -> Queries {
        self.queries.clone()
    }

    /// Metrics of the stage `rollout`.
    pub fn rollout(&self) -> Rollout {
        self.rollout.clone()
    }

    /// Metrics of the stage `preflight`.
    pub fn preflight(&self) -> Preflight {
        self.preflight.clone()
    }

    /// Metrics of the stage `status`.
    pub fn status(&self) -> Status {
        self.status.clone()
    }

    pub(crate) fn tls_error(&self) {
        self.tls_errors.inc();
    }

    /// Exposes metrics of cluster objects while it runs; only the leader does.
    pub async fn follow(&self, watches: ClusterWatches, running: Running) {
        let mut operators = watches.cluster_operators.clone();
        self.updates.retrieval().begin(fairway_clock::now());
        *lock(&self.seen) =
            Some(LeaderState { watches, running, transitions: Transitions::default() });
        let _clear = ClearOnDrop(&self.seen);
        loop {
            if let Some(operators) = operators.borrow_and_update().clone()
                && let Some(leading) = lock(&self.seen).as_mut()
            {
                leading.transitions.observe(&operators);
            }
            if operators.changed().await.is_err() {
                return;
            }
        }
    }

    /// A watch of the leader that does not recover by itself.
    pub(crate) fn stuck_watch(&self) -> Option<String> {
        let leading = lock(&self.seen);
        watches::stuck(&leading.as_ref()?.watches.monitors.ages(), Instant::now())
    }

    /// All metrics in the OpenMetrics text format.
    pub fn text(&self) -> String {
        let mut out = String::new();
        text::encode(&mut out, &self.registry).expect("writing to memory");
        out
    }
}

/// State of the leader; `None` if this replica is not the leader.
type SharedLeaderState = Arc<Mutex<Option<LeaderState>>>;

struct LeaderState {
    watches: ClusterWatches,
    running: Running,
    transitions: Transitions,
}

/// Clears the state of the leader when it is dropped.
struct ClearOnDrop<'a>(&'a SharedLeaderState);

impl Drop for ClearOnDrop<'_> {
    fn drop(&mut self) {
        *lock(self.0) = None;
    }
}

/// Metrics that are computed at each scrape.
struct ComputedMetrics {
    seen: SharedLeaderState,
    retrieval: Arc<Retrieval>,
    rollout: Rollout,
}

impl ComputedMetrics {
    fn families(&self) -> Vec<Family> {
        let now = fairway_clock::now();
        let mut families = vec![own(lock(&self.seen).is_some())];
        families.extend(self.retrieval.graph_age(now));
        let Some(LeaderState { watches, running, transitions }) = &*lock(&self.seen) else {
            return families;
        };
        let view = View {
            cluster_version: only(watches.cluster_version.borrow().as_ref()).cloned(),
            cluster_operators: watches.cluster_operators.borrow().clone().unwrap_or_default(),
            install: only(watches.install.borrow().as_ref()).cloned(),
            running: running.clone(),
        };
        families.extend(cluster::families(&view, now));
        families.push(transitions.family());
        let ages = watches.monitors.ages();
        families.extend(watches::families(&ages, &watches.stale.borrow(), Instant::now()));
        families.extend(self.retrieval.timestamp());
        families.extend(self.rollout.families());
        families
    }
}

fn own(leads: bool) -> Family {
    Family::new(
        "fairway_operator_leader",
        "Whether this operator is the leader",
        Samples::default().with([], f64::from(u8::from(leads))),
    )
}

impl Collector for ComputedMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.families().iter().try_for_each(|family| family.encode(&mut encoder))
    }
}

impl fmt::Debug for ComputedMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Computed")
    }
}

/// ClusterOperators by name.
type Operators = Objects<fairway_api::ClusterOperator>;

type Label = (&'static str, String);

/// Samples by labels. Labels are unique, because Prometheus rejects the scrape otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
struct Samples(BTreeMap<Vec<Label>, f64>);

impl Samples {
    /// Adds a sample; of several with the same labels, the first counts.
    fn with<const N: usize>(mut self, labels: [(&'static str, &str); N], value: f64) -> Self {
        self.add(labels, value);
        self
    }

    /// Adds a sample; of several with the same labels, the first counts.
    fn add<const N: usize>(&mut self, labels: [(&'static str, &str); N], value: f64) {
        let labels = labels.map(|(key, value)| (key, value.to_owned())).into();
        self.0.entry(labels).or_insert(value);
    }
}

/// A gauge with its samples.
#[derive(Clone, Debug, PartialEq)]
struct Family {
    name: &'static str,
    help: &'static str,
    samples: Samples,
}

impl Family {
    fn new(name: &'static str, help: &'static str, samples: Samples) -> Self {
        Self { name, help, samples }
    }

    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut metric =
            encoder.encode_descriptor(self.name, self.help, None, MetricType::Gauge)?;
        for (labels, value) in &self.samples.0 {
            if labels.is_empty() {
                metric.encode_gauge(value)?;
            } else {
                metric.encode_family(labels)?.encode_gauge(value)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (labels, value) in &self.samples.0 {
            let labels: Vec<_> =
                labels.iter().map(|(key, text)| format!("{key}={text:?}")).collect();
            writeln!(f, "{}{{{}}} {value}", self.name, labels.join(","))?;
        }
        Ok(())
    }
}
