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

/// Something that has to happen before an update goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Wait {
    /// What kind of thing it is waited for.
    pub kind: WaitKind,
    /// Its name.
    pub name: String,
    /// One word for why.
    pub reason: Option<String>,
    /// Why, for people.
    pub message: Option<String>,
    /// Since when.
    #[schemars(with = "Option<String>")]
    pub since: Option<Timestamp>,
    /// For how long.
    pub age_seconds: Option<i64>,
    /// A command that shows more.
    pub look_at: String,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WaitKind {
    /// A release that is asked for has to be accepted.
    Release,
    /// A component has to do its part.
    Operator,
    /// The operator of the cluster's version has to begin with the next component.
    ClusterVersion,
    /// A pause has to end, or the first node of a pool has to begin.
    Pool,
    /// A node has to do its part.
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
) -> Vec<Wait> {
    let mut waits: Vec<Wait> = request.map(for_request).into_iter().collect();
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
pub(super) fn for_request(request: &Request) -> Wait {
    let unseen = || "the operator has not processed the request yet".to_owned();
    let accepted = || "the operator has not started the update yet".to_owned();
    let message = match &request.message {
        _ if !request.seen => unseen(),
        Some(message) => message.clone(),
        None => accepted(),
    };
    Wait {
        kind: WaitKind::Release,
        name: request.name().to_owned(),
        reason: request.reason.clone(),
        message: Some(message),
        since: request.since,
        age_seconds: request.age_seconds,
        look_at: "fairway upgrade".to_owned(),
    }
}

/// The components that are on their way; else those that are in a bad state before it is their
/// turn; else whoever has to begin with them.
fn for_operators<'a>(
    operators: &[Operator<'a>],
    speaking: &OperatorCondition,
    now: Timestamp,
) -> Vec<Wait> {
    let of_operators = |is: fn(&Operator<'a>) -> bool| -> Vec<Wait> {
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
    vec![Wait {
        kind: WaitKind::ClusterVersion,
        name: fairway_api::CLUSTER_VERSION_NAME.to_owned(),
        reason: speaking.reason.clone(),
        message: speaking.message.clone(),
        since,
        age_seconds: seconds_since(since, now),
        look_at: "fairway upgrade".to_owned(),
    }]
}

fn for_operator(operator: &Operator<'_>, now: Timestamp) -> Wait {
    let speaking = match operator {
        _ if operator.is_updating() => operator.progressing,
        _ if !operator.is_available() => operator.available,
        _ => operator.degraded,
    };
    let since = speaking.and_then(|condition| time(condition.last_transition_time.as_ref()));
    let non_empty = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    Wait {
        kind: WaitKind::Operator,
        name: operator.name.to_owned(),
        reason: speaking.and_then(|condition| non_empty(&condition.reason)),
        message: speaking.and_then(|condition| non_empty(&condition.message)),
        since,
        age_seconds: seconds_since(since, now),
        look_at: command("kubectl describe clusteroperator", operator.name),
    }
}

fn for_pool(pool: &Pool, turn_of_nodes: bool, now: Timestamp) -> Vec<Wait> {
    let counts = pool.counts();
    let behind = format!("{} of {} nodes outdated", counts.outdated, counts.total);
    if pool.paused && counts.outdated > 0 {
        return vec![for_whole_pool(pool, "Paused", format!("the pool is paused, {behind}"))];
    }
    let at_it = pool.nodes.iter().filter(|node| is_waited_for(node));
    let at_it: Vec<Wait> = at_it.map(|node| for_node(node, now)).collect();
    if at_it.is_empty() && turn_of_nodes && counts.outdated > 0 {
        let message = format!("no node is updating, {behind}");
        return vec![for_whole_pool(pool, "Pending", message)];
    }
    at_it
}

fn for_whole_pool(pool: &Pool, reason: &str, message: String) -> Wait {
    Wait {
        kind: WaitKind::Pool,
        name: pool.name.clone(),
        reason: Some(reason.to_owned()),
        message: Some(message),
        since: None,
        age_seconds: None,
        look_at: command("kubectl describe machineconfigpool", &pool.name),
    }
}

/// Nodes that are on their way, and those that cannot be: the others have yet to begin, or are done.
fn is_waited_for(node: &Assessed) -> bool {
    use NodeAssessment::{Degraded, Progressing, Unavailable};
    node.status.phase != Phase::Updated
        && matches!(node.status.assessment, Degraded | Unavailable | Progressing)
}

fn for_node(node: &Assessed, now: Timestamp) -> Wait {
    let name = &node.status.name;
    let since = node.since.filter(|_| node.status.assessment == NodeAssessment::Unavailable);
    let look_at = match node.status.phase {
        Phase::Draining => "kubectl get poddisruptionbudgets --all-namespaces".to_owned(),
        _ => command("kubectl describe node", name),
    };
    Wait {
        kind: WaitKind::Node,
        name: name.clone(),
        reason: Some(format!("{:?}", node.status.phase)),
        message: node.status.message.clone().filter(|message| !message.is_empty()),
        since,
        age_seconds: seconds_since(since, now),
        look_at,
    }
}

/// A command about an object. What is not the name of one is not put where a shell would read it.
fn command(verb: &str, name: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '.');
    let is_a_name = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if is_a_name && name.chars().all(plain) { format!("{verb} {name}") } else { verb.to_owned() }
}
