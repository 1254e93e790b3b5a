//! Metrics that the stages record.

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

use super::{Family, Samples, register};

/// Buckets from a response on the same host to the request timeout.
const FETCH_BUCKETS: [f64; 8] = [0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0];

const ANSWER: &str = "Answer";
const UNCHANGED: &str = "Unchanged";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

/// Counters by outcome. All exist from the start, because rates need an initial zero.
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

/// Metrics of the stage `updates`.
#[derive(Clone)]
pub struct Updates {
    fetches: CounterFamily<Outcome, Counter>,
    took: Histogram,
    retrieval: Arc<Retrieval>,
}

impl Updates {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let fetches = register(
            registry,
            "fairway_operator_graph_fetches",
            "Requests to the update service by outcome: answer, unchanged, or the failure reason",
            CounterFamily::default(),
        );
        for outcome in [ANSWER, UNCHANGED] {
            drop(fetches.get_or_create(&Outcome { outcome }));
        }
        let took = register(
            registry,
            "fairway_operator_graph_fetch_seconds",
            "Duration of requests to the update service",
            Histogram::new(FETCH_BUCKETS),
        );
        Self { fetches, took, retrieval: Arc::default() }
    }

    /// The update service returned a graph.
    pub fn answered(&self, took: Duration, now: Timestamp) {
        self.count(ANSWER, took);
        self.retrieval.answered(now);
    }

    /// The update service confirmed the graph.
    pub fn unchanged(&self, took: Duration, now: Timestamp) {
        self.count(UNCHANGED, took);
        self.retrieval.answered(now);
    }

    /// The request failed, with a reason of the condition `RetrievedUpdates`.
    pub fn failed(&self, reason: &Reason, took: Duration) {
        self.count(reason.code, took);
    }

    /// The query has changed: the time without a response starts over.
    pub fn query_changed(&self, now: Timestamp) {
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

/// Time of the last response in Unix seconds; 0 before the first. The two atomics are independent
/// gauges, so relaxed ordering is enough.
#[derive(Debug, Default)]
pub(super) struct Retrieval {
    /// Time of the last response, or of the first request.
    latest: AtomicI64,
    answered: AtomicI64,
}

impl Retrieval {
    /// A request is pending from now on.
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
                "Time of the last response from the update service, or of the first request before \
                 any response",
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

/// Seconds as a sample.
#[expect(clippy::cast_precision_loss, reason = "exact for 285 million years")]
pub(super) fn seconds(seconds: i64) -> f64 {
    seconds as f64
}

/// Metrics of PromQL queries.
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
        let mut counter = |name, help| register(registry, name, help, Counter::default());
        let evaluations = counter("cluster_operator_promql_evaluations", "PromQL queries sent");
        let failed_evaluations = counter(
            "cluster_operator_promql_failed_evaluations",
            "PromQL queries sent that returned no result for the risk",
        );
        let warnings = counter(
            "cluster_operator_promql_evaluation_warnings",
            "Warnings in responses to PromQL queries",
        );
        let last_success = register(
            registry,
            "fairway_operator_promql_last_success_timestamp_seconds",
            "Time of the last successful PromQL query",
            Gauge::default(),
        );
        Self { answered, failed, refused, evaluations, failed_evaluations, warnings, last_success }
    }

    /// A query has a result for the risk.
    pub fn answered(&self, now: Timestamp) {
        self.answered.inc();
        self.evaluations.inc();
        self.last_success.set(now.as_second());
    }

    /// A query was sent and has no result for the risk.
    pub fn failed(&self) {
        self.failed.inc();
        self.evaluations.inc();
        self.failed_evaluations.inc();
    }

    /// The policy refused a query.
    pub fn refused(&self) {
        self.refused.inc();
    }

    /// A response had warnings.
    pub fn warned(&self, warnings: u64) {
        self.warnings.inc_by(warnings);
    }
}

/// Metrics of the stage `status`.
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
            "Writes to the ClusterVersion status by outcome",
            ["written", "conflict", "failed"],
        );
        Self { written, conflicted, failed }
    }

    /// The status was written.
    pub fn written(&self) {
        self.written.inc();
    }

    /// Another client wrote first; the status is composed again.
    pub fn conflicted(&self) {
        self.conflicted.inc();
    }

    /// The write failed.
    pub fn failed(&self) {
        self.failed.inc();
    }
}
