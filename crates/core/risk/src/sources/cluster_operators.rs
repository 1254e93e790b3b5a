//! What cluster operators say about updates: their condition `Upgradeable`, and their reports.

use fairway_api::reason::cluster_operator::upgradeable;
use fairway_api::{ClusterOperator, ConditionStatus, Conditions as _, OperatorCondition};

use super::names::{OPERATORS_UNKNOWN, UPGRADEABLE};
use super::{against_minor, cannot_tell, risk_report};
use crate::risk::{Concern, Source};

/// What stands against updates by the word of cluster operators. A report says more than the
/// condition `Upgradeable`, which stands against every later minor version, and replaces it.
///
/// The condition has to be False: missing and Unknown have always meant that nothing is known
/// against an update.
pub fn cluster_operators<'a>(
    operators: impl IntoIterator<Item = &'a ClusterOperator>,
) -> Vec<Concern> {
    operators.into_iter().flat_map(concerns).collect()
}

/// Nobody knows what cluster operators say, because they cannot be listed.
pub fn unlisted_cluster_operators(why: &str) -> Concern {
    let message = "Cannot determine whether the cluster operators allow an update to a later minor \
        or major version.";
    let source = Source::ClusterOperators;
    let concern = against_minor(OPERATORS_UNKNOWN, message, "cluster-operators", source);
    cannot_tell(concern, &format!("Cannot list ClusterOperators: {why}."))
}

fn concerns(operator: &ClusterOperator) -> Vec<Concern> {
    let name = operator.metadata.name.as_deref().unwrap_or_default();
    let Some(status) = &operator.status else { return Vec::new() };
    let report = status.extension.as_ref().and_then(|extension| risk_report::read(name, extension));
    let blanket = || blanket(name, status.conditions.find(upgradeable::TYPE));
    match report {
        Some(Ok(concerns)) if !concerns.is_empty() => concerns,
        Some(Err(unreadable)) => blanket().into_iter().chain([unreadable]).collect(),
        Some(Ok(_)) | None => blanket().into_iter().collect(),
    }
}

fn blanket(operator: &str, upgradeable: Option<&OperatorCondition>) -> Option<Concern> {
    let condition = upgradeable.filter(|condition| condition.status == ConditionStatus::False)?;
    let message = match (condition.message.as_deref().map(str::trim), &condition.reason) {
        (Some(message), _) if !message.is_empty() => message.to_owned(),
        (_, Some(reason)) => {
            format!("Cluster operator {operator} is not upgradeable: {reason}.")
        }
        _ => format!("Cluster operator {operator} is not upgradeable, without a message."),
    };
    let name = format!("{UPGRADEABLE}{operator}");
    let source = Source::Upgradeable(operator.to_owned());
    Some(against_minor(name, &message, "cluster-operators", source))
}
