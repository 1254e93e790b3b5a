//! Polls the sources and publishes the graph.
//!
//! One task per source reports its content through a watch channel. One more builds the graph from
//! both and swaps it in. None of them blocks requests.

use std::collections::BTreeSet;
use std::sync::Arc;

use fairway_clock::now;
use fairway_graph::{Files, ReleaseImage};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::options::RemovedBlockPolicy;
use crate::published::{PublishedGraph, RejectedData, assemble};
use crate::saved_state::{SavedGraphData, SavedState};
use crate::source::{PolledSource, SourceContent, SourceError};
use crate::state::{GraphStatus, ServiceStatus, SourceStatus, State};

/// Last observed state of a source.
pub(crate) struct ObservedSource<T> {
    status: SourceStatus,
    content: Option<Arc<SourceContent<T>>>,
}

impl<T> Clone for ObservedSource<T> {
    fn clone(&self) -> Self {
        Self { status: self.status.clone(), content: self.content.clone() }
    }
}

/// Polls a source until the service stops.
pub(crate) async fn poll<T: Send + Sync + 'static>(
    mut polled: PolledSource<T>,
    observed: watch::Sender<ObservedSource<T>>,
    state: Arc<State>,
    stopping: CancellationToken,
) {
    loop {
        let start = Instant::now();
        // `refresh` may be dropped at any time: sources keep their state consistent.
        let result = tokio::select! {
            () = stopping.cancelled() => return,
            result = polled.source.refresh() => result,
        };
        state.metrics.scraped(start.elapsed(), result.is_ok());
        observed.send_modify(|observed| record(observed, result));
        if timeout(polled.every, stopping.cancelled()).await.is_ok() {
            return;
        }
    }
}

/// A watch channel for the state of a source.
pub(crate) fn channel<T>(
    polled: &PolledSource<T>,
) -> (watch::Sender<ObservedSource<T>>, watch::Receiver<ObservedSource<T>>) {
    let status = SourceStatus { name: polled.source.name(), ..SourceStatus::default() };
    watch::channel(ObservedSource { status, content: None })
}

fn record<T>(
    observed: &mut ObservedSource<T>,
    result: Result<Option<SourceContent<T>>, SourceError>,
) {
    let status = &mut observed.status;
    match result {
        Ok(content) => {
            status.error = None;
            status.read = Some(now());
            if let Some(content) = content {
                tracing::info!(source = status.name, "source changed");
                status.changed = status.read;
                observed.content = Some(Arc::new(content));
            }
        }
        Err(error) => {
            let error = fairway_text::chain(error.as_ref());
            if status.error.as_ref() != Some(&error) {
                tracing::error!(
                    source = status.name,
                    error,
                    "cannot read source; using its previous data"
                );
            }
            status.error = Some(error);
        }
    }
}

/// Publishes a graph whenever a source changes, until the service stops.
pub(crate) async fn publish(
    mut files: watch::Receiver<ObservedSource<Files>>,
    mut releases: watch::Receiver<ObservedSource<Vec<ReleaseImage>>>,
    state: Arc<State>,
    policy: PublicationPolicy,
    stopping: CancellationToken,
) {
    let mut publisher = Publisher::new(state, policy).await;
    loop {
        let (observed_files, observed_releases) =
            (files.borrow_and_update().clone(), releases.borrow_and_update().clone());
        publisher.update(observed_files, observed_releases).await;
        // `changed` is cancel-safe, and the next iteration reads both values: no update is lost.
        tokio::select! {
            () = stopping.cancelled() => return,
            changed = files.changed() => if changed.is_err() { return },
            changed = releases.changed() => if changed.is_err() { return },
        }
    }
}

/// Content of all sources.
type Inputs = (Arc<SourceContent<Files>>, Arc<SourceContent<Vec<ReleaseImage>>>);

/// Which new data is published, and what survives a restart.
pub(crate) struct PublicationPolicy {
    pub(crate) removed_blocks: RemovedBlockPolicy,
    pub(crate) saved: Option<SavedState>,
}

struct Publisher {
    state: Arc<State>,
    removed_blocks: Arc<RemovedBlockPolicy>,
    saved: Option<SavedState>,
    /// Graph-data from before a restart. It is published before any other data.
    before_restart: Option<SavedGraphData>,
    /// Last input, published or rejected.
    inputs: Option<Inputs>,
    status: ServiceStatus,
}

impl Publisher {
    async fn new(state: Arc<State>, policy: PublicationPolicy) -> Self {
        let PublicationPolicy { removed_blocks, saved } = policy;
        let reading = saved.clone();
        let read = tokio::task::spawn_blocking(move || reading?.graph_data().transpose());
        let before_restart = match read.await {
            Ok(Some(Ok(found))) => Some(found),
            Ok(Some(Err(error))) => {
                let error = fairway_text::chain(error.as_ref());
                tracing::error!(error, "cannot read saved graph-data; using that of the source");
                None
            }
            Ok(None) | Err(_) => None,
        };
        let removed_blocks = Arc::new(removed_blocks);
        let status = ServiceStatus::default();
        Self { state, removed_blocks, saved, before_restart, inputs: None, status }
    }

    /// Publishes the graph-data from before a restart, once the releases are known.
    async fn restore(&mut self, releases: &Arc<SourceContent<Vec<ReleaseImage>>>) {
        let Some(SavedGraphData { files, saved }) = self.before_restart.take() else { return };
        tracing::info!(%saved, "using graph-data from before the restart");
        let files = SourceContent { content: files, problems: Vec::new() };
        self.build(Arc::new(files), Arc::clone(releases)).await;
        // The sources confirm it when they are read.
        if let Some(graph) = &mut self.status.graph {
            graph.confirmed = saved;
        }
    }

    async fn update(
        &mut self,
        files: ObservedSource<Files>,
        releases: ObservedSource<Vec<ReleaseImage>>,
    ) {
        if let Some(releases) = &releases.content {
            self.restore(releases).await;
        }
        if let (Some(files), Some(releases)) = (files.content, releases.content) {
            let same = self.inputs.as_ref().is_some_and(|(input_files, input_releases)| {
                Arc::ptr_eq(input_files, &files) && Arc::ptr_eq(input_releases, &releases)
            });
            if !same {
                let before = self.inputs.as_ref().map(|(_, inputs)| inputs.content.as_slice());
                self.report_removed(before.unwrap_or_default(), &releases.content);
                self.inputs = Some((Arc::clone(&files), Arc::clone(&releases)));
                self.build(files, releases).await;
            }
        }
        self.status.sources = vec![files.status, releases.status];
        self.confirm();
        self.state.report(self.status.clone());
    }

    /// Reports releases that the source has removed.
    fn report_removed(&self, before: &[ReleaseImage], now: &[ReleaseImage]) {
        let now: BTreeSet<&str> = now.iter().map(|release| release.image.as_str()).collect();
        let mut count = 0;
        for removed in before.iter().filter(|release| !now.contains(release.image.as_str())) {
            let version = &removed.release_metadata.version;
            tracing::warn!(%version, image = removed.image, "release removed from the source");
            count += 1;
        }
        self.state.metrics.releases_vanished(count);
    }

    async fn build(
        &mut self,
        files: Arc<SourceContent<Files>>,
        releases: Arc<SourceContent<Vec<ReleaseImage>>>,
    ) {
        let before = self.state.served();
        let policy = Arc::clone(&self.removed_blocks);
        let built = tokio::task::spawn_blocking(move || {
            assemble(&files.content, &releases, before.as_deref(), &policy)
        });
        self.status.removed_blocks.clear();
        match built.await {
            Ok(Ok(published)) => {
                self.save(&published).await;
                self.serve(published);
            }
            Ok(Err(rejected)) => {
                if let RejectedData::RemovedBlocks(files) = &rejected {
                    self.status.removed_blocks.clone_from(files);
                }
                self.reject(&rejected);
            }
            Err(error) => self.reject(&error),
        }
    }

    /// Saves the graph-data for the next start. A failure does not delay new blocks: the graph is
    /// published anyway, and the error logged.
    async fn save(&self, published: &PublishedGraph) {
        let Some(saved) = self.saved.clone() else { return };
        let archive = published.archive.body().clone();
        let write = move || saved.save_graph_data(&archive);
        let error = match tokio::task::spawn_blocking(write).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        tracing::error!(error, "cannot save graph-data in the state directory");
    }

    fn serve(&mut self, published: PublishedGraph) {
        for file in &published.vanished {
            tracing::warn!(file, "blocked-edge file removed; its updates may become available");
        }
        for quarantined in &published.quarantine {
            let reason = &quarantined.why;
            tracing::warn!(kind = ?quarantined.kind, reason, "input quarantined");
        }
        tracing::info!(digest = published.digest, "graph updated");
        self.status.held = None;
        self.status.quarantined.clone_from(&published.quarantine);
        self.status.graph = Some(GraphStatus {
            digest: published.digest.clone(),
            since: now(),
            confirmed: now(),
            counts: published.counts.clone(),
        });
        self.state.serve(published);
    }

    fn reject(&mut self, error: &(dyn std::error::Error + 'static)) {
        let why = fairway_text::chain(error);
        tracing::error!(error = why, "new data rejected; serving the previous graph");
        self.status.held = Some(why);
    }

    /// The published graph is confirmed as of the oldest successful poll, once all sources are read.
    fn confirm(&mut self) {
        let read = self.status.sources.iter().map(|source| source.read).min().flatten();
        if let (Some(graph), Some(read), None) = (&mut self.status.graph, read, &self.status.held) {
            graph.confirmed = read;
        }
    }
}
