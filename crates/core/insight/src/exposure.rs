//! Exposure of a cluster to the risks of an update, from its ClusterVersion.

use fairway_api::cluster_version::{
    ClusterVersionStatus, ConditionalUpdate, ConditionalUpdateRisk, MatchingRuleType,
};
use fairway_api::reason::{applies, recommended};
use fairway_api::{Condition, ConditionStatus, Conditions as _};
use fairway_risk::RiskSource;
use schemars::JsonSchema;
use serde::Serialize;

/// Whether a risk applies to the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Exposure {
    /// The risk applies.
    Exposed,
    /// The risk does not apply.
    NotExposed,
    /// The operator could not evaluate the risk.
    Unknown,
    /// The operator does not report whether the risk applies. Older operators report this only for
    /// the whole update.
    NotReported,
    /// The risk of a later update of a plan has not been evaluated yet.
    NotEvaluated,
}

impl Exposure {
    /// Exposure to a risk of an update, as reported or derived. `accepted` is whether the risk is
    /// accepted.
    pub fn of(
        status: &ClusterVersionStatus,
        update: &ConditionalUpdate,
        name: &str,
        accepted: bool,
    ) -> Self {
        let risk = update.risks.iter().find(|risk| risk.name == name);
        match (applies_condition(status, update, name), risk) {
            (None, Some(risk)) => Self::from_update(update, risk, accepted),
            (condition, _) => Self::from_condition(condition),
        }
    }

    /// Exposure that the condition `Applies` reports.
    pub(crate) fn from_condition(applies: Option<&Condition>) -> Self {
        match applies.map(|condition| &condition.status) {
            None => Self::NotReported,
            Some(ConditionStatus::True) => Self::Exposed,
            Some(ConditionStatus::False) => Self::NotExposed,
            Some(_) => Self::Unknown,
        }
    }

    /// Exposure derived from the condition `Recommended` of an update, for operators that do not
    /// report `Applies`. A recommended update can be exposed to an accepted risk.
    pub(crate) fn from_update(
        update: &ConditionalUpdate,
        risk: &ConditionalUpdateRisk,
        accepted: bool,
    ) -> Self {
        let always = risk.matching_rules.first().map(|rule| &rule.type_);
        if always == Some(&MatchingRuleType::Always) {
            return Self::Exposed;
        }
        let Some(condition) = update.conditions.find(recommended::TYPE) else {
            return Self::NotReported;
        };
        let is_reason = |one: &ConditionalUpdateRisk| {
            condition.status == ConditionStatus::False && condition.reason == one.name
        };
        let is_mentioned = |one: &ConditionalUpdateRisk| {
            is_reason(one)
                || reports_failure(&condition.message, one)
                || reports_risk(&condition.message, one)
        };
        match condition.status {
            ConditionStatus::True if !accepted => Self::NotExposed,
            _ if is_reason(risk) => Self::Exposed,
            _ if reports_failure(&condition.message, risk) => Self::Unknown,
            ConditionStatus::False if reports_risk(&condition.message, risk) => Self::Exposed,
            ConditionStatus::True => Self::NotReported,
            // The message names all risks that apply or may apply, so a risk that is not named next
            // to others does not apply.
            _ if update.risks.iter().any(is_mentioned) => Self::NotExposed,
            _ => Self::NotReported,
        }
    }

    /// The most severe exposure of several updates.
    pub(crate) fn worst(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().max_by_key(|one| one.weight()).unwrap_or(Self::NotReported)
    }

    /// Severity for comparisons.
    pub(crate) fn weight(self) -> u8 {
        match self {
            Self::NotExposed => 0,
            Self::NotReported | Self::NotEvaluated => 1,
            Self::Unknown => 2,
            Self::Exposed => 3,
        }
    }

    /// Whether the risk applies or may apply.
    pub fn may_apply(self) -> bool {
        self != Self::NotExposed
    }
}

/// Condition `Applies` of a risk: that of the update, else that of the ledger.
pub fn applies_condition<'a>(
    status: &'a ClusterVersionStatus,
    update: &'a ConditionalUpdate,
    name: &str,
) -> Option<&'a Condition> {
    let namesakes = update.risks.iter().chain(&status.conditional_update_risks);
    let mut namesakes = namesakes.filter(|risk| risk.name == name);
    namesakes.find_map(|risk| risk.conditions.find(applies::TYPE))
}

/// Publisher of a risk by the reason of `Applies`: alerts and preflights have reasons of their own.
pub(crate) fn publisher(applies: Option<&Condition>) -> Option<RiskSource> {
    match applies?.reason.as_str() {
        reason if reason == applies::ALERT_FIRING.code => Some(RiskSource::Alert),
        reason if is_of_preflight(reason) => Some(RiskSource::Preflight),
        _ => None,
    }
}

/// Whether a risk with this reason never blocks: findings of incomplete preflights.
pub(crate) fn is_advice(reason: &str) -> bool {
    is_of_preflight(reason) && reason != applies::PREFLIGHT_VALIDATION.code
}

fn is_of_preflight(reason: &str) -> bool {
    reason.starts_with("Preflight")
}

/// Whether the message of `Recommended` states that a risk applies.
fn reports_risk(message: &str, risk: &ConditionalUpdateRisk) -> bool {
    !risk.message.is_empty() && message.contains(&format!("{} {}", risk.message, risk.url))
}

/// Whether the message states that a risk could not be evaluated. The wording depends on the
/// version of the operator.
fn reports_failure(message: &str, risk: &ConditionalUpdateRisk) -> bool {
    let failed = [
        format!("Could not evaluate exposure to update risk {} (", risk.name),
        format!("Exposure to {} is unknown due to an evaluation failure", risk.name),
    ];
    failed.iter().any(|failed| message.contains(failed))
}
