//! What ClusterVersion lists about updates and their risks.

use fairway_api::cluster_version::{
    ClusterVersionStatus, ConditionalUpdate, ConditionalUpdateRisk, Release,
};
use fairway_api::reason::recommended;
use fairway_api::{
    ClusterVersion, Condition, ConditionStatus, Conditions as _, OperatorCondition, Version,
};

use crate::exposure::{self, Exposure};

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

    /// Whether a risk of an update concerns this cluster.
    pub(super) fn exposure(self, update: &ConditionalUpdate, name: &str, taken: bool) -> Exposure {
        let nothing = Exposure::NotReported;
        self.status.map_or(nothing, |status| Exposure::of(status, update, name, taken))
    }

    /// What is said about that.
    pub(super) fn applies(
        self,
        update: &'a ConditionalUpdate,
        name: &str,
    ) -> Option<&'a Condition> {
        exposure::said(self.status?, update, name)
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
