//! `operators`: whether the parts of the platform are fit for an update.
//!
//! The check looks at ClusterOperators that are not available, for which the update would wait
//! (`ClusterOperatorsNotAvailable`), and at those that are degraded, for which it does not
//! (`ClusterOperatorsDegraded`, for information). Where the cluster has `MachineConfigPool`s, it looks
//! at those that are paused and would stay behind (`MachineConfigPoolsPaused`), that are degraded
//! (`MachineConfigPoolsDegraded`), or on their way (`MachineConfigPoolsUpdating`, for information).
//! The condition `Upgradeable` is left out: it is a risk of its own
//! (`ClusterOperatorUpgradeable-NAME`), with or without a preflight.

mod pool;

use fairway_api::reason::cluster_operator::{available, degraded};
use fairway_api::{ClusterOperator, ConditionStatus, Conditions as _};
use fairway_findings::Finding;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;

use self::pool::Pool;
use crate::check::{Answer, BuiltIn, CannotTell};
use crate::cluster::{Cluster, Resource, Unseen};
use crate::resources::{CLUSTER_OPERATORS, MACHINE_CONFIG_POOLS};
use crate::target::Target;
use crate::wording::{are, explained, said};

/// Whether the parts of the platform are fit for an update.
pub(crate) struct Operators;

impl BuiltIn for Operators {
    fn name(&self) -> &'static str {
        "operators"
    }

    fn looks_at(&self) -> &[Resource] {
        &[CLUSTER_OPERATORS, MACHINE_CONFIG_POOLS]
    }

    fn run<'a>(
        &'a self,
        cluster: &'a Cluster,
        _target: &'a Target,
    ) -> BoxFuture<'a, Result<Answer, CannotTell>> {
        look(cluster).boxed()
    }
}

async fn look(cluster: &Cluster) -> Result<Answer, CannotTell> {
    let operators: Vec<ClusterOperator> = cluster.all().await?;
    let pools = pools(cluster).await?;
    Ok(judge(&operators, &pools).into())
}

/// All pools; a cluster without the kind has none.
async fn pools(cluster: &Cluster) -> Result<Vec<Pool>, Unseen> {
    let mut pools = Vec::new();
    let take = |object| pools.push(Pool::read(&object));
    match cluster.each_of(&MACHINE_CONFIG_POOLS.into(), take).await {
        Ok(()) | Err(Unseen::NotServed(_)) => Ok(pools),
        Err(unseen) => Err(unseen),
    }
}

fn judge(operators: &[ClusterOperator], pools: &[Pool]) -> Vec<Finding> {
    let found = [not_available(operators), in_trouble(operators)];
    found.into_iter().flatten().chain(pool::findings(pools)).collect()
}

/// The operators whose condition has, or lacks, a status, each with what it says about it.
fn saying(
    operators: &[ClusterOperator],
    type_: &str,
    counts: impl Fn(Option<&ConditionStatus>) -> bool,
) -> Vec<(String, String)> {
    let told = operators.iter().filter_map(|operator| {
        let condition = operator.status.as_ref().and_then(|status| status.conditions.find(type_));
        counts(condition.map(|condition| &condition.status))
            .then(|| (operator.name_any(), said(condition.and_then(|it| it.message.as_deref()))))
    });
    told.collect()
}

fn not_available(operators: &[ClusterOperator]) -> Option<Finding> {
    let found = saying(operators, available::TYPE, |it| it != Some(&ConditionStatus::True));
    let (first, _) = found.first()?;
    let message = format!(
        "{} not available, and the update would wait for availability: {}.",
        are(found.len(), "cluster operator"),
        explained(&found),
    );
    let remediation =
        format!("Resolve the cause before the update: `kubectl describe clusteroperator {first}`.");
    Some(Finding::critical("ClusterOperatorsNotAvailable", message).remediation(remediation))
}

fn in_trouble(operators: &[ClusterOperator]) -> Option<Finding> {
    let found = saying(operators, degraded::TYPE, |it| it == Some(&ConditionStatus::True));
    let (first, _) = found.first()?;
    let message = format!(
        "{} degraded, which does not block the update: {}.",
        are(found.len(), "cluster operator"),
        explained(&found),
    );
    let remediation = format!("Find the cause: `kubectl describe clusteroperator {first}`.");
    Some(Finding::info("ClusterOperatorsDegraded", message).remediation(remediation))
}

#[cfg(test)]
mod tests;
