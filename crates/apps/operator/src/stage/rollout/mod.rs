//! The stage `rollout`: applies the manifests of the target release, and corrects drift afterwards.
//!
//! Each manifest is applied, and then waits for the next event of its object or ClusterOperator.
//! The stage does not poll. A failed manifest is requeued with backoff, while all manifests that do
//! not depend on it continue. An interrupted rollout starts again and finds most objects in the
//! desired state. [`Rollout`] is published as a whole: counts, phase and failures of the same time.
//!
//! | module | content |
//! | --- | --- |
//! | `run` | the loop of the stage: follows the target, and hands over to a new operator |
//! | `release_rollout` | rollout of one release in the order of its task graph |
//! | `reconcile` | reconciliation of one manifest |
//! | `cluster_operator` | ClusterOperators that a rollout waits for |
//! | `progress` | progress by manifest |
//! | [`summary`] | summaries of failures for conditions |

mod cluster_operator;
mod progress;
mod reconcile;
mod release_rollout;
mod run;
pub mod summary;

pub use run::{Inputs, RetryPolicy, RolloutWriters, run};

use fairway_api::cluster_version::{UpdateHistory, UpdateState};
use fairway_release::ObjectId;
use fairway_release::task_graph::RolloutMode;
use jiff::Timestamp;

use crate::stage::updates::same_content;

/// Snapshot of the rollout.
#[derive(Clone, Debug, PartialEq)]
pub struct Rollout {
    /// Image of the release.
    pub image: String,
    /// Phase of the rollout.
    pub phase: Phase,
    /// Number of reconciled manifests.
    pub done: usize,
    /// Number of selected manifests.
    pub total: usize,
    /// Failures that block the rollout, delay it, or are only reported.
    pub failures: Vec<Failure>,
    /// Objects of `delete` manifests that still exist.
    pub deleting: Vec<ObjectId>,
}

/// Phase of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The cluster gets its first release.
    Installing,
    /// The cluster updates from one release to another.
    Updating,
    /// The release is complete; the operator corrects drift.
    Reconciling,
}

/// Failure of a manifest or a ClusterOperator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Effect on the rollout.
    pub effect: Effect,
    /// A reason of [`fairway_api::reason::rollout`].
    pub reason: &'static str,
    /// Message of the condition.
    pub message: String,
    /// Name of the ClusterOperator; failures of several are merged.
    pub cluster_operator: Option<String>,
    /// Start of the failure.
    pub since: Timestamp,
}

/// Effect of a failure on the rollout, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Reported only; the rollout continues.
    Report,
    /// Waited for, as expected.
    Wait,
    /// Blocks the rollout.
    Fail,
}

impl Phase {
    /// The phase of a release; `None` until the history has its entry. The entry must exist before
    /// the first write, so that an operator that takes over after a crash continues the update.
    fn from_history(history: &[UpdateHistory], image: &str) -> Option<Self> {
        let newest = history.first().filter(|newest| same_content(&newest.image, image))?;
        Some(if newest.state == UpdateState::Completed {
            Self::Reconciling
        } else if history.iter().any(|entry| entry.state == UpdateState::Completed) {
            Self::Updating
        } else {
            Self::Installing
        })
    }

    /// Order of the manifests. All attempts count as the first: the requeue of one manifest does
    /// not start the others again.
    fn mode(self) -> RolloutMode {
        match self {
            Self::Installing => RolloutMode::Initializing,
            Self::Updating => RolloutMode::Updating,
            Self::Reconciling => RolloutMode::Reconciling { attempt: 0 },
        }
    }

    /// Whether later manifests of the task graph wait for this one. During an installation,
    /// workloads may need manifests after them. While reconciling, every manifest is on its own.
    fn blocks_later(self, id: &ObjectId) -> bool {
        let is_workload =
            id.group == "apps" && matches!(id.kind.as_str(), "Deployment" | "DaemonSet");
        match self {
            Self::Installing => !is_workload,
            Self::Updating => true,
            Self::Reconciling => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Entries = &'static [(&'static str, bool)];

    #[test]
    fn phase_follows_from_history() {
        let entry = |(image, is_completed): &(&str, bool)| UpdateHistory {
            image: format!("registry/{image}"),
            state: if *is_completed { UpdateState::Completed } else { UpdateState::Partial },
            ..UpdateHistory::default()
        };
        let cases: [(Entries, Option<Phase>); 8] = [
            (&[], None),
            (&[("a@1", false)], None),
            (&[("a@1", true)], None),
            (&[("a@1", false), ("b@2", true)], None),
            (&[("b@2", false)], Some(Phase::Installing)),
            (&[("b@2", false), ("a@1", false)], Some(Phase::Installing)),
            (&[("mirror@2", true), ("a@1", true)], Some(Phase::Reconciling)),
            (&[("b@2", false), ("a@1", false), ("b@2", true)], Some(Phase::Updating)),
        ];
        for (history, expected) in cases {
            let history: Vec<UpdateHistory> = history.iter().map(entry).collect();
            assert_eq!(Phase::from_history(&history, "registry/b@2"), expected, "{history:?}");
        }
    }
}
