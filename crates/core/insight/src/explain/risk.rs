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

/// A risk, its rules, its updates and its acceptance.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedRisk {
    /// Name of the risk.
    pub name: String,
    /// Publishers of the risk.
    pub sources: Vec<Source>,
    /// Definitions of the risk; more than one if the updates disagree.
    pub definitions: Vec<Definition>,
    /// Whether the risk applies to the cluster.
    pub exposure: Exposure,
    /// Condition `Applies` that the operator reports for the risk.
    pub applies_condition: Option<ReportedCondition>,
    /// Updates with this risk, latest first.
    pub updates: Vec<ConcernedUpdate>,
    /// Acceptance of the risk.
    pub acceptance: Accepted,
}

/// Definition of a risk.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    /// Description of the risk.
    pub message: String,
    /// Page about the risk.
    pub url: String,
    /// Rules that determine whether the risk applies.
    pub rules: Vec<Rule>,
    /// Versions of the updates with this definition.
    pub updates: Vec<String>,
    #[serde(skip)]
    hash: String,
}

/// Condition that the operator reports for a risk or an update.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedCondition {
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Reason, one CamelCase word.
    pub reason: String,
    /// Human-readable details.
    pub message: String,
    /// Time of the latest change of `status`.
    #[schemars(with = "Option<String>")]
    pub last_transition_time: Option<Timestamp>,
    /// Seconds since `lastTransitionTime`.
    pub age_seconds: Option<i64>,
}

impl ReportedCondition {
    pub(super) fn of(condition: &Condition, now: Timestamp) -> Self {
        let since = time(condition.last_transition_time.as_ref());
        Self {
            status: condition.status.to_string(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            last_transition_time: since,
            age_seconds: seconds_since(since, now),
        }
    }
}

/// Update with the risk.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConcernedUpdate {
    /// Version of the target release.
    pub version: String,
    /// Status of the condition `Recommended`: `True`, `False` or `Unknown`.
    pub recommended: String,
    /// Effect of the risk on the update.
    #[serde(flatten)]
    pub meaning: Meaning,
}

/// Effect of a risk on an update.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Meaning {
    /// Whether the risk applies to the cluster.
    pub exposure: Exposure,
    /// State of the acceptance for this version.
    pub acceptance: &'static str,
    /// Whether the risk prevents the recommendation of the update, alone or with others.
    pub blocking: bool,
    /// State of the acceptance, for the text output.
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
            blocking: !is_recommended && exposure.may_apply() && !standing.is_accepted(),
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
        !self.definitions.is_empty() || !self.updates.is_empty() || self.acceptance.listed
    }

    pub(super) fn verdict(&self) -> Verdict {
        let against = self.updates.iter().map(|update| &update.meaning);
        let against: Vec<_> = against.filter(|meaning| meaning.blocking).collect();
        if against.iter().any(|meaning| meaning.exposure == Exposure::Exposed) {
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
        applies_condition: condition.map(|condition| ReportedCondition::of(condition, now)),
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
