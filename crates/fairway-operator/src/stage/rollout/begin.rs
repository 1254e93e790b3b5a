//! Where a release begins.

use std::collections::BTreeSet;
use std::pin::pin;
use std::time::Duration;

use fairway_api::cluster_version::Release;
use fairway_release::task_graph::Task;
use futures::stream::{FuturesUnordered, StreamExt as _};
use tokio::time::Instant;

use super::Effect;
use super::progress::Progress;
use super::work::Work;
use crate::clock;

/// An API server that restarts answers again by then. Whatever is not known after that has its turn
/// later; only the count begins lower.
const PATIENCE: Duration = Duration::from_mins(1);

impl Work<'_> {
    /// Publishes where the release begins. What is known of it stays, whatever else has changed; of
    /// a release that nobody has worked on since the operator started, the objects tell.
    pub(super) async fn begin(&self) {
        let Release { version, image, .. } = &self.assignment.target.payload.release;
        let is_new = self.site.board.phase_of(image).is_none();
        let found = if is_new { self.survey().await } else { BTreeSet::new() };
        self.site.metrics.begin(version);
        self.site.board.change(|progress| {
            if is_new {
                *progress = Progress::new(image.clone(), self.assignment.phase);
            }
            progress.want(self.wanted());
            for position in &found {
                progress.reached(*position, None);
            }
        });
        let (phase, found) = (self.phase(), found.len());
        tracing::info!(version, image, ?phase, found, "a release begins");
    }

    /// The manifests whose objects are in place already.
    async fn survey(&self) -> BTreeSet<usize> {
        let wanted = self.tasks().filter(|task| self.places[task.position].is_wanted);
        let mut looks: FuturesUnordered<_> = wanted.map(|task| self.found(task)).collect();
        let mut patience = pin!(clock::sleep_until(Some(Instant::now() + PATIENCE)));
        let mut found = BTreeSet::new();
        loop {
            tokio::select! {
                look = looks.next() => match look {
                    Some(position) => found.extend(position),
                    None => return found,
                },
                () = &mut patience => return found,
            }
        }
    }

    /// The place of a manifest whose object is as it should be, and does what it should.
    async fn found(&self, task: &Task) -> Option<usize> {
        let _permit = self.permits.acquire().await;
        let manifest = &self.manifests()[task.position];
        let found = self.site.hands.applier.look(manifest, &self.context()).await.ok()??;
        let trouble = self.trouble(task, &found);
        trouble.is_none_or(|trouble| trouble.effect == Effect::Report).then_some(task.position)
    }
}
