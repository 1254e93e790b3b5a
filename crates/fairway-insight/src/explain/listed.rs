//! What ClusterVersion lists about updates and their risks.

use fairway_api::cluster_version::{
    ClusterVersionStatus, ConditionalUpdate, ConditionalUpdateRisk, MatchingRuleType, Release,
};
use fairway_api::reason::{applies, recommended};
use fairway_api::{
    ClusterVersion, Condition, ConditionStatus, Conditions as _, OperatorCondition, Version,
};
use schemars::JsonSchema;
use serde::Serialize;

/// Whether a risk concerns this cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Exposure {
    /// It does.
    Applies,
    /// It does not.
    DoesNotApply,
    /// The operator could not find out.
    Unknown,
    /// The operator does not say: older ones say it only for the update as a whole.
    NotPublished,
}

impl Exposure {
    pub(super) fn of(applies: Option<&Condition>) -> Self {
        match applies.map(|condition| &condition.status) {
            None => Self::NotPublished,
            Some(ConditionStatus::True) => Self::Applies,
            Some(ConditionStatus::False) => Self::DoesNotApply,
            Some(_) => Self::Unknown,
        }
    }

    /// What follows from what is said about an update, where nothing is said about its risks.
    /// `taken` is whether somebody accepts the risk: then it may well apply to what is recommended.
    fn from_update(update: &ConditionalUpdate, risk: &ConditionalUpdateRisk, taken: bool) -> Self {
        let always = risk.matching_rules.first().map(|rule| &rule.type_);
        if always == Some(&MatchingRuleType::Always) {
            return Self::Applies;
        }
        let Some(said) = update.conditions.find(recommended::TYPE) else {
            return Self::NotPublished;
        };
        let told = format!("{} {}", risk.message, risk.url);
        // What could not be found out is told in one of two ways, by the age of the operator.
        let failed = [
            format!("Could not evaluate exposure to update risk {} (", risk.name),
            format!("Exposure to {} is unknown due to an evaluation failure", risk.name),
        ];
        let has_failed = failed.iter().any(|failed| said.message.contains(failed));
        match said.status {
            ConditionStatus::True if !taken => Self::DoesNotApply,
            ConditionStatus::False if said.reason == risk.name => Self::Applies,
            _ if has_failed => Self::Unknown,
            ConditionStatus::False if said.message.contains(&told) => Self::Applies,
            _ => Self::NotPublished,
        }
    }

    /// What is known about a risk of several updates together: the worst of it.
    pub(super) fn worst(all: impl IntoIterator<Item = Self>) -> Self {
        let weight = |one: &Self| match one {
            Self::DoesNotApply => 0,
            Self::NotPublished => 1,
            Self::Unknown => 2,
            Self::Applies => 3,
        };
        all.into_iter().max_by_key(weight).unwrap_or(Self::NotPublished)
    }

    /// Whether it may concern this cluster.
    pub fn may_apply(self) -> bool {
        self != Self::DoesNotApply
    }
}

/// What ClusterVersion lists.
#[derive(Clone, Copy)]
pub(super) struct Listed<'a> {
    pub(super) status: Option<&'a ClusterVersionStatus>,
}

impl<'a> Listed<'a> {
    pub(super) fn of(version: &'a ClusterVersion) -> Self {
        Self { status: version.status.as_ref() }
    }

    /// The version from which updates begin.
    pub(super) fn current(self) -> Option<&'a str> {
        let begun = self.status.and_then(|status| status.history.first()?.version.as_deref());
        let desired = self.status.map(|status| status.desired.version.as_str());
        begun.or(desired).filter(|version| !version.is_empty())
    }

    /// The condition of that type.
    pub(super) fn condition(self, type_: &str) -> Option<&'a OperatorCondition> {
        self.status?.conditions.find(type_)
    }

    /// The updates that have risks, the latest first.
    pub(super) fn conditional(self) -> Vec<&'a ConditionalUpdate> {
        let mut updates: Vec<_> =
            self.status.iter().flat_map(|status| &status.conditional_updates).collect();
        let latest_first = |update: &&ConditionalUpdate| {
            std::cmp::Reverse(Version::parse(&update.release.version).ok())
        };
        updates.sort_by_cached_key(latest_first);
        updates
    }

    /// The updates that are recommended.
    pub(super) fn available(self) -> impl Iterator<Item = &'a Release> {
        self.status.into_iter().flat_map(|status| status.available_updates.iter().flatten())
    }

    /// The updates that have the risk of that name, the latest first.
    pub(super) fn having(self, name: &str) -> Vec<&'a ConditionalUpdate> {
        let mut updates = self.conditional();
        updates.retain(|update| risk_names(update).any(|risk| risk == name));
        updates
    }

    /// The names of all risks.
    pub(super) fn names(self) -> impl Iterator<Item = &'a str> {
        let risks = self.status.into_iter().flat_map(|status| &status.conditional_update_risks);
        let of_updates = self.conditional().into_iter().flat_map(risk_names);
        risks.map(|risk| risk.name.as_str()).chain(of_updates)
    }

    /// The risk of that name, as all updates together have it.
    pub(super) fn whole(self, name: &str) -> Option<&'a ConditionalUpdateRisk> {
        let mut risks = self.status?.conditional_update_risks.iter();
        let of_updates = || self.conditional().into_iter().find_map(|update| risk(update, name));
        risks.find(|risk| risk.name == name).or_else(of_updates)
    }

    /// Whether a risk of an update concerns this cluster, as far as it is said or follows.
    pub(super) fn exposure(self, update: &ConditionalUpdate, name: &str, taken: bool) -> Exposure {
        match (self.applies(update, name), risk(update, name)) {
            (None, Some(risk)) => Exposure::from_update(update, risk, taken),
            (said, _) => Exposure::of(said),
        }
    }

    /// What is said about whether a risk of an update concerns this cluster: of that update, else
    /// of all.
    pub(super) fn applies(
        self,
        update: &'a ConditionalUpdate,
        name: &str,
    ) -> Option<&'a Condition> {
        let of_update = risk(update, name).and_then(|risk| risk.conditions.find(applies::TYPE));
        of_update.or_else(|| self.whole(name)?.conditions.find(applies::TYPE))
    }
}

/// The risk of that name, as the update has it.
pub(super) fn risk<'a>(
    update: &'a ConditionalUpdate,
    name: &str,
) -> Option<&'a ConditionalUpdateRisk> {
    update.risks.iter().find(|risk| risk.name == name)
}

/// The names of an update's risks; some twice.
pub(super) fn risk_names(update: &ConditionalUpdate) -> impl Iterator<Item = &str> {
    update.risks.iter().map(|risk| &risk.name).chain(&update.risk_names).map(String::as_str)
}

/// Whether an update is recommended: `True`, `False` or `Unknown`.
pub(super) fn recommended(update: &ConditionalUpdate) -> String {
    let condition = update.conditions.find(recommended::TYPE);
    condition.map_or(ConditionStatus::Unknown, |one| one.status.clone()).to_string()
}
