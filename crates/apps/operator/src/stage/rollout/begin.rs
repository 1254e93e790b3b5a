//! Where a release begins.

use std::pin::pin;
use std::time::Duration;

use fairway_api::cluster_version::Release;
use fairway_release::task_graph::Task;
use futures::stream::{self, StreamExt as _};
use tokio::time::Instant;

use super::progress::Progress;
use super::work::Work;
use super::{Effect, Failure, Phase};
use crate::payload::Payload;

/// An API server that restarts answers again by then. Whatever is not known after that has its turn
/// later; only the count begins lower.
const PATIENCE: Duration = Duration::from_mins(1);

/// Objects that are looked at together: the first of each kind begins a watch, which is a long list.
const LOOKS_AT_ONCE: usize = 16;

impl Work<'_> {
    /// Publishes where the release begins. What is known of its manifests stays, whatever else has
    /// changed; of those that nobody has worked on since the operator started, the objects tell.
    pub(super) async fn begin(&self) {
        let Payload { release, version_hash, .. } = &*self.assignment.target.payload;
        let Release { version, image, .. } = release;
        let is_new = !self.site.board.is_about(image, version_hash);
        let phase = self.phase();
        let found = if is_new { self.survey().await } else { Vec::new() };
        let count = found.len();
        self.site.metrics.begin(version);
        self.site.board.change(|progress| {
            if is_new {
                *progress = Progress::new(image.clone(), version_hash.clone(), phase);
            }
            progress.want(self.wanted());
            for (position, trouble) in found {
                match trouble {
                    Some(trouble) if !is_only_told(&trouble) => progress.note(position, trouble),
                    told => progress.reached(position, told),
                }
            }
        });
        tracing::info!(version, image, ?phase, found = count, "rollout started");
    }

    /// What is known of manifests without doing anything: those whose objects are in place already,
    /// and what is wrong with others that were.
    async fn survey(&self) -> Vec<Found> {
        let wanted = self.tasks().filter(|task| self.places[task.position].is_wanted);
        let looks = wanted.map(|task| self.found(task)).collect::<Vec<_>>();
        let mut looks = stream::iter(looks).buffer_unordered(LOOKS_AT_ONCE);
        let mut patience = pin!(fairway_clock::sleep_until(Some(Instant::now() + PATIENCE)));
        let mut found = Vec::new();
        loop {
            tokio::select! {
                look = looks.next() => match look {
                    Some(look) => found.extend(look),
                    None => return found,
                },
                () = &mut patience => return found,
            }
        }
    }

    /// What is wrong with an object that is there counts only where everything was in place once:
    /// a restart must not take back what was told. Otherwise its turn may be still to come.
    async fn found(&self, task: &Task) -> Option<Found> {
        let manifest = &self.manifests()[task.position];
        let found = self.site.hands.applier.look(manifest, &self.context()).await.ok()??;
        let trouble = self.trouble(task, &found);
        let counts =
            trouble.as_ref().is_none_or(is_only_told) || self.phase() == Phase::Reconciling;
        counts.then_some((task.position, trouble))
    }
}

/// The place of a manifest, and what is wrong with its object.
type Found = (usize, Option<Failure>);

fn is_only_told(trouble: &Failure) -> bool {
    trouble.effect == Effect::Report
}
