//! Why an update is recommended, or not, or not offered at all.

use fairway_api::cluster_version::ConditionalUpdate;
use fairway_api::reason::recommended;
use fairway_api::{Conditions as _, Version};
use fairway_risk::{Acceptance, Source};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::listed::{self, Listed};
use super::risk::{Applies, Judging, Meaning};
use super::why_not::{self, WhyNot};
use super::{Known, origin};
use crate::recommend::Verdict;

/// An update, and everything that is known about it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedUpdate {
    /// The version that it leads to.
    pub to: String,
    /// The image of the release.
    pub image: Option<String>,
    /// Where people read about it.
    pub url: Option<String>,
    /// The channels that the release is known to be in.
    pub channels: Vec<String>,
    /// The channel that updates come from.
    pub channel: Option<String>,
    /// The update service; none is the operator's own choice.
    pub upstream: Option<String>,
    /// Whether it is offered.
    pub offer: Offer,
    /// What the operator says about whether it is recommended.
    pub recommended: Option<Applies>,
    /// Its risks, by name.
    pub risks: Vec<RiskOfUpdate>,
    /// Why it is not offered, or what stands against it besides its risks.
    pub why_not: Vec<WhyNot>,
}

/// Whether an update is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Offer {
    /// The cluster is at that version already, or on its way to it.
    Here,
    /// To every cluster.
    Unconditional,
    /// To those that its risks do not concern.
    Conditional,
    /// It is not.
    NotOffered,
}

/// A risk of an update.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RiskOfUpdate {
    /// The name.
    pub name: String,
    /// Who publishes it.
    pub sources: Vec<Source>,
    /// What may go wrong.
    pub message: Option<String>,
    /// What the operator says about whether it concerns this cluster.
    pub applies: Option<Applies>,
    /// What it means for the update.
    #[serde(flatten)]
    pub meaning: Meaning,
}

impl ExplainedUpdate {
    pub(super) fn verdict(&self) -> Verdict {
        let recommended = self.recommended.as_ref().map(|condition| condition.status.as_str());
        match (self.offer, recommended) {
            (Offer::Unconditional | Offer::Conditional, _) if !self.why_not.is_empty() => {
                Verdict::No
            }
            (Offer::Here | Offer::Unconditional, _) | (Offer::Conditional, Some("True")) => {
                Verdict::Yes
            }
            (Offer::Conditional, Some("False")) => Verdict::No,
            (Offer::Conditional | Offer::NotOffered, _) => Verdict::CannotTell,
        }
    }
}

/// Everything that is known about the update to that version.
pub(super) fn explain(version: &Version, known: &Known, now: Timestamp) -> ExplainedUpdate {
    let listed = Listed::of(known.version);
    let to = version.to_string();
    let conditional = listed.conditional().into_iter().find(|update| update.release.version == to);
    let available = listed.available().find(|release| release.version == to);
    let release = conditional.map(|update| &update.release).or(available);
    let offer = match (conditional, available) {
        _ if listed.current() == Some(to.as_str()) => Offer::Here,
        (Some(update), _) if is_offered(update) => Offer::Conditional,
        (None, Some(_)) => Offer::Unconditional,
        _ => Offer::NotOffered,
    };
    let spec = &known.version.spec;
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let condition = conditional.and_then(|update| update.conditions.find(recommended::TYPE));
    ExplainedUpdate {
        image: release.map(|release| release.image.clone()),
        url: release.and_then(|release| given(&release.url)),
        channels: release.map(|release| release.channels.clone()).unwrap_or_default(),
        channel: given(&spec.channel),
        upstream: given(&spec.upstream),
        offer,
        recommended: condition.map(|condition| Applies::of(condition, now)),
        risks: conditional.map(|update| risks(update, known, now)).unwrap_or_default(),
        why_not: match offer {
            Offer::NotOffered => why_not::of(version, known.version, known.graph),
            Offer::Here => Vec::new(),
            Offer::Unconditional | Offer::Conditional => {
                why_not::in_spite_of_the_offer(version, conditional, known.version)
            }
        },
        to,
    }
}

/// Whether it is listed for more than that somebody has asked about it.
fn is_offered(update: &ConditionalUpdate) -> bool {
    let not_offered = recommended::NOT_OFFERED_BY_UPDATE_SERVICE.code;
    listed::risk_names(update).all(|name| name != not_offered)
}

fn risks(update: &ConditionalUpdate, known: &Known, now: Timestamp) -> Vec<RiskOfUpdate> {
    let listed = Listed::of(known.version);
    let judging = Judging { listed, acceptance: &Acceptance::of(known.version), now };
    let mut names: Vec<&str> = listed::risk_names(update).collect();
    names.sort_unstable();
    names.dedup();
    let explain = |name: &str| {
        let risk = listed::risk(update, name).or_else(|| listed.whole(name));
        let published: Vec<_> = risk.into_iter().collect();
        RiskOfUpdate {
            name: name.to_owned(),
            message: risk.map(|risk| risk.message.clone()).filter(|text| !text.is_empty()),
            sources: origin::of(name, &published, known.version, known.components),
            applies: listed.applies(update, name).map(|condition| Applies::of(condition, now)),
            meaning: judging.meaning(update, name),
        }
    };
    names.into_iter().map(explain).collect()
}
