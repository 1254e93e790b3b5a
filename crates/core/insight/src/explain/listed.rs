//! Updates and risks that ClusterVersion lists.

use fairway_api::cluster_version::{
    ClusterVersionStatus, ConditionalUpdate, ConditionalUpdateRisk, Release,
};
use fairway_api::reason::recommended;
use fairway_api::{
    ClusterVersion, Condition, ConditionStatus, Conditions as _, OperatorCondition, Version,
};

use crate::exposure::{self, Exposure};

/// Updates and risks that ClusterVersion lists.
#[derive(Clone, Copy)]
pub(super) struct ListedUpdates<'a> {
    pub(super) status: Option<&'a ClusterVersionStatus>,
}

impl<'a> ListedUpdates<'a> {
    pub(super) fn of(version: &'a ClusterVersion) -> Self {
        Self { status: version.status.as_ref() }
    }

    /// Version from which updates start.
    pub(super) fn current(self) -> Option<&'a str> {
        let begun = self.status.and_then(|status| status.history.first()?.version.as_deref());
        let desired = self.status.map(|status| status.desired.version.as_str());
        begun.or(desired).filter(|version| !version.is_empty())
    }

    /// Condition of ClusterVersion.
    pub(super) fn condition(self, type_: &str) -> Option<&'a OperatorCondition> {
        self.status?.conditions.find(type_)
    }

    /// Conditional updates, latest first.
    pub(super) fn conditional(self) -> Vec<&'a ConditionalUpdate> {
        let mut updates: Vec<_> =
            self.status.iter().flat_map(|status| &status.conditional_updates).collect();
        let latest_first = |update: &&ConditionalUpdate| {
            std::cmp::Reverse(Version::parse(&update.release.version).ok())
        };
        updates.sort_by_cached_key(latest_first);
        updates
    }

    /// Recommended updates.
    pub(super) fn available(self) -> impl Iterator<Item = &'a Release> {
        self.status.into_iter().flat_map(|status| status.available_updates.iter().flatten())
    }

    /// Conditional updates with a risk, latest first.
    pub(super) fn with_risk(self, name: &str) -> Vec<&'a ConditionalUpdate> {
        let mut updates = self.conditional();
        updates.retain(|update| risk_names(update).any(|risk| risk == name));
        updates
    }

    /// Names of all risks.
    pub(super) fn names(self) -> impl Iterator<Item = &'a str> {
        let risks = self.status.into_iter().flat_map(|status| &status.conditional_update_risks);
        let of_updates = self.conditional().into_iter().flat_map(risk_names);
        risks.map(|risk| risk.name.as_str()).chain(of_updates)
    }

    /// Definition of a risk for all updates.
    pub(super) fn definition(self, name: &str) -> Option<&'a ConditionalUpdateRisk> {
        let mut risks = self.status?.conditional_update_risks.iter();
        let of_updates = || self.conditional().into_iter().find_map(|update| risk(update, name));
        risks.find(|risk| risk.name == name).or_else(of_updates)
    }

    /// Whether a risk of an update applies to the cluster.
    pub(super) fn exposure(
        self,
        update: &ConditionalUpdate,
        name: &str,
        accepted: bool,
    ) -> Exposure {
        let nothing = Exposure::NotReported;
        self.status.map_or(nothing, |status| Exposure::of(status, update, name, accepted))
    }

    /// Condition `Applies` of a risk of an update.
    pub(super) fn applies(
        self,
        update: &'a ConditionalUpdate,
        name: &str,
    ) -> Option<&'a Condition> {
        exposure::applies_condition(self.status?, update, name)
    }
}

/// Definition of a risk in an update.
pub(super) fn risk<'a>(
    update: &'a ConditionalUpdate,
    name: &str,
) -> Option<&'a ConditionalUpdateRisk> {
    update.risks.iter().find(|risk| risk.name == name)
}

/// Names of the risks of an update, with duplicates.
pub(super) fn risk_names(update: &ConditionalUpdate) -> impl Iterator<Item = &str> {
    update.risks.iter().map(|risk| &risk.name).chain(&update.risk_names).map(String::as_str)
}

/// Status of the condition `Recommended`: `True`, `False` or `Unknown`.
pub(super) fn recommended(update: &ConditionalUpdate) -> String {
    let condition = update.conditions.find(recommended::TYPE);
    condition.map_or(ConditionStatus::Unknown, |one| one.status.clone()).to_string()
}
