//! Explanation of a risk.

use std::collections::BTreeSet;

use fairway_api::cluster_version::{ConditionalUpdate, ConditionalUpdateRisk};
use fairway_api::reason::{applies, recommended};
use fairway_api::{ClusterOperator, ClusterVersion, Condition, Conditions as _};
use fairway_risk::{
    Acceptance, AcceptanceState, AcceptanceTerms, RiskSource, definition_hash, sources,
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::ExplainInput;
use super::listed::{self, ListedUpdates};
use super::rule::{self, Rule};
use crate::Verdict;
use crate::exposure::{Exposure, publisher};
use crate::text::{seconds_since, time};

/// A risk, its rules, its updates and its acceptance.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedRisk {
    /// Name of the risk.
    pub name: String,
    /// Publishers of the risk.
    pub sources: Vec<RiskSource>,
    /// Definitions of the risk; more than one if the definition differs between updates.
    pub definitions: Vec<Definition>,
    /// Whether the risk applies to the cluster.
    pub exposure: Exposure,
    /// Condition `Applies` that the operator reports for the risk.
    pub applies_condition: Option<ReportedCondition>,
    /// Updates with this risk, latest first.
    pub updates: Vec<AffectedUpdate>,
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
pub struct AffectedUpdate {
    /// Version of the target release.
    pub version: String,
    /// Status of the condition `Recommended`: `True`, `False` or `Unknown`.
    pub recommended: String,
    /// Effect of the risk on the update.
    #[serde(flatten)]
    pub effect: RiskEffect,
}

/// Effect of a risk on an update.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RiskEffect {
    /// Whether the risk applies to the cluster.
    pub exposure: Exposure,
    /// State of the acceptance for this version.
    pub acceptance: &'static str,
    /// Whether the risk prevents the recommendation of the update, alone or together with other
    /// risks.
    pub blocking: bool,
    /// State of the acceptance, for the text output.
    #[serde(skip)]
    pub acceptance_state: AcceptanceState,
}

/// Data for the evaluation of risks of updates.
pub(super) struct RiskContext<'a> {
    pub(super) listed: ListedUpdates<'a>,
    pub(super) acceptance: &'a Acceptance,
    pub(super) now: Timestamp,
}

impl RiskContext<'_> {
    /// Effect of a risk on an update.
    pub(super) fn effect(&self, update: &ConditionalUpdate, name: &str) -> RiskEffect {
        let hash = self.listed.definition(name).map(definition_hash).unwrap_or_default();
        let acceptance_state =
            self.acceptance.state(name, &update.release.version, &hash, self.now);
        let exposure = self.listed.exposure(update, name, acceptance_state.is_accepted());
        let is_recommended = update.conditions.is_true(recommended::TYPE);
        RiskEffect {
            exposure,
            acceptance: acceptance_state.as_str(),
            blocking: !is_recommended && exposure.may_apply() && !acceptance_state.is_accepted(),
            acceptance_state,
        }
    }

    fn affected_update(&self, update: &ConditionalUpdate, name: &str) -> AffectedUpdate {
        AffectedUpdate {
            version: update.release.version.clone(),
            recommended: listed::recommended(update),
            effect: self.effect(update, name),
        }
    }
}

impl ExplainedRisk {
    /// Whether ClusterVersion has the risk in any form.
    pub fn is_known(&self) -> bool {
        !self.definitions.is_empty() || !self.updates.is_empty() || self.acceptance.listed
    }

    pub(super) fn verdict(&self) -> Verdict {
        let against = self.updates.iter().map(|update| &update.effect);
        let against: Vec<_> = against.filter(|effect| effect.blocking).collect();
        if against.iter().any(|effect| effect.exposure == Exposure::Exposed) {
            Verdict::No
        } else if self.is_known() && against.is_empty() {
            Verdict::Yes
        } else {
            Verdict::Unknown
        }
    }
}

/// Explains a risk.
pub(super) fn explain(name: &str, input: &ExplainInput, now: Timestamp) -> ExplainedRisk {
    let listed = ListedUpdates::of(input.version);
    let with_risk = listed.with_risk(name);
    let all: Vec<_> = with_risk.iter().filter_map(|update| listed::risk(update, name)).collect();
    let definition = listed.definition(name);
    let published: Vec<_> = all.iter().copied().chain(definition).collect();
    let context =
        RiskContext { listed, acceptance: &Acceptance::from_cluster_version(input.version), now };
    let of_update = published.iter().find_map(|risk| risk.conditions.find(applies::TYPE));
    let of_whole = definition.and_then(|risk| risk.conditions.find(applies::TYPE));
    let condition = of_whole.or(of_update);
    let updates: Vec<_> =
        with_risk.iter().map(|update| context.affected_update(update, name)).collect();
    let exposure = match condition {
        Some(condition) => Exposure::from_condition(Some(condition)),
        None => Exposure::worst(updates.iter().map(|update| update.effect.exposure)),
    };
    ExplainedRisk {
        name: name.to_owned(),
        sources: sources_of(name, &published, input.version, input.components),
        definitions: definitions(&with_risk, definition, name, input, now),
        exposure,
        applies_condition: condition.map(|condition| ReportedCondition::of(condition, now)),
        updates,
        acceptance: acceptance(name, input.version, now),
    }
}

/// Distinct definitions of a risk. The ledger's own definition counts only if no update has one.
fn definitions(
    with_risk: &[&ConditionalUpdate],
    definition: Option<&ConditionalUpdateRisk>,
    name: &str,
    input: &ExplainInput,
    now: Timestamp,
) -> Vec<Definition> {
    let mut definitions: Vec<Definition> = Vec::new();
    let of = |risk: &ConditionalUpdateRisk| Definition {
        message: risk.message.clone(),
        url: risk.url.clone(),
        rules: rule::all(&risk.matching_rules, input.evaluations, now),
        updates: Vec::new(),
        hash: definition_hash(risk),
    };
    for update in with_risk {
        let Some(risk) = listed::risk(update, name).or(definition) else { continue };
        let (hash, version) = (definition_hash(risk), update.release.version.clone());
        match definitions.iter_mut().find(|known| known.hash == hash) {
            Some(same) => same.updates.push(version),
            None => definitions.push(Definition { updates: vec![version], ..of(risk) }),
        }
    }
    if definitions.is_empty() {
        definitions.extend(definition.map(of));
    }
    definitions
}

/// Acceptance of a risk, with its terms.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Accepted {
    /// Whether `spec.desiredUpdate.acceptRisks` has the risk.
    pub listed: bool,
    /// Whether the acceptance is valid: not expired, and with valid terms.
    pub effective: bool,
    /// Whether the definition of the risk has changed since the acceptance.
    pub changed: bool,
    /// Terms of the acceptance.
    #[serde(flatten)]
    pub terms: AcceptanceTerms,
    /// Digest of the current definition; `definition` is the accepted one.
    pub current_definition: Option<String>,
    /// Why the terms are invalid.
    pub problem: Option<String>,
    /// State of the acceptance, for the text output.
    #[serde(skip)]
    pub acceptance_state: AcceptanceState,
}

/// Acceptance of a risk for any version.
fn acceptance(name: &str, version: &ClusterVersion, now: Timestamp) -> Accepted {
    let acceptance = Acceptance::from_cluster_version(version);
    let definition_now = ListedUpdates::of(version).definition(name).map(definition_hash);
    let hash = definition_now.as_deref().unwrap_or_default();
    let acceptance_state = acceptance.state(name, "", hash, now);
    let terms = acceptance.terms(name).cloned().unwrap_or_default();
    let is_another = |then: &String| definition_now.as_ref().is_some_and(|now| now != then);
    Accepted {
        listed: acceptance_state != AcceptanceState::NotAccepted,
        effective: acceptance_state.is_accepted()
            || matches!(acceptance_state, AcceptanceState::OutOfScope(_)),
        changed: terms.definition.as_ref().is_some_and(is_another),
        problem: match &acceptance_state {
            AcceptanceState::TermsUnreadable(why) => Some(why.clone()),
            _ => None,
        },
        terms,
        current_definition: definition_now,
        acceptance_state,
    }
}

/// Publishers of a risk with these definitions.
///
/// ClusterVersion does not name them: the sources in the cluster are evaluated again, and names and
/// reasons identify the others.
pub(super) fn sources_of(
    name: &str,
    risks: &[&ConditionalUpdateRisk],
    version: &ClusterVersion,
    components: &[ClusterOperator],
) -> Vec<RiskSource> {
    let mut found: BTreeSet<RiskSource> = sources_in_cluster(name, version, components).collect();
    let applies = risks.iter().map(|risk| risk.conditions.find(applies::TYPE));
    found.extend(applies.filter_map(publisher));
    if found.is_empty() {
        found.extend(sources::source_of(name));
    }
    let has_query = |risk: &&ConditionalUpdateRisk| {
        risk.matching_rules.iter().any(|rule| rule.promql.is_some())
    };
    let is_published = !risks.is_empty();
    if is_published && (found.is_empty() || risks.iter().any(has_query)) {
        found.insert(RiskSource::Graph);
    }
    found.into_iter().collect()
}

/// Sources in the cluster that publish a risk of that name.
fn sources_in_cluster(
    name: &str,
    version: &ClusterVersion,
    components: &[ClusterOperator],
) -> impl Iterator<Item = RiskSource> {
    let conditions = version.status.as_ref().map_or(&[][..], |status| &status.conditions);
    let concerns = sources::cluster_operators(components)
        .into_iter()
        .chain(sources::overrides(&version.spec.overrides))
        .chain(sources::updating(conditions));
    concerns.filter(move |concern| concern.risk.name == name).map(|concern| concern.source)
}
