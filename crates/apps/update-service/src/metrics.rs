//! What is counted. Names that the existing service has are its own; labels are bounded.

use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::assemble::Kind;
use crate::status::Status;

/// Those of the existing service, up to its five seconds, and finer where this one is.
const SERVE_BUCKETS: [f64; 9] = [0.000_1, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];

/// Files are read in milliseconds; a first look at a registry takes minutes.
const LOOK_BUCKETS: [f64; 8] = [0.1, 1.0, 5.0, 10.0, 20.0, 30.0, 60.0, 300.0];

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
    looks: Counter,
    look_errors: Counter,
    look_duration: Histogram,
    quarantined: Family<KindLabel, Gauge>,
    held: Gauge,
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
            looks: Counter::default(),
            look_errors: Counter::default(),
            look_duration: Histogram::new(LOOK_BUCKETS),
            quarantined: Family::default(),
            held: Gauge::default(),
            vanished: Counter::default(),
            vanished_releases: Counter::default(),
            connections: Gauge::default(),
            refused: Counter::default(),
            tls_errors: Counter::default(),
            registry: Registry::default(),
        };
        metrics.register_serving(
            registry.sub_registry_with_prefix("cincinnati_pe"),
            &requests,
            &build,
        );
        metrics.register_sources(registry.sub_registry_with_prefix("cincinnati_gb"));
        metrics.register_own(registry.sub_registry_with_prefix("fairway_update_service"));
        Self { registry, ..metrics }
    }

    fn register_serving(
        &self,
        registry: &mut Registry,
        requests: &Family<PathLabel, Counter>,
        build: &Family<BuildLabels, Gauge>,
    ) {
        registry.register("graph_incoming_requests", "Graph requests", requests.clone());
        registry.register("graph_response_errors", "Error responses", self.response_errors.clone());
        registry.register(
            "graph_serve_duration_seconds",
            "Duration of graph requests",
            self.serve_duration.clone(),
        );
        registry.register("build_info", "Build information", build.clone());
    }

    fn register_sources(&self, registry: &mut Registry) {
        registry.register(
            "graph_upstream_raw_releases",
            "Releases of the source",
            self.raw_releases.clone(),
        );
        registry.register(
            "graph_final_releases",
            "Releases in the served graph",
            self.final_releases.clone(),
        );
        registry.register(
            "graph_last_successful_refresh_timestamp",
            "Time of the last refresh after which all sources match the served graph",
            self.last_refresh.clone(),
        );
        registry.register("graph_upstream_scrapes", "Scrapes of a source", self.looks.clone());
        registry.register(
            "graph_upstream_errors",
            "Failed scrapes of a source",
            self.look_errors.clone(),
        );
        registry.register(
            "graph_upstream_scrapes_duration",
            "Duration of scrapes of a source",
            self.look_duration.clone(),
        );
    }

    fn register_own(&self, registry: &mut Registry) {
        registry.register(
            "quarantined",
            "Quarantined files and releases",
            self.quarantined.clone(),
        );
        registry.register("held", "Whether newer data is held back", self.held.clone());
        registry.register(
            "vanished_block_files",
            "Removed files of blocked edges",
            self.vanished.clone(),
        );
        registry.register(
            "vanished_releases",
            "Releases removed from the source",
            self.vanished_releases.clone(),
        );
        registry.register("connections", "Open connections", self.connections.clone());
        registry.register(
            "refused_requests",
            "Requests refused because of too many connections",
            self.refused.clone(),
        );
        registry.register(
            "tls_reload_errors",
            "Failed certificate reloads; the previous certificate remains in use",
            self.tls_errors.clone(),
        );
    }

    /// A graph was asked for, and answered.
    pub(crate) fn served(&self, took: Duration) {
        self.serve_duration.observe(took.as_secs_f64());
    }

    /// An answer is an error.
    pub(crate) fn error(&self, code: u16, kind: &'static str) {
        self.response_errors.get_or_create(&ErrorLabels { code, kind }).inc();
    }

    /// A source was looked at.
    pub(crate) fn looked(&self, took: Duration, succeeded: bool) {
        self.looks.inc();
        self.look_duration.observe(took.as_secs_f64());
        if !succeeded {
            self.look_errors.inc();
        }
    }

    /// Something new is served.
    pub(crate) fn published(&self, raw_releases: usize, vanished: usize) {
        self.raw_releases.set(count(raw_releases));
        self.vanished.inc_by(vanished as u64);
    }

    /// The source has no longer some of the releases that it had.
    pub(crate) fn releases_vanished(&self, count: u64) {
        self.vanished_releases.inc_by(count);
    }

    /// Things are like this now.
    pub(crate) fn report(&self, status: &Status) {
        for (kind, label) in [(Kind::File, "file"), (Kind::Release, "release")] {
            let found = status.quarantined.iter().filter(|item| item.kind == kind).count();
            self.quarantined.get_or_create(&KindLabel { kind: label }).set(count(found));
        }
        self.held.set(status.held.is_some().into());
        if let Some(graph) = &status.graph {
            self.final_releases.set(count(graph.counts.releases));
            self.last_refresh.set(graph.confirmed.as_second());
        }
    }

    /// All of them, as Prometheus reads them.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        text::encode(&mut out, &self.registry).expect("writing to memory");
        out
    }
}

fn count(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
