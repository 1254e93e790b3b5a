//! A cluster that can be asked.

use fairway_api::ClusterOperator;
use fairway_insight::objects::{Deployment, MachineConfig, MachineConfigPool, Node};
use fairway_insight::{Alerts, Cluster};
use futures::try_join;

use super::Outlook;
use crate::cluster::listing::Wanted;

/// The Deployment of the operator that configures nodes, and its container.
const NODE_OPERATOR: &str = "machine-config-operator";

/// Where components say how they are.
const COMPONENTS: &str = "/apis/config.openshift.io/v1/clusteroperators";

/// Everything that is told about an update, but the alerts.
pub(in super::super) async fn cluster(from: &crate::cluster::Cluster) -> anyhow::Result<Cluster> {
    let deployment = format!(
        "/apis/apps/v1/namespaces/openshift-machine-config-operator/deployments/{NODE_OPERATOR}"
    );
    let (version, operators, pools, nodes, configs, deployment) = try_join!(
        from.cluster_version(),
        from.every::<ClusterOperator>(COMPONENTS, Wanted::All),
        from.every::<MachineConfigPool>(
            "/apis/machineconfiguration.openshift.io/v1/machineconfigpools",
            Wanted::All
        ),
        from.every::<Node>("/api/v1/nodes", Wanted::All),
        from.every::<MachineConfig>(
            "/apis/machineconfiguration.openshift.io/v1/machineconfigs",
            Wanted::Metadata
        ),
        from.one::<Deployment>(&deployment),
    )?;
    Ok(Cluster {
        version,
        operators: operators.unwrap_or_default(),
        pools: pools.unwrap_or_default(),
        configs: configs.unwrap_or_default(),
        nodes: nodes.unwrap_or_default(),
        node_operator_image: deployment.and_then(node_operator_image),
        alerts: Alerts::NoMonitoring,
    })
}

/// What tells which updates there are.
pub(in super::super) async fn outlook(from: &crate::cluster::Cluster) -> anyhow::Result<Outlook> {
    let alerts = async { Ok(from.alerts().await) };
    let (version, components, alerts) =
        try_join!(from.cluster_version(), components(from), alerts)?;
    Ok(Outlook { version, components, alerts })
}

/// What components say about themselves. Updates can be told without it, so whoever may not look at
/// them goes without.
pub(in super::super) async fn components(
    from: &crate::cluster::Cluster,
) -> anyhow::Result<Vec<ClusterOperator>> {
    let components = from.every::<ClusterOperator>(COMPONENTS, Wanted::All).await;
    Ok(components.ok().flatten().unwrap_or_default())
}

pub(super) fn node_operator_image(deployment: Deployment) -> Option<String> {
    deployment.image_of(NODE_OPERATOR)
}
