//! What has to happen before an update goes on, who has to do it, and what to look at.

use fairway_api::reason::failing;
use fairway_api::{ClusterVersionStatus, Conditions as _, OperatorCondition};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::nodes::{Assessed, NodeAssessment, Phase};
use super::operators::{NODE_OPERATOR, Operator};
use super::pools::Pool;
use super::request::Request;
use crate::age::{seconds_since, time};

/// Resource that an update waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingResource {
    /// Kind of the resource.
    pub kind: PendingResourceKind,
    /// Name of the resource.
    pub name: String,
    /// Reason, one CamelCase word.
    pub reason: Option<String>,
    /// Human-readable details.
    pub message: Option<String>,
    /// Start of the current state.
    #[schemars(with = "Option<String>")]
    pub last_transition_time: Option<Timestamp>,
    /// Seconds since `lastTransitionTime`.
    pub age_seconds: Option<i64>,
    /// Command that shows more about the resource.
    pub inspect_command: String,
}

/// Kind of a resource that an update waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PendingResourceKind {
    /// A requested release that the operator has not accepted.
    Release,
    /// A ClusterOperator that is updating.
    Operator,
    /// The cluster-version operator, which has not started the next component.
    ClusterVersion,
    /// A pool that is paused, or whose first node has not started.
    Pool,
    /// A node that is updating.
    Node,
}

/// Everything that is waited for, in the order in which an update comes to it.
pub(super) fn of(
    request: Option<&Request>,
    operators: &[Operator<'_>],
    pools: &[&Pool],
    status: &ClusterVersionStatus,
    progressing: &OperatorCondition,
    now: Timestamp,
) -> Vec<PendingResource> {
    let mut waits: Vec<PendingResource> = request.map(for_request).into_iter().collect();
    // Whoever fails says more than that it is at work.
    let failing = status.conditions.find(failing::TYPE);
    let speaking = failing.filter(|_| status.conditions.is_true(failing::TYPE));
    waits.extend(for_operators(operators, speaking.unwrap_or(progressing), now));
    let done = |operator: &Operator<'_>| operator.updated || operator.name == NODE_OPERATOR;
    let turn_of_nodes = operators.iter().all(done);
    waits.extend(pools.iter().flat_map(|pool| for_pool(pool, turn_of_nodes, now)));
    waits
}

/// A request waits for its release to be accepted.
pub(super) fn for_request(request: &Request) -> PendingResource {
    let unseen = || "the operator has not processed the request yet".to_owned();
    let accepted = || "the operator has not started the update yet".to_owned();
    let message = match &request.message {
        _ if !request.spec_observed => unseen(),
        Some(message) => message.clone(),
        None => accepted(),
    };
    PendingResource {
        kind: PendingResourceKind::Release,
        name: request.name().to_owned(),
        reason: request.reason.clone(),
        message: Some(message),
        last_transition_time: request.last_transition_time,
        age_seconds: request.age_seconds,
        inspect_command: "fairway upgrade".to_owned(),
    }
}

/// The components that are on their way; else those that are in a bad state before it is their
/// turn; else whoever has to begin with them.
fn for_operators<'a>(
    operators: &[Operator<'a>],
    speaking: &OperatorCondition,
    now: Timestamp,
) -> Vec<PendingResource> {
    let of_operators = |is: fn(&Operator<'a>) -> bool| -> Vec<PendingResource> {
        operators.iter().filter(|one| is(one)).map(|one| for_operator(one, now)).collect()
    };
    let updating = of_operators(Operator::is_updating);
    if !updating.is_empty() || operators.iter().all(|operator| operator.updated) {
        return updating;
    }
    let unwell = of_operators(|one| !one.updated && (!one.is_available() || one.is_degraded()));
    if !unwell.is_empty() {
        return unwell;
    }
    let since = time(speaking.last_transition_time.as_ref());
    vec![PendingResource {
        kind: PendingResourceKind::ClusterVersion,
        name: fairway_api::CLUSTER_VERSION_NAME.to_owned(),
        reason: speaking.reason.clone(),
        message: speaking.message.clone(),
        last_transition_time: since,
        age_seconds: seconds_since(since, now),
        inspect_command: "fairway upgrade".to_owned(),
    }]
}

fn for_operator(operator: &Operator<'_>, now: Timestamp) -> PendingResource {
    let speaking = match operator {
        _ if operator.is_updating() => operator.progressing,
        _ if !operator.is_available() => operator.available,
        _ => operator.degraded,
    };
    let since = speaking.and_then(|condition| time(condition.last_transition_time.as_ref()));
    let non_empty = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    PendingResource {
        kind: PendingResourceKind::Operator,
        name: operator.name.to_owned(),
        reason: speaking.and_then(|condition| non_empty(&condition.reason)),
        message: speaking.and_then(|condition| non_empty(&condition.message)),
        last_transition_time: since,
        age_seconds: seconds_since(since, now),
        inspect_command: command("kubectl describe clusteroperator", operator.name),
    }
}

fn for_pool(pool: &Pool, turn_of_nodes: bool, now: Timestamp) -> Vec<PendingResource> {
    let counts = pool.counts();
    let behind = format!("{} of {} nodes outdated", counts.outdated, counts.total);
    if pool.paused && counts.outdated > 0 {
        return vec![for_whole_pool(pool, "Paused", format!("the pool is paused, {behind}"))];
    }
    let at_it = pool.nodes.iter().filter(|node| is_waited_for(node));
    let at_it: Vec<PendingResource> = at_it.map(|node| for_node(node, now)).collect();
    if at_it.is_empty() && turn_of_nodes && counts.outdated > 0 {
        let message = format!("no node is updating, {behind}");
        return vec![for_whole_pool(pool, "Pending", message)];
    }
    at_it
}

fn for_whole_pool(pool: &Pool, reason: &str, message: String) -> PendingResource {
    PendingResource {
        kind: PendingResourceKind::Pool,
        name: pool.name.clone(),
        reason: Some(reason.to_owned()),
        message: Some(message),
        last_transition_time: None,
        age_seconds: None,
        inspect_command: command("kubectl describe machineconfigpool", &pool.name),
    }
}

/// Nodes that are on their way, and those that cannot be: the others have yet to begin, or are done.
fn is_waited_for(node: &Assessed) -> bool {
    use NodeAssessment::{Degraded, Progressing, Unavailable};
    node.status.phase != Phase::Updated
        && matches!(node.status.assessment, Degraded | Unavailable | Progressing)
}

fn for_node(node: &Assessed, now: Timestamp) -> PendingResource {
    let name = &node.status.name;
    let since = node.since.filter(|_| node.status.assessment == NodeAssessment::Unavailable);
    let inspect_command = match node.status.phase {
        Phase::Draining => "kubectl get poddisruptionbudgets --all-namespaces".to_owned(),
        _ => command("kubectl describe node", name),
    };
    PendingResource {
        kind: PendingResourceKind::Node,
        name: name.clone(),
        reason: Some(format!("{:?}", node.status.phase)),
        message: node.status.message.clone().filter(|message| !message.is_empty()),
        last_transition_time: since,
        age_seconds: seconds_since(since, now),
        inspect_command,
    }
}

/// A command about an object. What is not the name of one is not put where a shell would read it.
fn command(verb: &str, name: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '.');
    let is_a_name = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if is_a_name && name.chars().all(plain) { format!("{verb} {name}") } else { verb.to_owned() }
}
