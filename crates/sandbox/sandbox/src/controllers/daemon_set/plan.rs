//! What becomes of the pods of a DaemonSet.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetStatus};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::placement::{Belonging, belonging, node_of};
use crate::controllers::pod;
use crate::controllers::share::{Rounding, share};
use crate::controllers::template_hash::template_hash;

/// Tells the pods of one template from those of others.
pub(super) const HASH_LABEL: &str = "controller-revision-hash";

/// How old a pod that has ended becomes before another takes its place: one that ends at once must
/// not be made again and again without a pause.
const LEAST_AGE: SignedDuration = SignedDuration::from_secs(10);

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    /// A pod is made for the node of this name.
    Create(String),
    /// A pod goes.
    Delete(Box<Pod>),
}

/// What is to be done, what is to be said, and when to look again.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) actions: Vec<Action>,
    pub(super) status: DaemonSetStatus,
    pub(super) again: Option<Timestamp>,
}

/// A node and the pods of the DaemonSet that are there, the one that counts first.
struct Place {
    name: String,
    belonging: Belonging,
    pods: Vec<Pod>,
}

/// What becomes of the pods that are the DaemonSet's own.
pub(super) fn plan(set: &DaemonSet, nodes: &[Node], own: Vec<Pod>, now: Timestamp) -> Plan {
    let (places, lost) = places(set, nodes, own);
    let min_ready = set.spec.as_ref().and_then(|spec| spec.min_ready_seconds).unwrap_or(0);
    let hash = hash(set);
    let status = status(set, &places, &hash, min_ready, now);
    let all = places.iter().flat_map(|place| &place.pods);
    let mut again = pod::next_available(all, min_ready, now);
    let mut actions = Vec::new();
    if set.metadata.deletion_timestamp.is_none() {
        actions.extend(lost.into_iter().filter(pod::is_active).map(Box::new).map(Action::Delete));
        for place in &places {
            let (wanted, later) = one_pod(place, now);
            actions.extend(wanted);
            again = again.into_iter().chain(later).min();
        }
        if actions.is_empty() {
            actions = replace(set, &places, &hash, min_ready, now);
        }
    }
    Plan { actions, status, again }
}

/// What tells the current template from others.
pub(super) fn hash(set: &DaemonSet) -> String {
    let template = set.spec.as_ref().map(|spec| spec.template.clone()).unwrap_or_default();
    let collisions = set.status.as_ref().and_then(|status| status.collision_count);
    template_hash(&template, collisions)
}

/// The nodes with their pods, and the pods whose nodes are gone.
fn places(set: &DaemonSet, nodes: &[Node], own: Vec<Pod>) -> (Vec<Place>, Vec<Pod>) {
    let mut by_node = BTreeMap::<String, Vec<Pod>>::new();
    for pod in own {
        by_node.entry(node_of(&pod).unwrap_or_default().to_owned()).or_default().push(pod);
    }
    let place = |node: &Node| {
        let name = node.metadata.name.clone().unwrap_or_default();
        let mut pods = by_node.remove(&name).unwrap_or_default();
        pods.sort_by_key(|pod| {
            let created = pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
            (Reverse(pod::node(pod).is_some()), created, pod.metadata.name.clone())
        });
        Place { name, belonging: belonging(set, node), pods }
    };
    let places = nodes.iter().map(place).collect();
    (places, by_node.into_values().flatten().collect())
}

/// Makes sure that there is one pod where one belongs, and none elsewhere; and says when to look
/// again at one that has ended.
fn one_pod(place: &Place, now: Timestamp) -> (Vec<Action>, Option<Timestamp>) {
    let delete = |pod: &Pod| Action::Delete(Box::new(pod.clone()));
    let here = || place.pods.iter().filter(|pod| !pod::is_terminating(pod));
    match place.belonging {
        Belonging::Leave => return (here().map(delete).collect(), None),
        Belonging::Run if place.pods.is_empty() => {
            return (vec![Action::Create(place.name.clone())], None);
        }
        Belonging::Run | Belonging::Stay => {}
    }
    let surplus = here().filter(|pod| !pod::is_finished(pod)).skip(1).map(delete);
    let (due, early): (Vec<_>, Vec<_>) =
        here().filter(|pod| pod::is_finished(pod)).partition(|pod| old_enough(pod) <= Some(now));
    let later = early.into_iter().filter_map(old_enough).min();
    (surplus.chain(due.into_iter().map(delete)).collect(), later)
}

fn old_enough(pod: &Pod) -> Option<Timestamp> {
    pod.metadata.creation_timestamp.as_ref()?.0.checked_add(LEAST_AGE).ok()
}

/// Takes pods of old templates away, as many as may be missing. Those that are not available
/// anyway are not missed.
fn replace(
    set: &DaemonSet,
    places: &[Place],
    hash: &str,
    min_ready: i32,
    now: Timestamp,
) -> Vec<Action> {
    let Some(most) = max_unavailable(set, places) else { return Vec::new() };
    let is_available = |pod: &Pod| pod::is_available(pod, min_ready, now);
    let mut missing = 0;
    let (mut useless, mut useful) = (Vec::new(), Vec::new());
    for place in places.iter().filter(|place| place.belonging == Belonging::Run) {
        let pod = place.pods.first().filter(|pod| !pod::is_terminating(pod));
        let available = pod.is_some_and(is_available);
        missing += usize::from(!available);
        match pod {
            Some(pod) if !is_current(pod, hash) && available => useful.push(pod.clone()),
            Some(pod) if !is_current(pod, hash) => useless.push(pod.clone()),
            _ => {}
        }
    }
    useful.truncate(most.saturating_sub(missing));
    useless.into_iter().chain(useful).map(Box::new).map(Action::Delete).collect()
}

/// How many nodes may be without a pod during an update; `None` where nothing is updated.
fn max_unavailable(set: &DaemonSet, places: &[Place]) -> Option<usize> {
    let strategy = set.spec.as_ref()?.update_strategy.clone().unwrap_or_default();
    if strategy.type_.as_deref() == Some("OnDelete") || surges(set) {
        return None;
    }
    let wanted = places.iter().filter(|place| place.belonging == Belonging::Run).count();
    let value = strategy.rolling_update.and_then(|rolling| rolling.max_unavailable);
    let value = value.unwrap_or(IntOrString::Int(1));
    let most = share(&value, i32::try_from(wanted).unwrap_or(i32::MAX), Rounding::Up);
    usize::try_from(most).ok()
}

/// Whether new pods are to run beside old ones, which is not known here.
pub(super) fn surges(set: &DaemonSet) -> bool {
    let strategy = set.spec.as_ref().and_then(|spec| spec.update_strategy.as_ref());
    let surge = strategy.and_then(|strategy| strategy.rolling_update.as_ref()?.max_surge.as_ref());
    surge.is_some_and(|surge| share(surge, 100, Rounding::Up) > 0)
}

fn is_current(pod: &Pod, hash: &str) -> bool {
    let labels = pod.metadata.labels.as_ref();
    labels.and_then(|labels| labels.get(HASH_LABEL)).is_some_and(|label| label == hash)
}

fn status(
    set: &DaemonSet,
    places: &[Place],
    hash: &str,
    min_ready: i32,
    now: Timestamp,
) -> DaemonSetStatus {
    let count = |counts: &dyn Fn(&Place) -> bool| {
        i32::try_from(places.iter().filter(|place| counts(place)).count()).unwrap_or(i32::MAX)
    };
    let runs = |place: &Place, is: &dyn Fn(&Pod) -> bool| {
        place.belonging == Belonging::Run && place.pods.first().is_some_and(is)
    };
    let some = |number: i32| (number != 0).then_some(number);
    let desired = count(&|place| place.belonging == Belonging::Run);
    let available = count(&|place| runs(place, &|pod| pod::is_available(pod, min_ready, now)));
    let old = set.status.as_ref();
    DaemonSetStatus {
        desired_number_scheduled: desired,
        current_number_scheduled: count(&|place| runs(place, &|_| true)),
        number_misscheduled: count(&|place| {
            place.belonging != Belonging::Run && !place.pods.is_empty()
        }),
        number_ready: count(&|place| runs(place, &pod::is_ready)),
        updated_number_scheduled: some(count(&|place| runs(place, &|pod| is_current(pod, hash)))),
        number_available: some(available),
        number_unavailable: some(desired - available),
        observed_generation: set.metadata.generation,
        collision_count: old.and_then(|old| old.collision_count),
        conditions: old.and_then(|old| old.conditions.clone()),
    }
}
