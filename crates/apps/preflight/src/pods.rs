//! What draining a node does to a pod.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;

/// The annotation of what a node runs by itself: the API server shows it and cannot end it.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// The kind and the name of what brings a pod back when it goes.
pub(crate) fn controller(pod: &Pod) -> Option<(&str, &str)> {
    let owners = pod.metadata.owner_references.iter().flatten();
    let mut controllers = owners.filter(|owner| owner.controller == Some(true));
    controllers.next().map(|owner| (owner.kind.as_str(), owner.name.as_str()))
}

/// Whether the pod has to go when its node is drained: it runs there, and neither the node itself
/// nor a DaemonSet, which stays, has put it there.
pub(crate) fn is_drained(pod: &Pod) -> bool {
    let is_bound = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
    let is_of_node = pod.annotations().contains_key(MIRROR)
        || controller(pod).is_some_and(|(kind, _)| matches!(kind, "DaemonSet" | "Node"));
    is_bound && !has_ended(pod) && !is_of_node
}

/// Whether the pod takes no room any more.
pub(crate) fn has_ended(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// Whether the pod says that it can do its work.
pub(crate) fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|it| it.type_ == "Ready" && it.status == "True")
}
