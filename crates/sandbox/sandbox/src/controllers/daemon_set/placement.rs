//! Where the pods of a DaemonSet belong.

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{
    Affinity, Node, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod,
    PodSpec, Toleration,
};

use crate::controllers::placement::{Obstacle, is_evicted, obstacle};
use crate::controllers::pod;

/// What pods of DaemonSets tolerate without being asked: the troubles of a node are no reason to
/// leave it.
const TOLERATED: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];

/// What those tolerate in addition that are on the node's own network.
const TOLERATED_ON_HOST: (&str, &str) = ("node.kubernetes.io/network-unavailable", "NoSchedule");

/// Whether pods belong on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Belonging {
    /// One is to run there.
    Run,
    /// None is made there, but one that is there may stay.
    Stay,
    /// None is to be there.
    Leave,
}

/// Whether pods of a DaemonSet belong on a node.
pub(super) fn belonging(set: &DaemonSet, node: &Node) -> Belonging {
    let spec = pod_spec(set);
    let elsewhere = spec.node_name.as_ref().filter(|name| !name.is_empty());
    if elsewhere.is_some() && elsewhere != node.metadata.name.as_ref() {
        return Belonging::Leave;
    }
    match obstacle(&spec, node) {
        None => Belonging::Run,
        Some(Obstacle::Taint(_)) if is_evicted(&spec, node) => Belonging::Leave,
        Some(Obstacle::Taint(_)) => Belonging::Stay,
        Some(Obstacle::Unschedulable | Obstacle::Affinity) => Belonging::Leave,
    }
}

/// The pod as the template describes it, with what it tolerates.
pub(super) fn pod_spec(set: &DaemonSet) -> PodSpec {
    let template = set.spec.as_ref().and_then(|spec| spec.template.spec.clone());
    let mut spec = template.unwrap_or_default();
    let on_host = (spec.host_network == Some(true)).then_some(TOLERATED_ON_HOST);
    let tolerations = spec.tolerations.get_or_insert_default();
    for (key, effect) in TOLERATED.into_iter().chain(on_host) {
        let toleration = Toleration {
            key: Some(key.to_owned()),
            operator: Some("Exists".to_owned()),
            effect: Some(effect.to_owned()),
            ..Toleration::default()
        };
        if !tolerations.contains(&toleration) {
            tolerations.push(toleration);
        }
    }
    spec
}

/// The same pod for one node alone.
pub(super) fn only_on(mut spec: PodSpec, node: &str) -> PodSpec {
    let required = NodeSelectorRequirement {
        key: "metadata.name".to_owned(),
        operator: "In".to_owned(),
        values: Some(vec![node.to_owned()]),
    };
    let term = NodeSelectorTerm { match_fields: Some(vec![required]), match_expressions: None };
    let affinity: &mut Affinity = spec.affinity.get_or_insert_default();
    let affinity: &mut NodeAffinity = affinity.node_affinity.get_or_insert_default();
    affinity.required_during_scheduling_ignored_during_execution =
        Some(NodeSelector { node_selector_terms: vec![term] });
    spec
}

/// The node that a pod is on, or is made for.
pub(super) fn node_of(pod: &Pod) -> Option<&str> {
    pod::node(pod).or_else(|| {
        let affinity = pod.spec.as_ref()?.affinity.as_ref()?.node_affinity.as_ref()?;
        let required = affinity.required_during_scheduling_ignored_during_execution.as_ref()?;
        let [term] = required.node_selector_terms.as_slice() else { return None };
        let [field] = term.match_fields.as_deref()? else { return None };
        let [node] = field.values.as_deref()? else { return None };
        (field.key == "metadata.name" && field.operator == "In").then_some(node)
    })
}
