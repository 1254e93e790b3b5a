//! What an update is doing: how far it is, how well it goes, and what it waits for.

mod control_plane;
mod estimate;
mod health;
mod nodes;
mod operators;
mod pools;
mod request;
mod waits;
mod way;

use fairway_api::reason::progressing;
use fairway_api::{ClusterVersionStatus, ConditionStatus, Conditions as _};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

pub use control_plane::{Assessment, Completed, ControlPlane, Health, OperatorCounts, Updating};
pub use estimate::{Doubt, Estimate};
pub use health::{Impact, Insight, Level};
pub use nodes::{NodeAssessment, NodeStatus, Phase};
pub use pools::{NodeCounts, PoolAssessment, PoolStatus};
pub use request::{Request, has_architecture};
pub use waits::{PendingResource, PendingResourceKind};
pub use way::{Change, Way};

use crate::age::{Span, rounded, time};
use crate::alerts::AlertAvailability;
use crate::cluster::{Cluster, Moment};

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
    pub requested: Option<Request>,
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

/// Why nothing can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Untold {
    /// Nobody says whether the cluster is updating.
    #[error("ClusterVersion has no condition Progressing, so the state of the update is unknown")]
    Progress,
    /// No component says anything.
    #[error("the cluster has no ClusterOperators, so the progress of the update is unknown")]
    Operators,
}

impl Status {
    /// What a cluster says about its update.
    pub fn of(cluster: &Cluster, moment: Moment) -> Result<Self, Untold> {
        let nothing = ClusterVersionStatus::default();
        let status = cluster.version.status.as_ref().unwrap_or(&nothing);
        if cluster.operators.is_empty() {
            return Err(Untold::Operators);
        }
        let progress = status.conditions.find(progressing::TYPE).ok_or(Untold::Progress)?;
        let (masters, workers) = pools::of(cluster, moment);
        let lagging = |pool: &pools::Pool| !pool.nodes.is_empty() && !pool.is_done();
        let updating = progress.status == ConditionStatus::True || workers.iter().any(lagging);
        let requested = request::of(&cluster.version, status, moment.now());
        let alerts = cluster.alerts.known();
        let reached = control_plane::reached(status);
        if !updating {
            let pending_resources = requested.iter().map(waits::for_request).collect();
            let idle = Self::idle(moment.now(), requested, pending_resources, alerts);
            return Ok(Self { last_completed_update: reached, ..idle });
        }

        let operators = operators::of(cluster, status);
        let control_plane = control_plane::of(status, &operators, masters.as_ref(), moment.now());
        let began = status.history.first().and_then(|entry| time(entry.started_time.as_ref()));
        let began = began.or_else(|| time(progress.last_transition_time.as_ref()));
        let pools: Vec<&pools::Pool> = masters.iter().chain(&workers).collect();
        let scene = health::Scene { cluster, status, operators: &operators, pools: &pools, began };
        let insights = health::insights(&scene, &control_plane, moment.now());
        let control_plane = control_plane.doubted(&insights);
        let pending_resources =
            waits::of(requested.as_ref(), &operators, &pools, status, progress, moment.now());
        let shown = masters.into_iter().filter(|pool| !pool.is_done()).chain(workers.clone());
        let any_worker = workers.iter().any(|pool| !pool.nodes.is_empty());
        Ok(Self {
            observation_time: moment.now(),
            updating,
            requested,
            last_completed_update: reached,
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
        requested: Option<Request>,
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

    /// For how long nothing has changed in the control plane, where that is longer than any
    /// component takes.
    pub fn quiet_for(&self) -> Option<Span> {
        let Some(ControlPlane::Updating(updating)) = &self.control_plane else { return None };
        let since = updating.last_progress_at.or(updating.started_at)?;
        let quiet = self.observation_time.duration_since(since);
        (quiet > estimate::QUIET).then(|| Span(rounded(quiet)))
    }

    /// Whether something stands in the way: the update is stalled, or about to be, or an API is
    /// not what it should be.
    pub fn is_in_trouble(&self) -> bool {
        let stalled = self.control_plane.as_ref().is_some_and(ControlPlane::is_stalled);
        let refused = self.requested.as_ref().is_some_and(|request| request.refused);
        stalled || refused || self.insights.iter().any(Insight::is_trouble)
    }
}

#[cfg(test)]
pub(crate) mod tests;
