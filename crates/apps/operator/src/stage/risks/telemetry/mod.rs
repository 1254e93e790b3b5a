//! The cluster's metrics: who answers queries.

mod client;
mod prometheus;
pub mod reply;
mod snapshot;

use fairway_risk::{Answer, Failure};

use crate::metrics;
use crate::settings::MetricsSource;
use prometheus::Prometheus;
use snapshot::SnapshotFile;

/// Who answers queries.
pub(super) struct Telemetry(Server);

enum Server {
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
            MetricsSource::Snapshot(path) => Server::Snapshot(SnapshotFile::new(path)),
            MetricsSource::Prometheus(settings) => {
                Server::Prometheus(Box::new(Prometheus::new(settings, kube, metrics)))
            }
        })
    }

    /// The answer to a query now.
    pub(super) async fn ask(&self, query: &str) -> Result<Answer, Failure> {
        match &self.0 {
            Server::Prometheus(prometheus) => prometheus.query(query).await.map_err(failure),
            Server::Snapshot(snapshot) => snapshot.query(query).await.map_err(failure),
        }
    }

    /// The alerts that fire now, as Prometheus lists them; none where nobody knows.
    pub(super) async fn alerts(&self) -> Option<Result<Vec<u8>, String>> {
        match &self.0 {
            Server::Prometheus(prometheus) => {
                Some(prometheus.alerts().await.map_err(|error| fairway_text::chain(&error)))
            }
            Server::Snapshot(_) => None,
        }
    }
}

fn failure(error: impl std::error::Error) -> Failure {
    Failure::asking(&fairway_text::chain(&error))
}
