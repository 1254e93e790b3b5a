//! Following the target.

use std::sync::Arc;
use std::time::Duration;

use fairway_api::{ClusterOperator, ClusterVersion};
use kube::{Client, ResourceExt as _};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::board::Board;
use super::work::{Site, Superseded, Work};
use super::{Pace, Phase, Rollout};
use crate::apply::{Applier, Owner};
use crate::cluster::{Objects, Surroundings, only};
use crate::election::Leadership;
use crate::metrics;
use crate::stage::target::Target;

/// For how long the operator of another release is kept waiting for writes that have begun.
const HANDOVER_GRACE_PERIOD: Duration = Duration::from_secs(10);

/// What the stage looks at.
pub struct Inputs {
    /// The image of the operator's own release.
    pub own_image: String,
    /// Which release the cluster is to have.
    pub target: watch::Receiver<Option<Arc<Target>>>,
    /// The ClusterVersion: its history says what was begun.
    pub cluster_version: watch::Receiver<Option<Objects<ClusterVersion>>>,
    /// What components say about themselves.
    pub cluster_operators: watch::Receiver<Option<Objects<ClusterOperator>>>,
    /// What manifests can ask for.
    pub surroundings: watch::Receiver<Option<Surroundings>>,
}

/// What the stage writes with.
pub struct Hands {
    /// For objects of releases.
    pub applier: Applier,
    /// For what releases say besides.
    pub client: Client,
    /// The right to write.
    pub leadership: Leadership,
}

/// Brings the target into the cluster and keeps it there. `superseded` is cancelled when the
/// operator of another release is to go on: this one has to give up the lease.
pub async fn run(
    mut inputs: Inputs,
    hands: Hands,
    pace: Pace,
    metrics: metrics::Rollout,
    superseded: CancellationToken,
    out: watch::Sender<Option<Arc<Rollout>>>,
) {
    let mut changes = hands.applier.changes();
    let site = Site {
        own_image: inputs.own_image.clone(),
        operators: inputs.cluster_operators.clone(),
        surroundings: inputs.surroundings.clone(),
        board: Board::new(out, metrics.clone()),
        hands,
        pace,
        metrics,
    };
    let Some(mut assignment) = inputs.next(|_| true).await else { return };
    loop {
        let work = Work::new(&site, &assignment);
        let next = tokio::select! {
            Superseded = work.run(&mut changes) => {
                tracing::info!("handing over to the operator of the new release");
                let drained = site.hands.applier.drain();
                if timeout(HANDOVER_GRACE_PERIOD, drained).await.is_err() {
                    tracing::warn!("writes still pending at handover");
                }
                superseded.cancel();
                return std::future::pending().await;
            }
            // Only the waiting is cancelled. Writes that have begun are answered before the next
            // assignment starts, so that none of them can overtake a newer one.
            next = inputs.next(|next| !next.is_same_work(&assignment)) => next,
        };
        let Some(next) = next else { return };
        site.hands.applier.drain().await;
        assignment = next;
    }
}

/// A release that is to be in the cluster.
pub(super) struct Assignment {
    pub(super) target: Arc<Target>,
    pub(super) phase: Phase,
    pub(super) owner: Owner,
}

impl Assignment {
    /// What is being done: as the history had it, until everything was in place.
    pub(super) fn phase_on(&self, board: &Board) -> Phase {
        board.phase_of(&self.target.payload.release.image).unwrap_or(self.phase)
    }

    /// Whether it is about the same manifests. Surroundings that change concern a few of them, and
    /// the work in progress applies those again.
    fn is_same_work(&self, other: &Self) -> bool {
        let parts = |assignment: &Self| {
            let Target { payload, filter, .. } = &*assignment.target;
            (payload.release.image.clone(), payload.version_hash.clone(), filter.clone())
        };
        self.owner == other.owner && parts(self) == parts(other)
    }
}

impl Inputs {
    /// Waits for the next assignment that counts; nothing when the inputs end.
    async fn next(&mut self, counts: impl Fn(&Assignment) -> bool) -> Option<Assignment> {
        loop {
            if let Some(assignment) = self.look().filter(&counts) {
                return Some(assignment);
            }
            let Self { target, cluster_version, cluster_operators, surroundings, .. } = self;
            let changed = tokio::select! {
                changed = target.changed() => changed,
                changed = cluster_version.changed() => changed,
                changed = cluster_operators.changed() => changed,
                changed = surroundings.changed() => changed,
            };
            changed.ok()?;
        }
    }

    /// The target, once everything is known and the history says that it was begun.
    fn look(&mut self) -> Option<Assignment> {
        let target = self.target.borrow_and_update().clone().filter(|target| target.is_read);
        let cluster_version = only(self.cluster_version.borrow_and_update().as_ref()).cloned();
        let operators_seen = self.cluster_operators.borrow_and_update().is_some();
        let surroundings_seen = self.surroundings.borrow_and_update().is_some();
        let all_seen = operators_seen && surroundings_seen;
        let (target, cluster_version) = (target?, cluster_version.filter(|_| all_seen)?);
        let history = cluster_version.status.as_ref().map_or(&[][..], |status| &status.history);
        let phase = Phase::of(history, &target.payload.release.image)?;
        let owner = Owner { uid: cluster_version.uid()? };
        Some(Assignment { target, phase, owner })
    }
}
