//! What stands in the way of updates whatever their target.

use fairway_api::reason::{invalid, upgradeable};
use fairway_api::{ClusterVersionStatus, ConditionStatus, Conditions as _, OperatorCondition};
use schemars::JsonSchema;
use serde::Serialize;

use crate::recommend::Issue;

/// State of a cluster that blocks updates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Blocker {
    /// Name of the blocker, mostly a condition type.
    pub name: String,
    /// Reason, one CamelCase word.
    pub reason: Option<String>,
    /// Human-readable details.
    pub message: Option<String>,
    /// Whether the blocker is known to exist. `false` if the state is unknown.
    pub certain: bool,
    /// Updates that it blocks.
    pub scope: Scope,
}

/// Updates that a blocker blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// All updates.
    AllUpdates,
    /// Updates to another minor version. Their verdicts include it unless it is accepted.
    OtherMinorVersions,
}

/// What stands in the way, with the issues that hold for any update.
pub(super) fn of(status: &ClusterVersionStatus, issues: Vec<Issue>) -> Vec<Blocker> {
    let holds = |type_: &str, wanted: ConditionStatus, scope: Scope| {
        let condition = status.conditions.find(type_).filter(|one| one.status == wanted);
        condition.map(|condition| Blocker::of_condition(condition, scope))
    };
    let invalid = holds(invalid::TYPE, ConditionStatus::True, Scope::AllUpdates);
    let upgradeable = holds(upgradeable::TYPE, ConditionStatus::False, Scope::OtherMinorVersions);
    let issues = issues.into_iter().map(Blocker::of_issue);
    invalid.into_iter().chain(issues).chain(upgradeable).collect()
}

impl Blocker {
    fn of_condition(condition: &OperatorCondition, scope: Scope) -> Self {
        Self {
            name: condition.type_.clone(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            certain: true,
            scope,
        }
    }

    fn of_issue(issue: Issue) -> Self {
        let Issue { name, reason, message, certain, .. } = issue;
        Self { name, reason, message, certain, scope: Scope::AllUpdates }
    }
}
