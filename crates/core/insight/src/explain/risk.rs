//! Why a risk is what it is.

use fairway_api::cluster_version::{ConditionalUpdate, ConditionalUpdateRisk};
use fairway_api::reason::{applies, recommended};
use fairway_api::{Condition, Conditions as _};
use fairway_risk::{Acceptance, Source, Standing, definition_hash};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::acceptance::{self, Accepted};
use super::listed::{self, Listed};
use super::rule::{self, Rule};
use super::{Known, origin};
use crate::age::{seconds_since, time};
use crate::exposure::Exposure;
use crate::recommend::Verdict;

/// A risk, and everything that is known about it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedRisk {
    /// The name.
    pub name: String,
    /// Who publishes it.
    pub sources: Vec<Source>,
    /// What it says: one where everybody says the same.
    pub definitions: Vec<Definition>,
    /// Whether it concerns this cluster.
    pub exposure: Exposure,
    /// What the operator says about that.
    pub applies: Option<Applies>,
    /// The updates that have it, the latest first.
    pub updates: Vec<ConcernedUpdate>,
    /// Whether the administrator takes it.
    pub acceptance: Accepted,
}

/// What a risk says.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    /// What may go wrong.
    pub message: String,
    /// Where people read about it.
    pub url: String,
    /// Whom it concerns.
    pub rules: Vec<Rule>,
    /// The versions of the updates that have it in these words.
    pub updates: Vec<String>,
    #[serde(skip)]
    hash: String,
}

/// What the operator says about whether a risk concerns this cluster.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Applies {
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// One word for why.
    pub reason: String,
    /// Why, for people.
    pub message: String,
    /// Since when.
    #[schemars(with = "Option<String>")]
    pub since: Option<Timestamp>,
    /// How long that is.
    pub age_seconds: Option<i64>,
}

impl Applies {
    pub(super) fn of(condition: &Condition, now: Timestamp) -> Self {
        let since = time(condition.last_transition_time.as_ref());
        Self {
            status: condition.status.to_string(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            since,
            age_seconds: seconds_since(since, now),
        }
    }
}

/// An update that has the risk.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConcernedUpdate {
    /// The version that it leads to.
    pub version: String,
    /// Whether it is recommended: `True`, `False` or `Unknown`.
    pub recommended: String,
    /// What the risk means for it.
    #[serde(flatten)]
    pub meaning: Meaning,
}

/// What a risk means for an update.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Meaning {
    /// Whether it concerns this cluster.
    pub exposure: Exposure,
    /// Whether the administrator takes it for this version, in one word.
    pub acceptance: &'static str,
    /// Whether it keeps the update from being recommended, perhaps among others.
    pub stands_against: bool,
    /// What a sentence about the acceptance is made of.
    #[serde(skip)]
    pub standing: Standing,
}

/// Who looks at updates one by one, and with what in mind.
pub(super) struct Judging<'a> {
    pub(super) listed: Listed<'a>,
    pub(super) acceptance: &'a Acceptance,
    pub(super) now: Timestamp,
}

impl Judging<'_> {
    /// What the risk of that name means for an update.
    pub(super) fn meaning(&self, update: &ConditionalUpdate, name: &str) -> Meaning {
        let hash = self.listed.whole(name).map(definition_hash).unwrap_or_default();
        let standing = self.acceptance.standing(name, &update.release.version, &hash, self.now);
        let exposure = self.listed.exposure(update, name, standing.is_accepted());
        let is_recommended = update.conditions.is_true(recommended::TYPE);
        Meaning {
            exposure,
            acceptance: standing.word(),
            stands_against: !is_recommended && exposure.may_apply() && !standing.is_accepted(),
            standing,
        }
    }

    fn concerned(&self, update: &ConditionalUpdate, name: &str) -> ConcernedUpdate {
        ConcernedUpdate {
            version: update.release.version.clone(),
            recommended: listed::recommended(update),
            meaning: self.meaning(update, name),
        }
    }
}

impl ExplainedRisk {
    /// Whether there is anything to say about it.
    pub fn is_known(&self) -> bool {
        !self.definitions.is_empty() || !self.updates.is_empty() || self.acceptance.named
    }

    pub(super) fn verdict(&self) -> Verdict {
        let against = self.updates.iter().map(|update| &update.meaning);
        let against: Vec<_> = against.filter(|meaning| meaning.stands_against).collect();
        if against.iter().any(|meaning| meaning.exposure == Exposure::Applies) {
            Verdict::No
        } else if self.is_known() && against.is_empty() {
            Verdict::Yes
        } else {
            Verdict::CannotTell
        }
    }
}

/// Everything that is known about the risk of that name.
pub(super) fn explain(name: &str, known: &Known, now: Timestamp) -> ExplainedRisk {
    let listed = Listed::of(known.version);
    let having = listed.having(name);
    let all: Vec<_> = having.iter().filter_map(|update| listed::risk(update, name)).collect();
    let whole = listed.whole(name);
    let published: Vec<_> = all.iter().copied().chain(whole).collect();
    let judging = Judging { listed, acceptance: &Acceptance::of(known.version), now };
    let said = published.iter().find_map(|risk| risk.conditions.find(applies::TYPE));
    let of_whole = whole.and_then(|risk| risk.conditions.find(applies::TYPE));
    let condition = of_whole.or(said);
    let updates: Vec<_> = having.iter().map(|update| judging.concerned(update, name)).collect();
    let exposure = match condition {
        Some(condition) => Exposure::as_said(Some(condition)),
        None => Exposure::worst(updates.iter().map(|update| update.meaning.exposure)),
    };
    ExplainedRisk {
        name: name.to_owned(),
        sources: origin::of(name, &published, known.version, known.components),
        definitions: definitions(&having, whole, name, known, now),
        exposure,
        applies: condition.map(|condition| Applies::of(condition, now)),
        updates,
        acceptance: acceptance::of(name, known.version, now),
    }
}

/// What the risk says, in as many ways as there are. What stands for several of them together
/// says nothing new.
fn definitions(
    having: &[&ConditionalUpdate],
    whole: Option<&ConditionalUpdateRisk>,
    name: &str,
    known: &Known,
    now: Timestamp,
) -> Vec<Definition> {
    let mut definitions: Vec<Definition> = Vec::new();
    let of = |risk: &ConditionalUpdateRisk| Definition {
        message: risk.message.clone(),
        url: risk.url.clone(),
        rules: rule::all(&risk.matching_rules, known.notes, now),
        updates: Vec::new(),
        hash: definition_hash(risk),
    };
    for update in having {
        let Some(risk) = listed::risk(update, name).or(whole) else { continue };
        let (hash, version) = (definition_hash(risk), update.release.version.clone());
        match definitions.iter_mut().find(|known| known.hash == hash) {
            Some(same) => same.updates.push(version),
            None => definitions.push(Definition { updates: vec![version], ..of(risk) }),
        }
    }
    if definitions.is_empty() {
        definitions.extend(whole.map(of));
    }
    definitions
}
