//! Shared state of requests, and the status of the service.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::{ArcSwap, ArcSwapOption};
use http::HeaderValue;
use jiff::Timestamp;
use serde::Serialize;

use crate::body::ResponseBody;
use crate::http::CachedStatus;
use crate::metrics::Metrics;
use crate::published::{PublishedGraph, Quarantined};
use crate::responses::GraphCounts;

/// State that requests share. Readers never block.
pub(crate) struct State {
    pub(crate) settings: Settings,
    pub(crate) metrics: Metrics,
    pub(crate) openapi: ResponseBody,
    /// The last serialized status.
    pub(crate) cached_status: ArcSwapOption<CachedStatus>,
    published: ArcSwapOption<PublishedGraph>,
    status: ArcSwap<ServiceStatus>,
    shutting_down: AtomicBool,
}

/// Settings for requests.
pub(crate) struct Settings {
    /// Starts with `/` and does not end with it.
    pub(crate) prefix: String,
    pub(crate) cache_control: HeaderValue,
    pub(crate) signatures: Option<PathBuf>,
}

impl State {
    pub(crate) fn new(settings: Settings, openapi: ResponseBody) -> Self {
        Self {
            settings,
            metrics: Metrics::new(),
            openapi,
            cached_status: ArcSwapOption::empty(),
            published: ArcSwapOption::empty(),
            status: ArcSwap::default(),
            shutting_down: AtomicBool::new(false),
        }
    }

    /// The published graph, if there is one.
    pub(crate) fn served(&self) -> Option<Arc<PublishedGraph>> {
        self.published.load_full()
    }

    /// Publishes a graph. Requests in flight keep the one that they have loaded.
    pub(crate) fn serve(&self, published: PublishedGraph) {
        self.metrics.published(published.raw_releases, published.vanished.len());
        self.published.store(Some(Arc::new(published)));
    }

    pub(crate) fn status(&self) -> Arc<ServiceStatus> {
        self.status.load_full()
    }

    /// Publishes a status.
    pub(crate) fn report(&self, status: ServiceStatus) {
        self.metrics.report(&status);
        self.status.store(Arc::new(status));
    }

    /// Starts the drain period. Relaxed ordering suffices: the flag guards no other data, and a
    /// request that misses it is still served.
    pub(crate) fn begin_shutdown(&self) {
        self.shutting_down.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_shutting_down(&self) -> bool {
        self.shutting_down.load(Ordering::Relaxed)
    }
}

/// Status of the service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceStatus {
    /// The published graph, if there is one.
    pub graph: Option<GraphStatus>,
    /// Why newer data is not published.
    pub held: Option<String>,
    /// Blocked-edge files that newer data no longer has. Their removal is not accepted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed_blocks: Vec<String>,
    /// Files and releases that are not used, or only in part.
    pub quarantined: Vec<Quarantined>,
    /// Sources of the data.
    pub sources: Vec<SourceStatus>,
}

/// The published graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphStatus {
    /// Digest, equal for replicas that serve the same graph.
    pub digest: String,
    /// Time of publication.
    pub since: Timestamp,
    /// Last time at which all sources matched the published graph.
    pub confirmed: Timestamp,
    /// Size of the graph.
    #[serde(flatten)]
    pub counts: GraphCounts,
}

/// Status of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceStatus {
    /// Name of the source.
    pub name: String,
    /// Time of the last successful poll.
    pub read: Option<Timestamp>,
    /// Time of the last change.
    pub changed: Option<Timestamp>,
    /// Error of the last poll.
    pub error: Option<String>,
}

impl ServiceStatus {
    /// Why there is no graph, or an old one, in one line.
    pub fn problem(&self) -> Option<String> {
        let errors = self
            .sources
            .iter()
            .filter_map(|source| Some(format!("{}: {}", source.name, source.error.as_ref()?)));
        let problems: Vec<String> = errors.chain(self.held.clone()).collect();
        (!problems.is_empty()).then(|| problems.join("; "))
    }
}
