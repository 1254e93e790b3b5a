//! Looking at the sources, and publishing what they have.
//!
//! A task for each source says what it sees; one more makes of both what is served, and swaps it
//! in. None of them can hold up a request.

use std::collections::BTreeSet;
use std::sync::Arc;

use fairway_clock::now;
use fairway_graph::{Files, ReleaseImage};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::assemble::{Assembly, assemble};
use crate::source::{Found, SourceError, Watched};
use crate::state::State;
use crate::status::{GraphStatus, SourceStatus, Status};

/// What a source was last seen to have.
pub(crate) struct Seen<T> {
    status: SourceStatus,
    found: Option<Arc<Found<T>>>,
}

impl<T> Clone for Seen<T> {
    fn clone(&self) -> Self {
        Self { status: self.status.clone(), found: self.found.clone() }
    }
}

/// Looks at a source until the service stops.
pub(crate) async fn look<T: Send + Sync + 'static>(
    mut watched: Watched<T>,
    seen: watch::Sender<Seen<T>>,
    state: Arc<State>,
    stopping: CancellationToken,
) {
    loop {
        let begun = Instant::now();
        let found = tokio::select! {
            () = stopping.cancelled() => return,
            found = watched.source.refresh() => found,
        };
        state.metrics.looked(begun.elapsed(), found.is_ok());
        seen.send_modify(|seen| note(seen, found));
        if timeout(watched.every, stopping.cancelled()).await.is_ok() {
            return;
        }
    }
}

/// A channel for what is seen of a source.
pub(crate) fn channel<T>(
    watched: &Watched<T>,
) -> (watch::Sender<Seen<T>>, watch::Receiver<Seen<T>>) {
    let status = SourceStatus { name: watched.source.name(), ..SourceStatus::default() };
    watch::channel(Seen { status, found: None })
}

fn note<T>(seen: &mut Seen<T>, found: Result<Option<Found<T>>, SourceError>) {
    let status = &mut seen.status;
    match found {
        Ok(found) => {
            status.error = None;
            status.read = Some(now());
            if let Some(found) = found {
                tracing::info!(source = status.name, "source changed");
                status.changed = status.read;
                seen.found = Some(Arc::new(found));
            }
        }
        Err(error) => {
            let error = fairway_text::chain(error.as_ref());
            if status.error.as_ref() != Some(&error) {
                tracing::error!(
                    source = status.name,
                    error,
                    "cannot read source, using its previous data"
                );
            }
            status.error = Some(error);
        }
    }
}

/// Makes what is served of what is seen, until the service stops.
pub(crate) async fn publish(
    mut files: watch::Receiver<Seen<Files>>,
    mut releases: watch::Receiver<Seen<Vec<ReleaseImage>>>,
    state: Arc<State>,
    stopping: CancellationToken,
) {
    let mut publisher = Publisher { state, used: None, status: Status::default() };
    loop {
        let (seen_files, seen_releases) =
            (files.borrow_and_update().clone(), releases.borrow_and_update().clone());
        publisher.see(seen_files, seen_releases).await;
        tokio::select! {
            () = stopping.cancelled() => return,
            changed = files.changed() => if changed.is_err() { return },
            changed = releases.changed() => if changed.is_err() { return },
        }
    }
}

/// What the sources had, all of them.
type Inputs = (Arc<Found<Files>>, Arc<Found<Vec<ReleaseImage>>>);

struct Publisher {
    state: Arc<State>,
    /// What was last made into something to serve, or could not be.
    used: Option<Inputs>,
    status: Status,
}

impl Publisher {
    async fn see(&mut self, files: Seen<Files>, releases: Seen<Vec<ReleaseImage>>) {
        if let (Some(files), Some(releases)) = (files.found, releases.found) {
            let same = self.used.as_ref().is_some_and(|(used_files, used_releases)| {
                Arc::ptr_eq(used_files, &files) && Arc::ptr_eq(used_releases, &releases)
            });
            if !same {
                let before = self.used.as_ref().map(|(_, used)| used.content.as_slice());
                self.miss(before.unwrap_or_default(), &releases.content);
                self.used = Some((Arc::clone(&files), Arc::clone(&releases)));
                self.make(files, releases).await;
            }
        }
        self.status.sources = vec![files.status, releases.status];
        self.confirm();
        self.state.report(self.status.clone());
    }

    /// Says which releases a source had, and has no more.
    fn miss(&self, before: &[ReleaseImage], now: &[ReleaseImage]) {
        let now: BTreeSet<&str> = now.iter().map(|release| release.image.as_str()).collect();
        let mut count = 0;
        for gone in before.iter().filter(|release| !now.contains(release.image.as_str())) {
            let version = &gone.release_metadata.version;
            tracing::warn!(%version, image = gone.image, "release removed from the source");
            count += 1;
        }
        self.state.metrics.releases_vanished(count);
    }

    async fn make(&mut self, files: Arc<Found<Files>>, releases: Arc<Found<Vec<ReleaseImage>>>) {
        let before = self.state.served();
        let made = tokio::task::spawn_blocking(move || {
            assemble(&files.content, &releases, before.as_deref())
        });
        match made.await {
            Ok(Ok(assembly)) => self.serve(assembly),
            Ok(Err(hold)) => self.hold(&hold),
            Err(error) => self.hold(&error),
        }
    }

    fn serve(&mut self, assembly: Assembly) {
        for file in &assembly.vanished {
            tracing::warn!(file, "file of a blocked edge removed, its updates may be available");
        }
        for quarantined in &assembly.quarantine {
            let reason = &quarantined.why;
            tracing::warn!(kind = ?quarantined.kind, reason, "input quarantined");
        }
        tracing::info!(digest = assembly.digest, "graph updated");
        self.status.held = None;
        self.status.quarantined.clone_from(&assembly.quarantine);
        self.status.graph = Some(GraphStatus {
            digest: assembly.digest.clone(),
            since: now(),
            confirmed: now(),
            counts: assembly.counts.clone(),
        });
        self.state.serve(assembly);
    }

    fn hold(&mut self, error: &(dyn std::error::Error + 'static)) {
        let why = fairway_text::chain(error);
        tracing::error!(error = why, "new data rejected, serving the previous graph");
        self.status.held = Some(why);
    }

    /// What is served is as old as the oldest look at the sources that it was made from.
    fn confirm(&mut self) {
        let read = self.status.sources.iter().filter_map(|source| source.read).min();
        if let (Some(graph), Some(read), None) = (&mut self.status.graph, read, &self.status.held) {
            graph.confirmed = read;
        }
    }
}
