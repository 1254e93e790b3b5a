//! `nodes`: whether the nodes are fit for an update.
//!
//! The check looks at nodes that are not ready, on which the update does not come to its end
//! (`NodesNotReady`); at those short of disk, memory or process ids (`NodesUnderPressure`); and at
//! those that take no pods (`NodesUnschedulable`, for information). It adds up what pods ask for:
//! where the pods of one node find no room on the others, they do not run while that node is
//! updated (`NodesShortOfRoom`). That sum is in favour of the cluster: only what fits nowhere, however
//! it is put, is reported. Nodes with taints are left out of it, for the same reason.

mod room;

use fairway_findings::Finding;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{Node, NodeCondition, Pod};
use kube::ResourceExt;

use self::room::Rooms;
use crate::check::{Answer, BuiltIn, CannotTell};
use crate::cluster::{Cluster, Resource};
use crate::resources::{NODES, PODS};
use crate::target::Target;
use crate::wording::{are, explained, listed, said};

/// What nodes say when they are short of something.
const PRESSURES: [&str; 3] = ["DiskPressure", "MemoryPressure", "PIDPressure"];

/// Whether the nodes are fit for an update.
pub(crate) struct Nodes;

impl BuiltIn for Nodes {
    fn name(&self) -> &'static str {
        "nodes"
    }

    fn looks_at(&self) -> &[Resource] {
        &[NODES, PODS]
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
    let nodes: Vec<Node> = cluster.all().await?;
    if nodes.is_empty() {
        return Err(CannotTell::NotKnown("the cluster has no nodes".to_owned()));
    }
    let mut rooms = Rooms::of(&nodes);
    cluster.each(|pod: Pod| rooms.add(&pod)).await?;
    Ok(judge(&nodes, &rooms).into())
}

fn judge(nodes: &[Node], rooms: &Rooms) -> Vec<Finding> {
    let found = [not_ready(nodes), under_pressure(nodes), rooms.short(), unschedulable(nodes)];
    found.into_iter().flatten().collect()
}

fn condition<'a>(node: &'a Node, type_: &str) -> Option<&'a NodeCondition> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether the node says that it does its work.
fn is_ready(node: &Node) -> bool {
    condition(node, "Ready").is_some_and(|ready| ready.status == "True")
}

/// Whether the node takes pods that come from elsewhere.
fn is_schedulable(node: &Node) -> bool {
    node.spec.as_ref().is_none_or(|spec| spec.unschedulable != Some(true))
}

fn not_ready(nodes: &[Node]) -> Option<Finding> {
    let not_ready = nodes.iter().filter(|node| !is_ready(node)).map(|node| {
        let ready = condition(node, "Ready");
        (node.name_any(), said(ready.and_then(|ready| ready.message.as_deref())))
    });
    let found: Vec<(String, String)> = not_ready.collect();
    let (first, _) = found.first()?;
    let message = format!(
        "{} not ready, and the update cannot complete on such a node: {}.",
        are(found.len(), "node"),
        explained(&found),
    );
    let remediation = format!(
        "Repair or remove the node: `kubectl describe node {first}`, `kubectl delete node {first}`."
    );
    Some(Finding::critical("NodesNotReady", message).remediation(remediation))
}

fn under_pressure(nodes: &[Node]) -> Option<Finding> {
    let holds = |node: &Node, type_: &str| {
        condition(node, type_).is_some_and(|condition| condition.status == "True")
    };
    let told = |node: &Node| {
        let pressures: Vec<&str> =
            PRESSURES.into_iter().filter(|type_| holds(node, type_)).collect();
        (!pressures.is_empty()).then(|| (node.name_any(), pressures.join(", ")))
    };
    let pressed: Vec<(String, String)> = nodes.iter().filter_map(told).collect();
    let (first, _) = pressed.first()?;
    let message = format!(
        "{} under resource pressure. An update temporarily needs more resources, and the kubelet \
         may evict platform pods: {}.",
        are(pressed.len(), "node"),
        explained(&pressed),
    );
    let remediation =
        format!("Free the resource that the node reports: `kubectl describe node {first}`.");
    Some(Finding::warning("NodesUnderPressure", message).remediation(remediation))
}

fn unschedulable(nodes: &[Node]) -> Option<Finding> {
    let names: Vec<String> =
        nodes.iter().filter(|node| !is_schedulable(node)).map(ResourceExt::name_any).collect();
    let first = names.first()?;
    let message = format!(
        "{} cordoned, so the scheduler places no pods there: {}.",
        are(names.len(), "node"),
        listed(&names),
    );
    let remediation = format!("Make the node schedulable again: `kubectl uncordon {first}`.");
    Some(Finding::info("NodesUnschedulable", message).remediation(remediation))
}

#[cfg(test)]
mod tests;
