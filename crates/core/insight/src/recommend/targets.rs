//! The updates of a cluster, and whether they are recommended for it.

use std::cmp::Reverse;

use fairway_api::cluster_version::{ConditionalUpdate, ConditionalUpdateRisk, Release};
use fairway_api::reason::{applies, recommended};
use fairway_api::{ClusterVersionStatus, ConditionStatus, Conditions as _, Version};
use schemars::JsonSchema;
use serde::Serialize;

use super::blanket::Blanket;
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

/// What speaks against all updates to another minor version, as a risk.
pub(crate) const UPGRADEABLE_FALSE: &str = "UpgradeableFalse";

impl Target {
    /// Whether nothing speaks against it.
    pub fn is_recommended(&self) -> bool {
        self.recommended == "True"
    }
}

/// The updates, the latest first; and versions that are none.
pub(super) fn of(status: &ClusterVersionStatus) -> (Vec<Target>, Vec<String>) {
    let blanket = Blanket::of(status);
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
                let said = Said::about(update, status);
                let against = blanket.filter(|blanket| blanket.is_against(update, &version));
                let said = against.into_iter().fold(said, Said::with_blanket);
                targets.push((Reverse(version), said.about_release(release)));
            }
            Err(_) => invalid_versions.push(release.version.clone()),
        }
    }
    targets.sort_by(|(a, _), (b, _)| a.cmp(b));
    (targets.into_iter().map(|(_, target)| target).collect(), invalid_versions)
}

/// What is said against an update.
#[derive(Default)]
struct Said {
    /// None where nothing speaks against it.
    against: Option<Against>,
    risks: Vec<String>,
}

/// What speaks against an update.
struct Against {
    status: ConditionStatus,
    reason: String,
    message: String,
    /// Whether anybody says so, or only nobody says otherwise.
    said: bool,
}

impl Said {
    fn about(update: Option<&ConditionalUpdate>, status: &ClusterVersionStatus) -> Self {
        let Some(update) = update else { return Self::default() };
        let against = match update.conditions.find(recommended::TYPE) {
            Some(fine) if fine.status == ConditionStatus::True => None,
            Some(one) => Some(Against {
                status: one.status.clone(),
                reason: one.reason.clone(),
                message: one.message.clone(),
                said: true,
            }),
            None if update.risks.is_empty() && update.risk_names.is_empty() => None,
            None => Some(Against {
                status: ConditionStatus::Unknown,
                reason: "NoConditions".to_owned(),
                message: format!(
                    "the exposure to its risks is unknown: {}",
                    names(update).join(", ")
                ),
                said: false,
            }),
        };
        let risks = if against.is_some() { may_apply(update, status) } else { Vec::new() };
        Self { against, risks }
    }

    /// What is said, with what stands against every update to another minor version on top.
    fn with_blanket(self, blanket: Blanket) -> Self {
        let (reason, message) =
            if let Some(Against { message: other, said: true, .. }) = self.against {
                ("MultipleReasons".to_owned(), format!("{}\n\n{other}", blanket.message()))
            } else {
                let reason = blanket.reason().unwrap_or(UPGRADEABLE_FALSE);
                (reason.to_owned(), blanket.message().to_owned())
            };
        let mut risks = self.risks;
        risks.push(UPGRADEABLE_FALSE.to_owned());
        let status = ConditionStatus::False;
        Self { against: Some(Against { status, reason, message, said: true }), risks }
    }

    fn about_release(self, release: &Release) -> Target {
        let (recommended, reason, message) = match self.against {
            None => (ConditionStatus::True, None, None),
            Some(Against { status, reason, message, .. }) => (status, Some(reason), Some(message)),
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

/// The names of the risks of an update.
fn names(update: &ConditionalUpdate) -> Vec<String> {
    let risks = update.risks.iter().map(|risk| &risk.name);
    let mut names: Vec<String> = risks.chain(&update.risk_names).cloned().collect();
    names.sort();
    names.dedup();
    names
}

/// The names of the risks of an update, without those that are known not to apply, and those that
/// are only told: what a preflight says that is not complete holds nothing up.
fn may_apply(update: &ConditionalUpdate, status: &ClusterVersionStatus) -> Vec<String> {
    let every = update.risks.iter().chain(&status.conditional_update_risks);
    let applies_not = |name: &String| {
        let mut defined = every.clone().filter(|risk| risk.name == *name);
        let says_no = |risk: &ConditionalUpdateRisk| {
            let said = risk.conditions.find(applies::TYPE);
            said.is_some_and(|it| it.status == ConditionStatus::False || is_advice(&it.reason))
        };
        let says_yes = |risk: &ConditionalUpdateRisk| {
            let said = risk.conditions.find(applies::TYPE);
            said.is_some_and(|it| it.status == ConditionStatus::True && !is_advice(&it.reason))
        };
        defined.clone().any(says_no) && !defined.any(says_yes)
    };
    names(update).into_iter().filter(|name| !applies_not(name)).collect()
}
