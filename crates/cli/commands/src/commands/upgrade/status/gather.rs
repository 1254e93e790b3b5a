//! What is looked at to tell how an update goes.

use fairway_insight::objects::Deployment;
use fairway_insight::{Alerts, Cluster};
use futures::join;

use crate::cluster::kind::{
    CLUSTER_OPERATORS, DEPLOYMENTS, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS, NODES,
};
use crate::source::Source;

/// Where the operator runs that configures nodes.
const NODE_OPERATOR_NAMESPACE: &str = "openshift-machine-config-operator";

/// Its Deployment, and its container.
const NODE_OPERATOR: &str = "machine-config-operator";

/// Everything that is told about an update. Alerts are asked for by whoever tells them.
pub(super) async fn cluster(source: &Source) -> anyhow::Result<Cluster> {
    let (version, operators, pools, nodes, configs, deployment) = join!(
        source.cluster_version(),
        source.needed(&CLUSTER_OPERATORS),
        source.every(MACHINE_CONFIG_POOLS.all()),
        source.every(NODES.all()),
        source.every(MACHINE_CONFIGS.all().metadata()),
        source.one::<Deployment>(DEPLOYMENTS.all().within(NODE_OPERATOR_NAMESPACE), NODE_OPERATOR),
    );
    // Of several things that cannot be read, the first one is told, whichever was refused first.
    Ok(Cluster {
        version: version?,
        operators: operators?,
        pools: pools?.unwrap_or_default(),
        configs: configs?.unwrap_or_default(),
        nodes: nodes?.unwrap_or_default(),
        node_operator_image: deployment?.and_then(|found| found.image_of(NODE_OPERATOR)),
        alerts: match source {
            Source::Live(_) => Alerts::NoMonitoring,
            Source::Recorded(recording) => recording.alerts(),
        },
    })
}
