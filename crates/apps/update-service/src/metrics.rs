//! Metrics. Names that Cincinnati has are the same here; labels are bounded.

use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::published::QuarantineKind;
use crate::state::ServiceStatus;

/// The buckets of Cincinnati, up to 5 s, with finer ones below.
const SERVE_BUCKETS: [f64; 9] = [0.000_1, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];

/// Files are read in milliseconds; a first scan of a registry takes minutes.
const SCRAPE_BUCKETS: [f64; 8] = [0.1, 1.0, 5.0, 10.0, 20.0, 30.0, 60.0, 300.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PathLabel {
    uri_path: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ErrorLabels {
    code: u16,
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabel {
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BuildLabels {
    version: &'static str,
}

/// Registers metrics by name and help text.
macro_rules! register {
    ($registry:ident, $($name:literal, $help:literal => $metric:expr,)*) => {
        $($registry.register($name, $help, $metric.clone());)*
    };
}

/// All metrics.
pub(crate) struct Metrics {
    registry: Registry,
    pub(crate) graph_requests: Counter,
    pub(crate) v1_graph_requests: Counter,
    response_errors: Family<ErrorLabels, Counter>,
    serve_duration: Histogram,
    raw_releases: Gauge,
    final_releases: Gauge,
    last_refresh: Gauge,
    scrapes: Counter,
    scrape_errors: Counter,
    scrape_duration: Histogram,
    quarantined: Family<KindLabel, Gauge>,
    held: Gauge,
    removed_blocks: Gauge,
    vanished: Counter,
    vanished_releases: Counter,
    pub(crate) connections: Gauge,
    pub(crate) refused: Counter,
    pub(crate) tls_errors: Counter,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::default();
        let requests = Family::<PathLabel, Counter>::default();
        let at = |uri_path| requests.get_or_create_owned(&PathLabel { uri_path });
        let build = Family::<BuildLabels, Gauge>::default();
        build.get_or_create(&BuildLabels { version: env!("CARGO_PKG_VERSION") }).set(1);
        let metrics = Self {
            graph_requests: at("/graph"),
            v1_graph_requests: at("/v1/graph"),
            response_errors: Family::default(),
            serve_duration: Histogram::new(SERVE_BUCKETS),
            raw_releases: Gauge::default(),
            final_releases: Gauge::default(),
            last_refresh: Gauge::default(),
            scrapes: Counter::default(),
            scrape_errors: Counter::default(),
            scrape_duration: Histogram::new(SCRAPE_BUCKETS),
            quarantined: Family::default(),
            held: Gauge::default(),
            removed_blocks: Gauge::default(),
            vanished: Counter::default(),
            vanished_releases: Counter::default(),
            connections: Gauge::default(),
            refused: Counter::default(),
            tls_errors: Counter::default(),
            registry: Registry::default(),
        };
        let serving = registry.sub_registry_with_prefix("cincinnati_pe");
        register!(serving,
            "graph_incoming_requests", "Graph requests" => requests,
            "graph_response_errors", "Error responses" => metrics.response_errors,
            "graph_serve_duration_seconds", "Duration of graph requests" => metrics.serve_duration,
            "build_info", "Build information" => build,
        );
        let sources = registry.sub_registry_with_prefix("cincinnati_gb");
        register!(sources,
            "graph_upstream_raw_releases", "Releases in the source" => metrics.raw_releases,
            "graph_final_releases", "Releases in the served graph" => metrics.final_releases,
            "graph_last_successful_refresh_timestamp",
            "Time of the last refresh after which the served graph matched all sources"
                => metrics.last_refresh,
            "graph_upstream_scrapes", "Scrapes of a source" => metrics.scrapes,
            "graph_upstream_errors", "Failed scrapes of a source" => metrics.scrape_errors,
            "graph_upstream_scrapes_duration", "Duration of scrapes of a source"
                => metrics.scrape_duration,
        );
        let own = registry.sub_registry_with_prefix("fairway_update_service");
        register!(own,
            "quarantined", "Quarantined files and releases" => metrics.quarantined,
            "held", "Whether new data is rejected and the previous graph is served" => metrics.held,
            "unaccepted_removed_block_files",
            "Files of blocked edges whose removal is not accepted; the previous graph is served"
                => metrics.removed_blocks,
            "vanished_block_files", "Removed files of blocked edges" => metrics.vanished,
            "vanished_releases", "Releases removed from the source" => metrics.vanished_releases,
            "connections", "Open connections" => metrics.connections,
            "refused_requests", "Requests refused because of too many connections"
                => metrics.refused,
            "tls_reload_errors",
            "Failed certificate reloads; the previous certificate remains in use"
                => metrics.tls_errors,
        );
        Self { registry, ..metrics }
    }

    /// Records a graph request.
    pub(crate) fn served(&self, took: Duration) {
        self.serve_duration.observe(took.as_secs_f64());
    }

    /// Records an error response.
    pub(crate) fn error(&self, code: u16, kind: &'static str) {
        self.response_errors.get_or_create(&ErrorLabels { code, kind }).inc();
    }

    /// Records a poll of a source.
    pub(crate) fn scraped(&self, took: Duration, succeeded: bool) {
        self.scrapes.inc();
        self.scrape_duration.observe(took.as_secs_f64());
        if !succeeded {
            self.scrape_errors.inc();
        }
    }

    /// Records a new published graph.
    pub(crate) fn published(&self, raw_releases: usize, vanished: usize) {
        self.raw_releases.set(count(raw_releases));
        self.vanished.inc_by(vanished as u64);
    }

    /// Records releases that a source has removed.
    pub(crate) fn releases_vanished(&self, count: u64) {
        self.vanished_releases.inc_by(count);
    }

    /// Updates the gauges.
    pub(crate) fn report(&self, status: &ServiceStatus) {
        for (kind, label) in [(QuarantineKind::File, "file"), (QuarantineKind::Release, "release")]
        {
            let found = status.quarantined.iter().filter(|item| item.kind == kind).count();
            self.quarantined.get_or_create(&KindLabel { kind: label }).set(count(found));
        }
        self.held.set(status.held.is_some().into());
        self.removed_blocks.set(count(status.removed_blocks.len()));
        if let Some(graph) = &status.graph {
            self.final_releases.set(count(graph.counts.releases));
            self.last_refresh.set(graph.confirmed.as_second());
        }
    }

    /// All metrics in the OpenMetrics format.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        text::encode(&mut out, &self.registry).expect("writing to memory");
        out
    }
}

fn count(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
