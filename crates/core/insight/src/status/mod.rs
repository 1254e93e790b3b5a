//! Status of an update: progress, problems, and resources that it waits for.
//!
//! | module | content |
//! | --- | --- |
//! | `control_plane` | progress and versions of the control plane |
//! | `operators` | components of the platform, and whether they have the release |
//! | `estimate` | remaining time, and doubts about the estimate |
//! | `nodes` | version, phase and availability of one node |
//! | `pools` | pools of nodes and their progress |
//! | `health` | problems that affect the update |
//! | `pending` | resources that the update waits for |

mod control_plane;
mod estimate;
mod health;
mod nodes;
mod operators;
mod pending;
mod pools;

use fairway_api::reason::progressing;
use fairway_api::{ClusterVersionStatus, ConditionStatus, Conditions as _};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

pub use control_plane::{
    Assessment, Change, Completed, ControlPlane, Health, OperatorCounts, Updating, VersionChange,
};
pub use estimate::{Doubt, Estimate};
pub use health::{Impact, Insight, Level};
pub use nodes::{NodeAssessment, NodeStatus, Phase};
pub use pending::{PendingResource, PendingResourceKind};
pub use pools::{NodeCounts, PoolAssessment, PoolStatus};

use crate::alerts::AlertAvailability;
use crate::cluster::{ClusterObjects, ObservationTime};
use crate::request::PendingRequest;
use crate::text::{DurationText, rounded, time};

/// Status of an update.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Time at which the cluster was observed.
    #[schemars(with = "String")]
    pub observation_time: Timestamp,
    /// Whether the control plane or a node is updating.
    pub updating: bool,
    /// Requested release whose rollout has not started.
    pub requested: Option<PendingRequest>,
    /// Latest completed update, if no later update was started.
    pub last_completed_update: Option<Completed>,
    /// Control plane, `null` if there is no update in progress.
    pub control_plane: Option<ControlPlane>,
    /// Pools of worker nodes. Empty if no pool has a node.
    pub pools: Vec<PoolStatus>,
    /// Nodes of pools, the most urgent first. Control plane nodes are left out once all of them are
    /// updated.
    pub nodes: Vec<NodeStatus>,
    /// Problems that affect the update, the most severe first.
    pub insights: Vec<Insight>,
    /// Resources that the update waits for.
    pub pending_resources: Vec<PendingResource>,
    /// Whether the alerts of the cluster are available.
    pub alerts: AlertAvailability,
}

/// Why a cluster has no status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatusError {
    /// ClusterVersion has no condition `Progressing`.
    #[error("ClusterVersion has no condition Progressing, so the state of the update is unknown")]
    Progress,
    /// The cluster has no ClusterOperators.
    #[error("the cluster has no ClusterOperators, so the progress of the update is unknown")]
    Operators,
}

impl Status {
    /// Status of the update of a cluster.
    pub fn of(cluster: &ClusterObjects, observation: ObservationTime) -> Result<Self, StatusError> {
        let nothing = ClusterVersionStatus::default();
        let status = cluster.version.status.as_ref().unwrap_or(&nothing);
        if cluster.operators.is_empty() {
            return Err(StatusError::Operators);
        }
        let progress = status.conditions.find(progressing::TYPE).ok_or(StatusError::Progress)?;
        let (masters, workers) = pools::of(cluster, observation);
        let is_outdated = |pool: &pools::Pool| !pool.nodes.is_empty() && !pool.is_done();
        let updating = progress.status == ConditionStatus::True || workers.iter().any(is_outdated);
        let requested = PendingRequest::of(&cluster.version, observation.now());
        let alerts = cluster.alerts.known();
        let completed = control_plane::completed(status);
        if !updating {
            let pending_resources = requested.iter().map(pending::for_request).collect();
            let idle = Self::idle(observation.now(), requested, pending_resources, alerts);
            return Ok(Self { last_completed_update: completed, ..idle });
        }

        let operators = operators::of(cluster, status);
        let control_plane =
            control_plane::of(status, &operators, masters.as_ref(), observation.now());
        let started = status.history.first().and_then(|entry| time(entry.started_time.as_ref()));
        let started = started.or_else(|| time(progress.last_transition_time.as_ref()));
        let pools: Vec<&pools::Pool> = masters.iter().chain(&workers).collect();
        let context = health::InsightContext {
            cluster,
            status,
            operators: &operators,
            pools: &pools,
            started,
        };
        let insights = health::insights(&context, &control_plane, observation.now());
        let control_plane = control_plane.with_doubts(&insights);
        let pending_resources = pending::of(
            requested.as_ref(),
            &operators,
            &pools,
            status,
            progress,
            observation.now(),
        );
        let shown = masters.into_iter().filter(|pool| !pool.is_done()).chain(workers.clone());
        let any_worker = workers.iter().any(|pool| !pool.nodes.is_empty());
        Ok(Self {
            observation_time: observation.now(),
            updating,
            requested,
            last_completed_update: completed,
            control_plane: Some(control_plane),
            nodes: shown.flat_map(|pool| pool.nodes).map(|node| node.status).collect(),
            pools: workers.iter().filter(|_| any_worker).map(pools::Pool::status).collect(),
            insights,
            pending_resources,
            alerts,
        })
    }

    fn idle(
        at: Timestamp,
        requested: Option<PendingRequest>,
        pending_resources: Vec<PendingResource>,
        alerts: AlertAvailability,
    ) -> Self {
        Self {
            observation_time: at,
            updating: false,
            requested,
            last_completed_update: None,
            control_plane: None,
            pools: Vec::new(),
            nodes: Vec::new(),
            insights: Vec::new(),
            pending_resources,
            alerts,
        }
    }

    /// Time without progress of the control plane, if it is longer than any component takes.
    pub fn quiet_for(&self) -> Option<DurationText> {
        let Some(ControlPlane::Updating(updating)) = &self.control_plane else { return None };
        let since = updating.last_progress_at.or(updating.started_at)?;
        let quiet = self.observation_time.duration_since(since);
        (quiet > estimate::QUIET_THRESHOLD).then(|| DurationText(rounded(quiet)))
    }

    /// Whether the update is stalled or refused, or has a problem that needs an administrator.
    pub fn has_problems(&self) -> bool {
        let stalled = self.control_plane.as_ref().is_some_and(ControlPlane::is_stalled);
        let refused = self.requested.as_ref().is_some_and(|request| request.refused);
        stalled || refused || self.insights.iter().any(Insight::is_problem)
    }
}

#[cfg(test)]
pub(crate) mod tests;
