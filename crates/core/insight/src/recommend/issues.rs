//! Issues before an update, with the names by which they are accepted.

use std::collections::BTreeSet;

use fairway_api::reason::{failing, progressing, retrieved_updates};
use fairway_api::{ClusterVersionStatus, ConditionStatus, Conditions as _, OperatorCondition};
use schemars::JsonSchema;
use serde::Serialize;

use super::prechecks::Precheck;
use super::targets::Target;
use crate::alerts::Alerts;

/// Issue for all risks of an update. Each risk can also be accepted by its own name.
pub const CONDITIONAL_UPDATE_RISK: &str = "ConditionalUpdateRisk";

/// Issue if the list of updates may be outdated.
pub const CANNOT_RETRIEVE_UPDATES: &str = "CannotRetrieveUpdates";

/// Issue if a check before an update could not be completed.
pub const FAILED_TO_COMPLETE_PRECHECK: &str = "FailedToCompletePrecheck";

/// State of the cluster or risk of an update to consider before the update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Issue {
    /// Name by which the issue is accepted.
    pub name: String,
    /// Reason, one CamelCase word.
    pub reason: Option<String>,
    /// Human-readable details.
    pub message: Option<String>,
    /// Whether the issue is known to exist. `false` if the state is unknown.
    pub certain: bool,
    /// Whether the issue is accepted.
    pub accepted: bool,
    /// Names that, accepted together, accept the issue.
    #[serde(skip)]
    parts: Vec<String>,
}

impl Issue {
    fn new(name: &str, reason: Option<&str>, message: Option<&str>, certain: bool) -> Self {
        let given = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
        Self {
            name: name.to_owned(),
            reason: given(reason),
            message: given(message),
            certain,
            accepted: false,
            parts: Vec::new(),
        }
    }

    fn of_condition(name: &str, condition: &OperatorCondition, certain: bool) -> Self {
        Self::new(name, condition.reason.as_deref(), condition.message.as_deref(), certain)
    }

    pub(super) fn is_accepted(&self, accept: &BTreeSet<String>) -> bool {
        let by_parts =
            !self.parts.is_empty() && self.parts.iter().all(|part| accept.contains(part));
        accept.contains(&self.name) || by_parts
    }
}

/// Issues that affect every update.
pub(super) fn of_cluster(
    status: &ClusterVersionStatus,
    alerts: &Alerts,
    prechecks: &[Precheck],
) -> Vec<Issue> {
    let condition = |type_| status.conditions.find(type_);
    let mut issues = Vec::new();
    match condition(failing::TYPE) {
        None => {
            let message = "ClusterVersion has no condition Failing, so its state is unknown";
            issues.push(Issue::new(failing::TYPE, None, Some(message), false));
        }
        Some(condition) if condition.status == ConditionStatus::False => {}
        Some(condition) => {
            let certain = condition.status == ConditionStatus::True;
            issues.push(Issue::of_condition(failing::TYPE, condition, certain));
        }
    }
    let has_message = |condition: &&OperatorCondition| {
        condition.status == ConditionStatus::True
            && condition.message.as_ref().is_some_and(|message| !message.is_empty())
    };
    if let Some(condition) = condition(progressing::TYPE).filter(has_message) {
        issues.push(Issue::of_condition(progressing::TYPE, condition, true));
    }
    if let Alerts::Unreadable(why) = alerts {
        let message = format!("cannot read the alerts: {why}");
        issues.push(Issue::new(FAILED_TO_COMPLETE_PRECHECK, None, Some(&message), false));
    }
    let bad = prechecks.iter().filter(|precheck| !precheck.passed);
    issues.extend(bad.map(|precheck| {
        let message = Some(precheck.message.as_str());
        Issue::new(&precheck.name, Some(&precheck.reason), message, true)
    }));
    let stale = |condition: &&OperatorCondition| condition.status != ConditionStatus::True;
    if let Some(condition) = condition(retrieved_updates::TYPE).filter(stale) {
        issues.push(Issue::of_condition(CANNOT_RETRIEVE_UPDATES, condition, false));
    }
    issues
}

/// Issue of one update.
pub(super) fn of_target(target: &Target) -> Option<Issue> {
    let (reason, message) = (target.reason.as_deref(), target.message.as_deref());
    let certain = target.recommended != "Unknown";
    let issue = Issue::new(CONDITIONAL_UPDATE_RISK, reason, message, certain);
    (!target.is_recommended()).then(|| Issue { parts: target.risks.clone(), ..issue })
}
