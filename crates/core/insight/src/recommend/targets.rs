//! The updates of a cluster, and whether they are recommended for it.

use std::cmp::Reverse;

use fairway_api::cluster_version::{ConditionalUpdate, ConditionalUpdateRisk, Release};
use fairway_api::reason::{applies, recommended, upgradeable};
use fairway_api::{
    ClusterVersionStatus, ConditionStatus, Conditions as _, OperatorCondition, Version,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::exposure::is_advice;

/// An update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Target {
    /// Version of the target release.
    pub version: String,
    /// Image of the target release.
    pub image: String,
    /// Page about the target release.
    pub url: Option<String>,
    /// Status of the condition `Recommended`: `True`, `False` or `Unknown`.
    pub recommended: String,
    /// Reason why it is not recommended, one CamelCase word.
    pub reason: Option<String>,
    /// Human-readable details.
    pub message: Option<String>,
    /// Names of the risks that block the update.
    pub risks: Vec<String>,
}

/// Name of the risk for `Upgradeable=False` of ClusterVersion.
pub(crate) const UPGRADEABLE_FALSE: &str = "UpgradeableFalse";

impl Target {
    /// Whether the update is recommended.
    pub fn is_recommended(&self) -> bool {
        self.recommended == "True"
    }
}

/// Listed updates, latest first, and versions that are not valid.
pub(super) fn of(status: &ClusterVersionStatus) -> (Vec<Target>, Vec<String>) {
    let upgradeable = UpgradeableFalse::of(status);
    let conditional = status.conditional_updates.iter();
    let conditional = conditional.map(|update| (&update.release, Some(update)));
    let known = |release: &Release| {
        status.conditional_updates.iter().any(|update| update.release.image == release.image)
    };
    let available = status.available_updates.iter().flatten().filter(|release| !known(release));
    let available = available.map(|release| (release, None));
    let mut invalid_versions = Vec::new();
    let mut targets = Vec::new();
    for (release, update) in conditional.chain(available) {
        match Version::parse(&release.version) {
            Ok(version) => {
                let assessment = Assessment::of(update, status);
                let blocking = upgradeable.filter(|it| it.blocks(update, &version));
                let assessment =
                    blocking.into_iter().fold(assessment, Assessment::with_upgradeable);
                targets.push((Reverse(version), assessment.target(release)));
            }
            Err(_) => invalid_versions.push(release.version.clone()),
        }
    }
    targets.sort_by(|(a, _), (b, _)| a.cmp(b));
    (targets.into_iter().map(|(_, target)| target).collect(), invalid_versions)
}

/// Recommendation of an update.
#[derive(Default)]
struct Assessment {
    /// Why the update is not recommended, `None` if it is.
    obstacle: Option<Obstacle>,
    risks: Vec<String>,
}

/// Why an update is not recommended.
struct Obstacle {
    status: ConditionStatus,
    reason: String,
    message: String,
    /// Whether a condition reports it. `false` if a condition is missing.
    reported: bool,
}

impl Assessment {
    fn of(update: Option<&ConditionalUpdate>, status: &ClusterVersionStatus) -> Self {
        let Some(update) = update else { return Self::default() };
        let obstacle = match update.conditions.find(recommended::TYPE) {
            Some(condition) if condition.status == ConditionStatus::True => None,
            Some(condition) => Some(Obstacle {
                status: condition.status.clone(),
                reason: condition.reason.clone(),
                message: condition.message.clone(),
                reported: true,
            }),
            None if update.risks.is_empty() && update.risk_names.is_empty() => None,
            None => Some(Obstacle {
                status: ConditionStatus::Unknown,
                reason: "NoConditions".to_owned(),
                message: format!(
                    "the exposure to its risks is unknown: {}",
                    names(update).join(", ")
                ),
                reported: false,
            }),
        };
        let risks = if obstacle.is_some() { may_apply(update, status) } else { Vec::new() };
        Self { obstacle, risks }
    }

    /// Adds `Upgradeable=False`.
    fn with_upgradeable(self, upgradeable: UpgradeableFalse) -> Self {
        let (reason, message) =
            if let Some(Obstacle { message: other, reported: true, .. }) = self.obstacle {
                ("MultipleReasons".to_owned(), format!("{}\n\n{other}", upgradeable.message()))
            } else {
                let reason = upgradeable.reason().unwrap_or(UPGRADEABLE_FALSE);
                (reason.to_owned(), upgradeable.message().to_owned())
            };
        let mut risks = self.risks;
        risks.push(UPGRADEABLE_FALSE.to_owned());
        let status = ConditionStatus::False;
        Self { obstacle: Some(Obstacle { status, reason, message, reported: true }), risks }
    }

    fn target(self, release: &Release) -> Target {
        let (recommended, reason, message) = match self.obstacle {
            None => (ConditionStatus::True, None, None),
            Some(Obstacle { status, reason, message, .. }) => (status, Some(reason), Some(message)),
        };
        Target {
            version: release.version.clone(),
            image: release.image.clone(),
            url: release.url.clone().filter(|url| !url.is_empty()),
            recommended: recommended.to_string(),
            reason,
            message,
            risks: self.risks,
        }
    }
}

/// `Upgradeable=False` of ClusterVersion, which blocks updates to later minor versions.
#[derive(Clone, Copy)]
pub(crate) struct UpgradeableFalse<'a> {
    from: (u64, u64),
    condition: &'a OperatorCondition,
}

impl<'a> UpgradeableFalse<'a> {
    /// `None` if the condition is not `False`, or if it summarises risks of the ledger: then each
    /// update lists these risks, and they can be accepted.
    pub(crate) fn of(status: &'a ClusterVersionStatus) -> Option<Self> {
        let condition = status.conditions.find(upgradeable::TYPE)?;
        let from = Version::parse(&status.desired.version).ok()?;
        let upgradeable = Self { from: (from.major(), from.minor()), condition };
        let is_in_ledger =
            status.conditional_update_risks.iter().any(|risk| upgradeable.has_risk(risk));
        (condition.status == ConditionStatus::False && !is_in_ledger).then_some(upgradeable)
    }

    /// Whether it blocks an update. Updates with a risk of the same message already report it.
    pub(crate) fn blocks(&self, update: Option<&ConditionalUpdate>, to: &Version) -> bool {
        let reports_it = |risk: &ConditionalUpdateRisk| {
            !self.message().is_empty() && risk.message.contains(self.message())
        };
        let mut risks = update.iter().flat_map(|update| &update.risks);
        (to.major(), to.minor()) > self.from && !risks.any(reports_it)
    }

    pub(crate) fn message(&self) -> &'a str {
        self.condition.message.as_deref().unwrap_or_default()
    }

    pub(crate) fn reason(&self) -> Option<&'a str> {
        self.condition.reason.as_deref()
    }

    /// Whether the condition names the risk: as its reason, or at the start of a line.
    fn has_risk(&self, risk: &ConditionalUpdateRisk) -> bool {
        let names_it =
            |text: &str| text.strip_prefix(&risk.name).is_some_and(|it| it.starts_with(": "));
        let mut lines = self.message().lines().map(|line| line.strip_prefix("* ").unwrap_or(line));
        let is_reason = self.reason() == Some(&risk.name) && self.message() == risk.message;
        is_reason || lines.any(names_it)
    }
}

/// Names of the risks of an update.
fn names(update: &ConditionalUpdate) -> Vec<String> {
    let risks = update.risks.iter().map(|risk| &risk.name);
    let mut names: Vec<String> = risks.chain(&update.risk_names).cloned().collect();
    names.sort();
    names.dedup();
    names
}

/// Names of the risks of an update, except those that do not apply and those that do not block:
/// findings of incomplete preflights.
fn may_apply(update: &ConditionalUpdate, status: &ClusterVersionStatus) -> Vec<String> {
    let every = update.risks.iter().chain(&status.conditional_update_risks);
    let does_not_apply = |name: &String| {
        let mut defined = every.clone().filter(|risk| risk.name == *name);
        let is_excluded = |risk: &ConditionalUpdateRisk| {
            let condition = risk.conditions.find(applies::TYPE);
            condition.is_some_and(|it| it.status == ConditionStatus::False || is_advice(&it.reason))
        };
        let is_included = |risk: &ConditionalUpdateRisk| {
            let condition = risk.conditions.find(applies::TYPE);
            condition.is_some_and(|it| it.status == ConditionStatus::True && !is_advice(&it.reason))
        };
        defined.clone().any(is_excluded) && !defined.any(is_included)
    };
    names(update).into_iter().filter(|name| !does_not_apply(name)).collect()
}
