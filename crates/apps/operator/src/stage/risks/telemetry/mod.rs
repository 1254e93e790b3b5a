//! Sources of metrics: Prometheus or a metrics snapshot.

mod prometheus;
pub mod reply;
mod snapshot;

use fairway_risk::{QueryFailure, QueryResult};

use crate::metrics;
use crate::settings::MetricsSource;
use prometheus::Prometheus;
use snapshot::SnapshotFile;

/// Source of metrics.
pub(super) struct Telemetry(Backend);

enum Backend {
    Prometheus(Box<Prometheus>),
    Snapshot(SnapshotFile),
}

impl Telemetry {
    pub(super) fn new(
        source: MetricsSource,
        kube: kube::Client,
        metrics: metrics::Queries,
    ) -> Self {
        Self(match source {
            MetricsSource::Snapshot(path) => Backend::Snapshot(SnapshotFile::new(path)),
            MetricsSource::Prometheus(settings) => {
                Backend::Prometheus(Box::new(Prometheus::new(settings, kube, metrics)))
            }
        })
    }

    /// Evaluates a query now.
    pub(super) async fn query(&self, query: &str) -> Result<QueryResult, QueryFailure> {
        match &self.0 {
            Backend::Prometheus(prometheus) => prometheus.query(query).await.map_err(failure),
            Backend::Snapshot(snapshot) => snapshot.query(query).await.map_err(failure),
        }
    }

    /// The alerts as Prometheus lists them; `None` if the source has no alerts.
    pub(super) async fn alerts(&self) -> Option<Result<Vec<u8>, String>> {
        match &self.0 {
            Backend::Prometheus(prometheus) => {
                Some(prometheus.alerts().await.map_err(|error| fairway_text::chain(&error)))
            }
            Backend::Snapshot(_) => None,
        }
    }
}

fn failure(error: impl std::error::Error) -> QueryFailure {
    QueryFailure::request_failed(&fairway_text::chain(&error))
}
