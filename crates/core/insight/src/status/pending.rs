//! Resources that an update waits for.

use fairway_api::reason::failing;
use fairway_api::{ClusterVersionStatus, Conditions as _, OperatorCondition};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::nodes::{AssessedNode, NodeAssessment, Phase};
use super::operators::{NODE_OPERATOR, Operator};
use super::pools::Pool;
use crate::request::PendingRequest;
use crate::text::{seconds_since, time};

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

/// Pending resources, in the order of a rollout.
pub(super) fn of(
    request: Option<&PendingRequest>,
    operators: &[Operator<'_>],
    pools: &[&Pool],
    status: &ClusterVersionStatus,
    progressing: &OperatorCondition,
    now: Timestamp,
) -> Vec<PendingResource> {
    let mut pending: Vec<PendingResource> = request.map(for_request).into_iter().collect();
    // `Failing` has more details than `Progressing`.
    let failing = status.conditions.find(failing::TYPE);
    let condition = failing.filter(|_| status.conditions.is_true(failing::TYPE));
    pending.extend(for_operators(operators, condition.unwrap_or(progressing), now));
    let done = |operator: &Operator<'_>| operator.updated || operator.name == NODE_OPERATOR;
    let operators_done = operators.iter().all(done);
    pending.extend(pools.iter().flat_map(|pool| for_pool(pool, operators_done, now)));
    pending
}

/// Release that the operator has not accepted.
pub(super) fn for_request(request: &PendingRequest) -> PendingResource {
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

/// Components that are updating; else components with problems that have not started; else the
/// cluster-version operator.
fn for_operators<'a>(
    operators: &[Operator<'a>],
    condition: &OperatorCondition,
    now: Timestamp,
) -> Vec<PendingResource> {
    let of_operators = |is: fn(&Operator<'a>) -> bool| -> Vec<PendingResource> {
        operators.iter().filter(|one| is(one)).map(|one| for_operator(one, now)).collect()
    };
    let updating = of_operators(Operator::is_updating);
    if !updating.is_empty() || operators.iter().all(|operator| operator.updated) {
        return updating;
    }
    let unhealthy = of_operators(|one| !one.updated && (!one.is_available() || one.is_degraded()));
    if !unhealthy.is_empty() {
        return unhealthy;
    }
    let since = time(condition.last_transition_time.as_ref());
    vec![PendingResource {
        kind: PendingResourceKind::ClusterVersion,
        name: fairway_api::CLUSTER_VERSION_NAME.to_owned(),
        reason: condition.reason.clone(),
        message: condition.message.clone(),
        last_transition_time: since,
        age_seconds: seconds_since(since, now),
        inspect_command: "fairway upgrade".to_owned(),
    }]
}

fn for_operator(operator: &Operator<'_>, now: Timestamp) -> PendingResource {
    let condition = match operator {
        _ if operator.is_updating() => operator.progressing,
        _ if !operator.is_available() => operator.available,
        _ => operator.degraded,
    };
    let since = condition.and_then(|condition| time(condition.last_transition_time.as_ref()));
    let non_empty = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    PendingResource {
        kind: PendingResourceKind::Operator,
        name: operator.name.to_owned(),
        reason: condition.and_then(|condition| non_empty(&condition.reason)),
        message: condition.and_then(|condition| non_empty(&condition.message)),
        last_transition_time: since,
        age_seconds: seconds_since(since, now),
        inspect_command: command("kubectl describe clusteroperator", operator.name),
    }
}

fn for_pool(pool: &Pool, operators_done: bool, now: Timestamp) -> Vec<PendingResource> {
    let counts = pool.counts();
    let behind = format!("{} of {} nodes outdated", counts.outdated, counts.total);
    if pool.paused && counts.outdated > 0 {
        return vec![for_whole_pool(pool, "Paused", format!("the pool is paused, {behind}"))];
    }
    let nodes = pool.nodes.iter().filter(|node| is_waited_for(node));
    let nodes: Vec<PendingResource> = nodes.map(|node| for_node(node, now)).collect();
    if nodes.is_empty() && operators_done && counts.outdated > 0 {
        let message = format!("no node is updating, {behind}");
        return vec![for_whole_pool(pool, "Pending", message)];
    }
    nodes
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

/// Whether the update waits for the node: it is updating, or has a problem.
fn is_waited_for(node: &AssessedNode) -> bool {
    use NodeAssessment::{Degraded, Progressing, Unavailable};
    node.status.phase != Phase::Updated
        && matches!(node.status.assessment, Degraded | Unavailable | Progressing)
}

fn for_node(node: &AssessedNode, now: Timestamp) -> PendingResource {
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

/// Command about an object. Names that are not valid object names are left out: a shell would
/// interpret them.
fn command(verb: &str, name: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '.');
    let is_a_name = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if is_a_name && name.chars().all(plain) { format!("{verb} {name}") } else { verb.to_owned() }
}
