//! `Upgradeable=False`: it speaks against every update to a later minor version.

use fairway_api::cluster_version::{ConditionalUpdate, ConditionalUpdateRisk};
use fairway_api::reason::upgradeable;
use fairway_api::{
    ClusterVersionStatus, ConditionStatus, Conditions as _, OperatorCondition, Version,
};

/// `Upgradeable=False`, where updates do not have it among their risks.
#[derive(Clone, Copy)]
pub(crate) struct Blanket<'a> {
    from: (u64, u64),
    condition: &'a OperatorCondition,
}

impl<'a> Blanket<'a> {
    /// None where nothing is said against later minor versions, or where that is a view of risks:
    /// then each update says for itself which of them it has, and whether they are accepted.
    pub(crate) fn of(status: &'a ClusterVersionStatus) -> Option<Self> {
        let condition = status.conditions.find(upgradeable::TYPE)?;
        let from = Version::parse(&status.desired.version).ok()?;
        let blanket = Self { from: (from.major(), from.minor()), condition };
        let is_view = status.conditional_update_risks.iter().any(|risk| blanket.is_about(risk));
        (condition.status == ConditionStatus::False && !is_view).then_some(blanket)
    }

    /// Whether it speaks against an update. One that has it among its risks says so itself.
    pub(crate) fn is_against(&self, update: Option<&ConditionalUpdate>, to: &Version) -> bool {
        let is_in = |risk: &ConditionalUpdateRisk| {
            !self.message().is_empty() && risk.message.contains(self.message())
        };
        let mut risks = update.iter().flat_map(|update| &update.risks);
        (to.major(), to.minor()) > self.from && !risks.any(is_in)
    }

    pub(crate) fn message(&self) -> &'a str {
        self.condition.message.as_deref().unwrap_or_default()
    }

    pub(crate) fn reason(&self) -> Option<&'a str> {
        self.condition.reason.as_deref()
    }

    /// Whether it tells of that risk by its name: as its reason, or at the beginning of a line.
    fn is_about(&self, risk: &ConditionalUpdateRisk) -> bool {
        let said =
            |text: &str| text.strip_prefix(&risk.name).is_some_and(|it| it.starts_with(": "));
        let mut lines = self.message().lines().map(|line| line.strip_prefix("* ").unwrap_or(line));
        let is_reason = self.reason() == Some(&risk.name) && self.message() == risk.message;
        is_reason || lines.any(said)
    }
}
