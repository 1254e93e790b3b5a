//! What stages count.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use fairway_api::reason::Reason;
use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family as CounterFamily;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::family::{Family, Samples};

/// From an answer of this machine to the longest that is waited for.
const FETCH_BUCKETS: [f64; 8] = [0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0];

const ANSWER: &str = "Answer";
const UNCHANGED: &str = "Unchanged";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

/// Counters by outcome, all of them there from the beginning: a rate needs a zero to start from.
pub(super) fn outcomes<const N: usize>(
    registry: &mut Registry,
    name: &str,
    help: &str,
    outcomes: [&'static str; N],
) -> [Counter; N] {
    let family = CounterFamily::<Outcome, Counter>::default();
    registry.register(name, help, family.clone());
    outcomes.map(|outcome| family.get_or_create_owned(&Outcome { outcome }))
}

/// What the stage that fetches the graph counts.
#[derive(Clone)]
pub struct Updates {
    fetches: CounterFamily<Outcome, Counter>,
    took: Histogram,
    retrieval: Arc<Retrieval>,
}

impl Updates {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let updates = Self {
            fetches: CounterFamily::default(),
            took: Histogram::new(FETCH_BUCKETS),
            retrieval: Arc::default(),
        };
        for outcome in [ANSWER, UNCHANGED] {
            drop(updates.fetches.get_or_create(&Outcome { outcome }));
        }
        registry.register(
            "fairway_operator_graph_fetches",
            "Requests to the update service by outcome: answer, unchanged, or the failure reason",
            updates.fetches.clone(),
        );
        registry.register(
            "fairway_operator_graph_fetch_seconds",
            "Duration of requests to the update service",
            updates.took.clone(),
        );
        updates
    }

    /// The update service answered with a graph.
    pub fn answered(&self, took: Duration, now: Timestamp) {
        self.count(ANSWER, took);
        self.retrieval.answered(now);
    }

    /// The update service answered that the graph is the same.
    pub fn unchanged(&self, took: Duration, now: Timestamp) {
        self.count(UNCHANGED, took);
        self.retrieval.answered(now);
    }

    /// There was no answer that could be used, for a reason of the condition `RetrievedUpdates`.
    pub fn failed(&self, reason: &Reason, took: Duration) {
        self.count(reason.code, took);
    }

    /// Something else is asked for from now on: an answer has to be waited for anew.
    pub fn asked_anew(&self, now: Timestamp) {
        self.retrieval.begin(now);
    }

    fn count(&self, outcome: &'static str, took: Duration) {
        self.fetches.get_or_create(&Outcome { outcome }).inc();
        self.took.observe(took.as_secs_f64());
    }

    pub(super) fn retrieval(&self) -> Arc<Retrieval> {
        Arc::clone(&self.retrieval)
    }
}

/// When the update service last answered, in seconds since 1970; 0 is never.
#[derive(Debug, Default)]
pub(super) struct Retrieval {
    /// An answer, or the moment from which one is waited for.
    latest: AtomicI64,
    answered: AtomicI64,
}

impl Retrieval {
    /// An answer is waited for from now on.
    pub(super) fn begin(&self, now: Timestamp) {
        self.latest.fetch_max(now.as_second(), Ordering::Relaxed);
    }

    fn answered(&self, now: Timestamp) {
        self.latest.store(now.as_second(), Ordering::Relaxed);
        self.answered.store(now.as_second(), Ordering::Relaxed);
    }

    pub(super) fn timestamp(&self) -> Option<Family> {
        let latest = self.latest.load(Ordering::Relaxed);
        (latest != 0).then(|| {
            Family::new(
                "cluster_version_operator_update_retrieval_timestamp_seconds",
                "Time of the last response of the update service, or of the first attempt",
                Samples::default().with([("name", "")], seconds(latest)),
            )
        })
    }

    pub(super) fn graph_age(&self, now: Timestamp) -> Option<Family> {
        let answered = self.answered.load(Ordering::Relaxed);
        (answered != 0).then(|| {
            Family::new(
                "fairway_operator_graph_age_seconds",
                "Time since the update service confirmed the graph in use",
                Samples::default().with([], seconds(now.as_second() - answered)),
            )
        })
    }
}

/// Seconds as Prometheus has them.
#[expect(clippy::cast_precision_loss, reason = "exact for 285 million years")]
pub(super) fn seconds(seconds: i64) -> f64 {
    seconds as f64
}

/// What whoever evaluates PromQL counts.
#[derive(Clone)]
pub struct Queries {
    answered: Counter,
    failed: Counter,
    refused: Counter,
    evaluations: Counter,
    failed_evaluations: Counter,
    warnings: Counter,
    last_success: Gauge,
}

impl Queries {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let [answered, failed, refused] = outcomes(
            registry,
            "fairway_operator_promql_queries",
            "PromQL queries of risks by outcome; refused queries are never sent",
            ["answered", "failed", "refused"],
        );
        let queries = Self {
            answered,
            failed,
            refused,
            evaluations: Counter::default(),
            failed_evaluations: Counter::default(),
            warnings: Counter::default(),
            last_success: Gauge::default(),
        };
        registry.register(
            "cluster_operator_promql_evaluations",
            "PromQL queries sent",
            queries.evaluations.clone(),
        );
        registry.register(
            "cluster_operator_promql_failed_evaluations",
            "PromQL queries sent that returned no result for the risk",
            queries.failed_evaluations.clone(),
        );
        registry.register(
            "cluster_operator_promql_evaluation_warnings",
            "Warnings in responses to PromQL queries",
            queries.warnings.clone(),
        );
        registry.register(
            "fairway_operator_promql_last_success_timestamp_seconds",
            "Time of the last successful PromQL query",
            queries.last_success.clone(),
        );
        queries
    }

    /// A query was answered so that it says whether the risk applies.
    pub fn answered(&self, now: Timestamp) {
        self.answered.inc();
        self.evaluations.inc();
        self.last_success.set(now.as_second());
    }

    /// A query was sent, and nothing is known about the risk.
    pub fn failed(&self) {
        self.failed.inc();
        self.evaluations.inc();
        self.failed_evaluations.inc();
    }

    /// A query was not sent at all.
    pub fn refused(&self) {
        self.refused.inc();
    }

    /// So many warnings came with an answer.
    pub fn warned(&self, warnings: u64) {
        self.warnings.inc_by(warnings);
    }
}

/// What the stage that writes the status counts.
#[derive(Clone)]
pub struct Status {
    written: Counter,
    conflicted: Counter,
    failed: Counter,
}

impl Status {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let [written, conflicted, failed] = outcomes(
            registry,
            "fairway_operator_api_writes",
            "Writes of the ClusterVersion status by outcome",
            ["written", "conflict", "failed"],
        );
        Self { written, conflicted, failed }
    }

    /// The API server took it.
    pub fn written(&self) {
        self.written.inc();
    }

    /// Somebody else wrote first; it is composed anew.
    pub fn conflicted(&self) {
        self.conflicted.inc();
    }

    /// The API server refused it, or was not there.
    pub fn failed(&self) {
        self.failed.inc();
    }
}
