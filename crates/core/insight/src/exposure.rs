//! Whether a risk of an update concerns a cluster, by what its ClusterVersion says.

use fairway_api::cluster_version::{
    ClusterVersionStatus, ConditionalUpdate, ConditionalUpdateRisk, MatchingRuleType,
};
use fairway_api::reason::{applies, recommended};
use fairway_api::{Condition, ConditionStatus, Conditions as _};
use fairway_risk::Source;
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
    /// The operator does not report it: older operators only report it for the whole update.
    NotReported,
}

impl Exposure {
    /// Whether a risk of an update concerns this cluster, as far as it is said or follows. `taken`
    /// is whether somebody accepts the risk.
    pub fn of(
        status: &ClusterVersionStatus,
        update: &ConditionalUpdate,
        name: &str,
        taken: bool,
    ) -> Self {
        let risk = update.risks.iter().find(|risk| risk.name == name);
        match (said(status, update, name), risk) {
            (None, Some(risk)) => Self::from_update(update, risk, taken),
            (said, _) => Self::as_said(said),
        }
    }

    /// What the operator says about it.
    pub(crate) fn as_said(applies: Option<&Condition>) -> Self {
        match applies.map(|condition| &condition.status) {
            None => Self::NotReported,
            Some(ConditionStatus::True) => Self::Exposed,
            Some(ConditionStatus::False) => Self::NotExposed,
            Some(_) => Self::Unknown,
        }
    }

    /// What follows from what is said about an update, where nothing is said about its risks.
    /// One that is taken may well apply to what is recommended.
    pub(crate) fn from_update(
        update: &ConditionalUpdate,
        risk: &ConditionalUpdateRisk,
        taken: bool,
    ) -> Self {
        let always = risk.matching_rules.first().map(|rule| &rule.type_);
        if always == Some(&MatchingRuleType::Always) {
            return Self::Exposed;
        }
        let Some(said) = update.conditions.find(recommended::TYPE) else {
            return Self::NotReported;
        };
        let named = |one: &ConditionalUpdateRisk| {
            said.status == ConditionStatus::False && said.reason == one.name
        };
        let is_mentioned = |one: &ConditionalUpdateRisk| {
            named(one) || has_failed(&said.message, one) || is_told(&said.message, one)
        };
        match said.status {
            ConditionStatus::True if !taken => Self::NotExposed,
            _ if named(risk) => Self::Exposed,
            _ if has_failed(&said.message, risk) => Self::Unknown,
            ConditionStatus::False if is_told(&said.message, risk) => Self::Exposed,
            ConditionStatus::True => Self::NotReported,
            // Everything that applies, or may, is told: what is not told next to others does not.
            _ if update.risks.iter().any(is_mentioned) => Self::NotExposed,
            _ => Self::NotReported,
        }
    }

    /// What is known about a risk of several updates together: the worst of it.
    pub(crate) fn worst(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().max_by_key(|one| one.weight()).unwrap_or(Self::NotReported)
    }

    /// The worse it is, the more it weighs.
    pub(crate) fn weight(self) -> u8 {
        match self {
            Self::NotExposed => 0,
            Self::NotReported => 1,
            Self::Unknown => 2,
            Self::Exposed => 3,
        }
    }

    /// Whether it may concern this cluster.
    pub fn may_apply(self) -> bool {
        self != Self::NotExposed
    }
}

/// What is said about whether a risk of an update concerns this cluster: of that update, else of
/// all.
pub fn said<'a>(
    status: &'a ClusterVersionStatus,
    update: &'a ConditionalUpdate,
    name: &str,
) -> Option<&'a Condition> {
    let namesakes = update.risks.iter().chain(&status.conditional_update_risks);
    let mut namesakes = namesakes.filter(|risk| risk.name == name);
    namesakes.find_map(|risk| risk.conditions.find(applies::TYPE))
}

/// Who publishes a risk, where the reason of the condition tells: alerts and preflights have their
/// own.
pub(crate) fn publisher(applies: Option<&Condition>) -> Option<Source> {
    match applies?.reason.as_str() {
        reason if reason == applies::ALERT_FIRING.code => Some(Source::Alert),
        reason if is_of_preflight(reason) => Some(Source::Preflight),
        _ => None,
    }
}

/// Whether what has that reason is told and holds nothing up: what a preflight says that is not
/// complete.
pub(crate) fn is_advice(reason: &str) -> bool {
    is_of_preflight(reason) && reason != applies::PREFLIGHT_VALIDATION.code
}

fn is_of_preflight(reason: &str) -> bool {
    reason.starts_with("Preflight")
}

/// Whether a message about an update tells that a risk of it applies.
fn is_told(message: &str, risk: &ConditionalUpdateRisk) -> bool {
    !risk.message.is_empty() && message.contains(&format!("{} {}", risk.message, risk.url))
}

/// Whether it tells that this could not be found out: in one of two ways, by the age of the
/// operator.
fn has_failed(message: &str, risk: &ConditionalUpdateRisk) -> bool {
    let failed = [
        format!("Could not evaluate exposure to update risk {} (", risk.name),
        format!("Exposure to {} is unknown due to an evaluation failure", risk.name),
    ];
    failed.iter().any(|failed| message.contains(failed))
}
