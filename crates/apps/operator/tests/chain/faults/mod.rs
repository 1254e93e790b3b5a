//! Failures of the dependencies of the operator. Status and metrics report them, and the operator
//! recovers without a restart.

mod api_server;
mod dependencies;
mod load;
mod stale;

use anyhow::Result;
use fairway_api::cluster_version::{ClusterVersionStatus, UpdateState};
use fairway_api::reason::progressing;
use fairway_api::{ConditionStatus, Conditions as _};

use crate::fault_proxy::FaultProxy;
use crate::support::{CHANNEL, Graph, OperatedCluster, reason, recommended};
use crate::telemetry::Telemetry;

/// A cluster at 5.1.0 with its dependencies. 5.1.2 has a risk that applies, 5.1.3 one that does not.
pub(crate) struct TestSetup {
    pub(crate) operated: OperatedCluster,
    pub(crate) telemetry: Telemetry,
    /// In front of the update service.
    pub(crate) updates: FaultProxy,
    _graph: Graph,
}

/// The metrics of the cluster.
pub(crate) const SAMPLES: &str = "risk_one 1\nrisk_two 0\n";

impl TestSetup {
    pub(crate) async fn new() -> Result<Self> {
        let risks = [("5.1.2", "RiskOne", "risk_one"), ("5.1.3", "RiskTwo", "risk_two")];
        Self::with(&["5.1.0", "5.1.1", "5.1.2", "5.1.3"], &risks).await
    }

    /// With other versions and risks.
    pub(crate) async fn with(versions: &[&str], risks: &[(&str, &str, &str)]) -> Result<Self> {
        let graph = Graph::with_risks(versions, risks).await?;
        let updates = FaultProxy::before(graph.url()).await?;
        let telemetry = Telemetry::of(SAMPLES).await?;
        let operated =
            OperatedCluster::new("5.1.0", CHANNEL, &updates.url(), telemetry.source()?).await?;
        Ok(Self { operated, telemetry, updates, _graph: graph })
    }

    /// Waits until everything is evaluated.
    pub(crate) async fn settled(&self) -> Result<ClusterVersionStatus> {
        self.operated.status("both risks to be decided", is_settled).await
    }
}

pub(crate) fn is_settled(status: &ClusterVersionStatus) -> bool {
    let is = |version, expected| {
        recommended(status, version).is_some_and(|condition| condition.status == expected)
    };
    is("5.1.2", ConditionStatus::False) && is("5.1.3", ConditionStatus::True)
}

/// Whether the release is complete, and the risk of the rollout is gone, which a later write removes.
pub(crate) fn is_complete(status: &ClusterVersionStatus) -> bool {
    let newest = status.history.first();
    newest.is_some_and(|entry| entry.state == UpdateState::Completed)
        && status.conditions.is_false(progressing::TYPE)
        && reason(status, "Upgradeable") != "ClusterVersionUpdating"
}
