//! What is counted about asking the update service.

use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::fetch::Failure;
use super::memory::News;

/// From an answer of this machine to the longest that is waited for.
const BUCKETS: [f64; 8] = [0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

/// What is counted about asking the update service.
#[derive(Clone, Debug)]
pub struct Metrics {
    fetches: Family<OutcomeLabel, Counter>,
    seconds: Histogram,
    retrieved: Gauge,
}

impl Metrics {
    /// Registers them.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            fetches: Family::default(),
            seconds: Histogram::new(BUCKETS),
            retrieved: Gauge::default(),
        };
        registry.register(
            "fairway_operator_graph_fetches",
            "Questions to the update service, by what they came to",
            metrics.fetches.clone(),
        );
        registry.register(
            "fairway_operator_graph_fetch_seconds",
            "How long the update service takes to answer",
            metrics.seconds.clone(),
        );
        registry.register(
            "cluster_version_operator_update_retrieval_timestamp_seconds",
            "When the update service last answered",
            metrics.retrieved.clone(),
        );
        metrics
    }

    /// The update service was asked.
    pub(super) fn asked(&self, outcome: &Result<News, Failure>, took: Duration, now: Timestamp) {
        let label = match outcome {
            Ok(News::Answer { .. }) => "Answer",
            Ok(News::Unchanged) => "Unchanged",
            Err(failure) => failure.reason().code,
        };
        self.fetches.get_or_create(&OutcomeLabel { outcome: label }).inc();
        self.seconds.observe(took.as_secs_f64());
        if outcome.is_ok() {
            self.retrieved.set(now.as_second());
        }
    }
}
