//! The risk report: which operators stand against which targets.
//!
//! One risk an operator, so that each can be accepted by name. What does not fit into a report is
//! one risk together, and never left out.

use fairway_api::limits;
use serde_json::{Value, json};

use super::catalog::WayOut;
use super::{Declaration, Operator, Policy, Stream, text};

/// Risks that a report names: readers take 50, and one of them stands for the rest.
const MAX_RISKS: usize = 49;

/// Bytes of a message. 50 of them, with everything else doubled by escapes, stay within the 64 KiB
/// that readers take.
const MAX_MESSAGE: usize = 500;

/// Where people read about it.
const DOCS: &str = "https://fairway.dev/docs/olm";

/// The risks of operators, in the order of their names, as `status.extension` of a ClusterOperator.
pub(super) fn report(operators: &[Operator], running: Stream, policy: Policy) -> Value {
    let blocking = operators.iter().filter_map(|operator| {
        Some((operator, policy.first_without(&operator.declared, running)?))
    });
    let (mut named, mut rest): (Vec<_>, Vec<_>) =
        blocking.partition(|(operator, _)| name(operator).is_some());
    // Those that matter first are the first to have a name of their own.
    named.sort_by_key(|(_, first)| *first);
    rest.extend(named.drain(named.len().min(MAX_RISKS)..));
    let risks = named.iter().filter_map(|(operator, first)| {
        let way_out = operator.way_out(policy, running, *first);
        Some(risk(&name(operator)?, &message(operator, way_out), *first))
    });
    let risks: Vec<Value> = risks.chain(stand_in(&rest)).collect();
    json!({"kind": "RiskReport", "version": "v1", "risks": risks})
}

fn risk(name: &str, message: &str, first: Stream) -> Value {
    json!({
        "name": name,
        "message": text::excerpt(message, MAX_MESSAGE),
        "url": DOCS,
        "targets": first.and_later(),
    })
}

/// What an administrator accepts; `None` if no name can be made of the operator's.
fn name(operator: &Operator) -> Option<String> {
    let name = format!("OperatorWillNotRun-{}:{}", operator.namespace, operator.name);
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:".contains(&byte);
    let is_legal = name.len() <= limits::RISK_NAME
        && name.bytes().all(legal)
        && name.ends_with(|last: char| last.is_ascii_alphanumeric());
    is_legal.then_some(name)
}

fn message(operator: &Operator, way_out: Option<&WayOut>) -> String {
    let problem = match &operator.declared {
        Declaration::Maximum(maximum, origin) => format!(
            "The operator {operator} does not run on versions after {maximum}, as the {origin} says."
        ),
        Declaration::Missing => format!(
            "The operator {operator} does not say up to which version it runs, and the guard asks for it."
        ),
        Declaration::Invalid(why) => format!(
            "The operator {operator} does not say clearly up to which version it runs: {why}."
        ),
    };
    match way_out {
        Some(way_out) => format!("{problem} To get past it, {way_out}."),
        None => problem,
    }
}

/// One risk for those that have none of their own.
fn stand_in(rest: &[(&Operator, Stream)]) -> Option<Value> {
    let first = rest.iter().map(|(_, first)| *first).min()?;
    let operators: Vec<&Operator> = rest.iter().map(|(operator, _)| *operator).collect();
    let message = format!(
        "{} more operators do not run on later versions: {}",
        rest.len(),
        text::list(&operators, ", ")
    );
    Some(risk("OperatorWillNotRun-more", &message, first))
}
