//! What requests share.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::{ArcSwap, ArcSwapOption};
use http::HeaderValue;

use crate::assemble::Assembly;
use crate::document::Document;
use crate::http::WrittenReport;
use crate::metrics::Metrics;
use crate::status::Status;

/// What requests share. Readers never wait.
pub(crate) struct State {
    pub(crate) settings: Settings,
    pub(crate) metrics: Metrics,
    pub(crate) openapi: Document,
    /// The status as it was last written for somebody.
    pub(crate) written: ArcSwapOption<WrittenReport>,
    assembly: ArcSwapOption<Assembly>,
    status: ArcSwap<Status>,
    leaving: AtomicBool,
}

/// How requests are answered.
pub(crate) struct Settings {
    /// Begins with `/`, and does not end with it.
    pub(crate) prefix: String,
    pub(crate) cache_control: HeaderValue,
    pub(crate) signatures: Option<PathBuf>,
}

impl State {
    pub(crate) fn new(settings: Settings, openapi: Document) -> Self {
        Self {
            settings,
            metrics: Metrics::new(),
            openapi,
            written: ArcSwapOption::empty(),
            assembly: ArcSwapOption::empty(),
            status: ArcSwap::default(),
            leaving: AtomicBool::new(false),
        }
    }

    /// What is served, once there is something.
    pub(crate) fn served(&self) -> Option<Arc<Assembly>> {
        self.assembly.load_full()
    }

    /// From now on this is served.
    pub(crate) fn serve(&self, assembly: Assembly) {
        self.metrics.published(assembly.raw_releases, assembly.vanished.len());
        self.assembly.store(Some(Arc::new(assembly)));
    }

    pub(crate) fn status(&self) -> Arc<Status> {
        self.status.load_full()
    }

    /// From now on this is how things are.
    pub(crate) fn report(&self, status: Status) {
        self.metrics.report(&status);
        self.status.store(Arc::new(status));
    }

    /// From now on clients are asked to go elsewhere.
    pub(crate) fn leave(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }
}
