//! Pods to create and delete for a DaemonSet, and its status.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetStatus};
use k8s_openapi::api::core::v1::{
    Affinity, Node, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod,
    PodSpec, Toleration,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::controllers::node_filter::{FilterFailure, filter_node, is_evicted};
use crate::controllers::pod;
use crate::controllers::rollout::{Rounding, resolve_int_or_percent, template_hash};

/// Label with the hash of the pod template.
pub(super) const HASH_LABEL: &str = "controller-revision-hash";

/// Delay between the creation of a pod and its replacement after it has finished; prevents a hot
/// loop of pods that fail immediately.
const FINISHED_POD_BACKOFF: SignedDuration = SignedDuration::from_secs(10);

/// A change of pods.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum DaemonSetAction {
    /// Create a pod on the node with this name.
    Create(String),
    /// Delete a pod.
    Delete(Box<Pod>),
}

/// Changes, status, and time of the next reconciliation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DaemonSetPlan {
    pub(super) actions: Vec<DaemonSetAction>,
    pub(super) status: DaemonSetStatus,
    pub(super) requeue_at: Option<Timestamp>,
}

/// A node and the pods of the DaemonSet on it; the first pod is the one that the status reports.
struct NodePods {
    name: String,
    placement: Placement,
    pods: Vec<Pod>,
}

/// Plans the changes for the pods that the DaemonSet owns.
pub(super) fn plan(
    set: &DaemonSet,
    nodes: &[Node],
    own: Vec<Pod>,
    now: Timestamp,
) -> DaemonSetPlan {
    let (by_node, orphaned) = pods_by_node(set, nodes, own);
    let min_ready = set.spec.as_ref().and_then(|spec| spec.min_ready_seconds).unwrap_or(0);
    let hash = hash(set);
    let status = status(set, &by_node, &hash, min_ready, now);
    let all = by_node.iter().flat_map(|node| &node.pods);
    let mut requeue_at = pod::next_available(all, min_ready, now);
    let mut actions = Vec::new();
    if set.metadata.deletion_timestamp.is_none() {
        actions.extend(
            orphaned.into_iter().filter(pod::is_active).map(Box::new).map(DaemonSetAction::Delete),
        );
        for node in &by_node {
            let (desired, retry_at) = reconcile_node(node, now);
            actions.extend(desired);
            requeue_at = requeue_at.into_iter().chain(retry_at).min();
        }
        if actions.is_empty() {
            actions = rolling_update(set, &by_node, &hash, min_ready, now);
        }
    }
    DaemonSetPlan { actions, status, requeue_at }
}

/// Hash of the current template.
pub(super) fn hash(set: &DaemonSet) -> String {
    let template = set.spec.as_ref().map(|spec| spec.template.clone()).unwrap_or_default();
    let collisions = set.status.as_ref().and_then(|status| status.collision_count);
    template_hash(&template, collisions)
}

/// Pods by node, and pods whose nodes no longer exist.
fn pods_by_node(set: &DaemonSet, nodes: &[Node], own: Vec<Pod>) -> (Vec<NodePods>, Vec<Pod>) {
    let mut by_node = BTreeMap::<String, Vec<Pod>>::new();
    for pod in own {
        by_node.entry(node_of(&pod).unwrap_or_default().to_owned()).or_default().push(pod);
    }
    let node = |node: &Node| {
        let name = node.metadata.name.clone().unwrap_or_default();
        let mut pods = by_node.remove(&name).unwrap_or_default();
        pods.sort_by_key(|pod| {
            let created = pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
            (Reverse(pod::node(pod).is_some()), created, pod.metadata.name.clone())
        });
        NodePods { name, placement: placement(set, node), pods }
    };
    let nodes = nodes.iter().map(node).collect();
    (nodes, by_node.into_values().flatten().collect())
}

/// Changes that leave one pod where one should run and none elsewhere, and the time when a finished
/// pod can be replaced.
fn reconcile_node(node: &NodePods, now: Timestamp) -> (Vec<DaemonSetAction>, Option<Timestamp>) {
    let delete = |pod: &Pod| DaemonSetAction::Delete(Box::new(pod.clone()));
    let here = || node.pods.iter().filter(|pod| !pod::is_terminating(pod));
    match node.placement {
        Placement::Remove => return (here().map(delete).collect(), None),
        Placement::Run if node.pods.is_empty() => {
            return (vec![DaemonSetAction::Create(node.name.clone())], None);
        }
        Placement::Run | Placement::Keep => {}
    }
    let surplus = here().filter(|pod| !pod::is_finished(pod)).skip(1).map(delete);
    let (due, early): (Vec<_>, Vec<_>) = here()
        .filter(|pod| pod::is_finished(pod))
        .partition(|pod| replaceable_at(pod) <= Some(now));
    let retry_at = early.into_iter().filter_map(replaceable_at).min();
    (surplus.chain(due.into_iter().map(delete)).collect(), retry_at)
}

fn replaceable_at(pod: &Pod) -> Option<Timestamp> {
    pod.metadata.creation_timestamp.as_ref()?.0.checked_add(FINISHED_POD_BACKOFF).ok()
}

/// Deletes pods of old templates within `maxUnavailable`. Unavailable pods are deleted without
/// limit.
fn rolling_update(
    set: &DaemonSet,
    by_node: &[NodePods],
    hash: &str,
    min_ready: i32,
    now: Timestamp,
) -> Vec<DaemonSetAction> {
    let Some(most) = max_unavailable(set, by_node) else { return Vec::new() };
    let is_available = |pod: &Pod| pod::is_available(pod, min_ready, now);
    let mut missing = 0;
    let (mut unavailable, mut available_pods) = (Vec::new(), Vec::new());
    for node in by_node.iter().filter(|node| node.placement == Placement::Run) {
        let pod = node.pods.first().filter(|pod| !pod::is_terminating(pod));
        let available = pod.is_some_and(is_available);
        missing += usize::from(!available);
        match pod {
            Some(pod) if !is_current(pod, hash) && available => available_pods.push(pod.clone()),
            Some(pod) if !is_current(pod, hash) => unavailable.push(pod.clone()),
            _ => {}
        }
    }
    available_pods.truncate(most.saturating_sub(missing));
    unavailable
        .into_iter()
        .chain(available_pods)
        .map(Box::new)
        .map(DaemonSetAction::Delete)
        .collect()
}

/// Maximum number of nodes without an available pod during an update; `None` without rolling
/// updates.
fn max_unavailable(set: &DaemonSet, by_node: &[NodePods]) -> Option<usize> {
    let strategy = set.spec.as_ref()?.update_strategy.clone().unwrap_or_default();
    if strategy.type_.as_deref() == Some("OnDelete") || has_surge(set) {
        return None;
    }
    let desired = by_node.iter().filter(|node| node.placement == Placement::Run).count();
    let value = strategy.rolling_update.and_then(|rolling| rolling.max_unavailable);
    let value = value.unwrap_or(IntOrString::Int(1));
    let most =
        resolve_int_or_percent(&value, i32::try_from(desired).unwrap_or(i32::MAX), Rounding::Up);
    usize::try_from(most).ok()
}

/// Whether `maxSurge` is set, which the sandbox does not implement.
pub(super) fn has_surge(set: &DaemonSet) -> bool {
    let strategy = set.spec.as_ref().and_then(|spec| spec.update_strategy.as_ref());
    let surge = strategy.and_then(|strategy| strategy.rolling_update.as_ref()?.max_surge.as_ref());
    surge.is_some_and(|surge| resolve_int_or_percent(surge, 100, Rounding::Up) > 0)
}

fn is_current(pod: &Pod, hash: &str) -> bool {
    let labels = pod.metadata.labels.as_ref();
    labels.and_then(|labels| labels.get(HASH_LABEL)).is_some_and(|label| label == hash)
}

fn status(
    set: &DaemonSet,
    by_node: &[NodePods],
    hash: &str,
    min_ready: i32,
    now: Timestamp,
) -> DaemonSetStatus {
    let count = |counts: &dyn Fn(&NodePods) -> bool| {
        i32::try_from(by_node.iter().filter(|node| counts(node)).count()).unwrap_or(i32::MAX)
    };
    let runs = |node: &NodePods, is: &dyn Fn(&Pod) -> bool| {
        node.placement == Placement::Run && node.pods.first().is_some_and(is)
    };
    let some = |number: i32| (number != 0).then_some(number);
    let desired = count(&|node| node.placement == Placement::Run);
    let available = count(&|node| runs(node, &|pod| pod::is_available(pod, min_ready, now)));
    let old = set.status.as_ref();
    DaemonSetStatus {
        desired_number_scheduled: desired,
        current_number_scheduled: count(&|node| runs(node, &|_| true)),
        number_misscheduled: count(&|node| {
            node.placement != Placement::Run && !node.pods.is_empty()
        }),
        number_ready: count(&|node| runs(node, &pod::is_ready)),
        updated_number_scheduled: some(count(&|node| runs(node, &|pod| is_current(pod, hash)))),
        number_available: some(available),
        number_unavailable: some(desired - available),
        observed_generation: set.metadata.generation,
        collision_count: old.and_then(|old| old.collision_count),
        conditions: old.and_then(|old| old.conditions.clone()),
    }
}

/// Tolerations that all pods of DaemonSets get: problems of a node must not evict them.
const TOLERATED: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];

/// Additional toleration of pods with `hostNetwork`.
const TOLERATED_ON_HOST: (&str, &str) = ("node.kubernetes.io/network-unavailable", "NoSchedule");

/// Whether a DaemonSet has a pod on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// A pod should run there (upstream: `shouldRun`).
    Run,
    /// No pod is created, but an existing pod keeps running (upstream: `shouldContinueRunning`).
    Keep,
    /// Existing pods are deleted.
    Remove,
}

/// Whether a DaemonSet should have a pod on a node.
pub(super) fn placement(set: &DaemonSet, node: &Node) -> Placement {
    let spec = pod_spec(set);
    let elsewhere = spec.node_name.as_ref().filter(|name| !name.is_empty());
    if elsewhere.is_some() && elsewhere != node.metadata.name.as_ref() {
        return Placement::Remove;
    }
    match filter_node(&spec, node) {
        None => Placement::Run,
        Some(FilterFailure::Taint(_)) if is_evicted(&spec, node) => Placement::Remove,
        Some(FilterFailure::Taint(_)) => Placement::Keep,
        Some(FilterFailure::Unschedulable | FilterFailure::Affinity) => Placement::Remove,
    }
}

/// Pod spec of the template with the additional tolerations.
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

/// Restricts a pod to one node with node affinity, so that the scheduler binds it.
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

/// The node of a pod, or the node in its node affinity.
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
