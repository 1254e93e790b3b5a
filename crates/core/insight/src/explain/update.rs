//! Explanation of an update.

use fairway_api::cluster_version::ConditionalUpdate;
use fairway_api::reason::recommended;
use fairway_api::{Conditions as _, Version};
use fairway_risk::{Acceptance, RiskSource};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::ExplainInput;
use super::blockers::{self, UpdateBlocker};
use super::listed::{self, ListedUpdates};
use super::risk::{ReportedCondition, RiskContext, RiskEffect, sources_of};
use crate::Verdict;

/// An update, its risks and its blockers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedUpdate {
    /// Version of the target release.
    pub version: String,
    /// Image of the target release.
    pub image: Option<String>,
    /// Page about the target release.
    pub url: Option<String>,
    /// Known channels of the target release.
    pub channels: Vec<String>,
    /// Channel of the cluster.
    pub channel: Option<String>,
    /// URL of the update service, `null` if the operator uses its default.
    pub upstream: Option<String>,
    /// Whether the update service offers the update.
    pub offer: Offer,
    /// Condition `Recommended` that the operator reports for the update.
    pub recommended_condition: Option<ReportedCondition>,
    /// Risks of the update, by name.
    pub risks: Vec<RiskOfUpdate>,
    /// Why the update is not offered, or what else blocks it besides its risks.
    pub blockers: Vec<UpdateBlocker>,
}

/// Whether the update service offers an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Offer {
    /// The cluster has the release, or its rollout is in progress.
    Current,
    /// Offered to all clusters.
    Unconditional,
    /// Offered to clusters to which its risks do not apply.
    Conditional,
    /// Not offered.
    NotOffered,
}

/// Risk of an update.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RiskOfUpdate {
    /// Name of the risk.
    pub name: String,
    /// Publishers of the risk.
    pub sources: Vec<RiskSource>,
    /// Description of the risk.
    pub message: Option<String>,
    /// Condition `Applies` that the operator reports for the risk.
    pub applies_condition: Option<ReportedCondition>,
    /// Effect of the risk on the update.
    #[serde(flatten)]
    pub effect: RiskEffect,
}

impl ExplainedUpdate {
    pub(super) fn verdict(&self) -> Verdict {
        let recommended =
            self.recommended_condition.as_ref().map(|condition| condition.status.as_str());
        match (self.offer, recommended) {
            (Offer::Unconditional | Offer::Conditional, _) if !self.blockers.is_empty() => {
                Verdict::No
            }
            (Offer::Current | Offer::Unconditional, _) | (Offer::Conditional, Some("True")) => {
                Verdict::Yes
            }
            (Offer::Conditional, Some("False")) => Verdict::No,
            (Offer::Conditional | Offer::NotOffered, _) => Verdict::Unknown,
        }
    }
}

/// Explains the update to a version.
pub(super) fn explain(version: &Version, input: &ExplainInput, now: Timestamp) -> ExplainedUpdate {
    let listed = ListedUpdates::of(input.version);
    let to = version.to_string();
    let conditional = listed.conditional().into_iter().find(|update| update.release.version == to);
    let available = listed.available().find(|release| release.version == to);
    let release = conditional.map(|update| &update.release).or(available);
    let offer = match (conditional, available) {
        _ if listed.current() == Some(to.as_str()) => Offer::Current,
        (Some(update), _) if is_offered(update) => Offer::Conditional,
        (None, Some(_)) => Offer::Unconditional,
        _ => Offer::NotOffered,
    };
    let spec = &input.version.spec;
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let condition = conditional.and_then(|update| update.conditions.find(recommended::TYPE));
    ExplainedUpdate {
        image: release.map(|release| release.image.clone()),
        url: release.and_then(|release| given(&release.url)),
        channels: release.map(|release| release.channels.clone()).unwrap_or_default(),
        channel: given(&spec.channel),
        upstream: given(&spec.upstream),
        offer,
        recommended_condition: condition.map(|condition| ReportedCondition::of(condition, now)),
        risks: conditional.map(|update| risks(update, input, now)).unwrap_or_default(),
        blockers: match offer {
            Offer::NotOffered => blockers::of(version, input.version, input.graph),
            Offer::Current => Vec::new(),
            Offer::Unconditional | Offer::Conditional => {
                blockers::of_offered(version, conditional, input.version)
            }
        },
        version: to,
    }
}

/// Whether the update service offers the update. The operator also lists requested updates that are
/// not offered.
fn is_offered(update: &ConditionalUpdate) -> bool {
    let not_offered = recommended::NOT_OFFERED_BY_UPDATE_SERVICE.code;
    listed::risk_names(update).all(|name| name != not_offered)
}

fn risks(update: &ConditionalUpdate, input: &ExplainInput, now: Timestamp) -> Vec<RiskOfUpdate> {
    let listed = ListedUpdates::of(input.version);
    let context =
        RiskContext { listed, acceptance: &Acceptance::from_cluster_version(input.version), now };
    let mut names: Vec<&str> = listed::risk_names(update).collect();
    names.sort_unstable();
    names.dedup();
    let explain = |name: &str| {
        let risk = listed::risk(update, name).or_else(|| listed.definition(name));
        let published: Vec<_> = risk.into_iter().collect();
        RiskOfUpdate {
            name: name.to_owned(),
            message: risk.map(|risk| risk.message.clone()).filter(|text| !text.is_empty()),
            sources: sources_of(name, &published, input.version, input.components),
            applies_condition: listed
                .applies(update, name)
                .map(|condition| ReportedCondition::of(condition, now)),
            effect: context.effect(update, name),
        }
    };
    names.into_iter().map(explain).collect()
}
