//! The stage: starts the rollout of each new target, and hands over to the operator of another release.

use std::sync::Arc;
use std::time::Duration;

use fairway_api::{ClusterOperator, ClusterVersion};
use fairway_backoff::{Backoff, jittered};
use kube::{Client, ResourceExt as _};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::progress::ProgressPublisher;
use super::release_rollout::{ReleaseRollout, RolloutContext, Superseded};
use super::{Phase, Rollout};
use crate::apply::{Applier, Owner};
use crate::cluster::{InjectedConfig, Objects, only};
use crate::election::Leadership;
use crate::metrics;
use crate::stage::target::Target;
use crate::sync::any_changed;

/// Maximum time for writes in progress before the handover to the operator of another release.
const HANDOVER_GRACE_PERIOD: Duration = Duration::from_secs(10);

/// Inputs of the stage.
pub struct Inputs {
    /// Image of the operator's own release.
    pub own_image: String,
    /// The target release.
    pub target: watch::Receiver<Option<Arc<Target>>>,
    /// ClusterVersion; its history has the phase of the release.
    pub cluster_version: watch::Receiver<Option<Objects<ClusterVersion>>>,
    /// ClusterOperators.
    pub cluster_operators: watch::Receiver<Option<Objects<ClusterOperator>>>,
    /// Configuration that is injected into manifests.
    pub surroundings: watch::Receiver<Option<InjectedConfig>>,
}

/// Clients that the stage writes with.
pub struct RolloutWriters {
    /// Applies manifests.
    pub applier: Applier,
    /// Writes the status of ClusterOperators.
    pub client: Client,
    /// Lease of the leader; every write requires it.
    pub leadership: Leadership,
}

/// Rolls out the target and corrects drift. Cancels `superseded` when the operator of another release
/// continues: this operator must then release the Lease.
pub async fn run(
    mut inputs: Inputs,
    writers: RolloutWriters,
    retry: RetryPolicy,
    metrics: metrics::Rollout,
    superseded: CancellationToken,
    out: watch::Sender<Option<Arc<Rollout>>>,
) {
    let mut changes = writers.applier.changes();
    let shared = RolloutContext {
        own_image: inputs.own_image.clone(),
        operators: inputs.cluster_operators.clone(),
        surroundings: inputs.surroundings.clone(),
        publisher: ProgressPublisher::new(out, metrics.clone()),
        writers,
        retry,
        metrics,
    };
    let Some(mut assignment) = inputs.next(|_| true).await else { return };
    loop {
        let rollout = ReleaseRollout::new(&shared, &assignment);
        let next = tokio::select! {
            Superseded = rollout.run(&mut changes) => {
                tracing::info!("handing over to the operator of the new release");
                let drained = shared.writers.applier.drain();
                if timeout(HANDOVER_GRACE_PERIOD, drained).await.is_err() {
                    tracing::warn!("writes still pending at handover");
                }
                superseded.cancel();
                return std::future::pending().await;
            }
                        // This drops `rollout`, which only waits: writes run as tasks of the applier. `drain` below
                        // waits for them, so that no write of the old target overtakes one of the next.
            next = inputs.next(|next| !next.has_same_manifests(&assignment)) => next,
        };
        let Some(next) = next else { return };
        shared.writers.applier.drain().await;
        assignment = next;
    }
}

/// A target release, with the state of the cluster that its rollout depends on.
pub(super) struct Assignment {
    pub(super) target: Arc<Target>,
    pub(super) phase: Phase,
    pub(super) owner: Owner,
}

impl Assignment {
    /// The phase: of the published progress for the same release, otherwise of the history.
    pub(super) fn phase(&self, publisher: &ProgressPublisher) -> Phase {
        publisher.phase_of(&self.target.payload.release.image).unwrap_or(self.phase)
    }

    /// Whether both have the same manifests. A change of the injected configuration does not start
    /// over: the rollout in progress applies the affected manifests again.
    fn has_same_manifests(&self, other: &Self) -> bool {
        let parts = |assignment: &Self| {
            let Target { payload, filter, .. } = &*assignment.target;
            (payload.release.image.clone(), payload.version_hash.clone(), filter.clone())
        };
        self.owner == other.owner && parts(self) == parts(other)
    }
}

impl Inputs {
    /// Waits for the next assignment that `counts` selects; `None` when the inputs end.
    async fn next(&mut self, counts: impl Fn(&Assignment) -> bool) -> Option<Assignment> {
        loop {
            if let Some(assignment) = self.read().filter(&counts) {
                return Some(assignment);
            }
            let Self { target, cluster_version, cluster_operators, surroundings, .. } = self;
            if !any_changed!(target, cluster_version, cluster_operators, surroundings) {
                return None;
            }
        }
    }

    /// The current assignment; `None` until all inputs are known and the history has the release.
    fn read(&mut self) -> Option<Assignment> {
        let target = self.target.borrow_and_update().clone().filter(|target| target.is_read);
        let cluster_version = only(self.cluster_version.borrow_and_update().as_ref()).cloned();
        let operators_seen = self.cluster_operators.borrow_and_update().is_some();
        let surroundings_seen = self.surroundings.borrow_and_update().is_some();
        let all_seen = operators_seen && surroundings_seen;
        let (target, cluster_version) = (target?, cluster_version.filter(|_| all_seen)?);
        let history = cluster_version.status.as_ref().map_or(&[][..], |status| &status.history);
        let phase = Phase::from_history(history, &target.payload.release.image)?;
        let owner = Owner { uid: cluster_version.uid()? };
        Some(Assignment { target, phase, owner })
    }
}

/// Backoff of failed manifests, and when failures are reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Delay after the first failure; it doubles with each further one.
    pub first: Duration,
    /// Maximum delay.
    pub longest: Duration,
    /// Duration of failures before they are reported. Most errors are transient: during an
    /// installation, manifests are applied before the objects that they need.
    pub grace: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            // A missing prerequisite is usually created within a second.
            first: Duration::from_secs(1),
            // Maximum time until the operator notices a manual repair.
            longest: Duration::from_mins(3),
            grace: Duration::from_secs(15),
        }
    }
}

impl RetryPolicy {
    /// Delay after a number of consecutive failures. `jitter` is from 0 to 1 and spreads manifests
    /// that failed together.
    pub(super) fn delay(&self, failures: u32, jitter: f64) -> Duration {
        let backoff = Backoff { first: self.first, max: self.longest };
        jittered(backoff.after(failures), 0.2, jitter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pause_doubles_up_to_maximum() {
        let retry = RetryPolicy::default();
        let seconds = |failures, jitter| retry.delay(failures, jitter).as_secs_f64();
        let pauses: Vec<f64> = (1..11).map(|failures| seconds(failures, 0.0)).collect();
        assert_eq!(pauses, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 180.0, 180.0]);
        assert!((seconds(1, 1.0) - 1.2).abs() < 1e-9);
        assert!((seconds(u32::MAX, 7.0) - 216.0).abs() < 1e-9);
    }
}
