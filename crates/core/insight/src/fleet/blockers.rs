//! What stands in the way of updates whatever their target.

use fairway_api::reason::{invalid, upgradeable};
use fairway_api::{ClusterVersionStatus, ConditionStatus, Conditions as _, OperatorCondition};
use schemars::JsonSchema;
use serde::Serialize;

use crate::recommend::Issue;

/// Something in the cluster that stands in the way of updates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Blocker {
    /// What it is: mostly the type of a condition.
    pub name: String,
    /// One word for why.
    pub reason: Option<String>,
    /// Why, for people.
    pub message: Option<String>,
    /// Whether it is known to hold, or only not known not to.
    pub certain: bool,
    /// Which updates it blocks.
    pub blocks: Scope,
}

/// Which updates something blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// All.
    AllUpdates,
    /// Those to another minor version. Their own verdicts say so, unless it is accepted.
    OtherMinorVersions,
}

/// What stands in the way, with the issues that hold for any update.
pub(super) fn of(status: &ClusterVersionStatus, issues: Vec<Issue>) -> Vec<Blocker> {
    let holds = |type_: &str, wanted: ConditionStatus, blocks: Scope| {
        let condition = status.conditions.find(type_).filter(|one| one.status == wanted);
        condition.map(|condition| Blocker::of_condition(condition, blocks))
    };
    let invalid = holds(invalid::TYPE, ConditionStatus::True, Scope::AllUpdates);
    let upgradeable = holds(upgradeable::TYPE, ConditionStatus::False, Scope::OtherMinorVersions);
    let issues = issues.into_iter().map(Blocker::of_issue);
    invalid.into_iter().chain(issues).chain(upgradeable).collect()
}

impl Blocker {
    fn of_condition(condition: &OperatorCondition, blocks: Scope) -> Self {
        Self {
            name: condition.type_.clone(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            certain: true,
            blocks,
        }
    }

    fn of_issue(issue: Issue) -> Self {
        let Issue { name, reason, message, certain, .. } = issue;
        Self { name, reason, message, certain, blocks: Scope::AllUpdates }
    }
}
