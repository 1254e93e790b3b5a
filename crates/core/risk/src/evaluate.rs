//! Evaluation of the ledger: the recommended updates of this cluster.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use fairway_api::cluster_version::{ConditionalUpdate, ConditionalUpdateRisk, Release};
use fairway_api::condition::wire_time;
use fairway_api::reason::{self, applies};
use fairway_api::{ClusterVersionStatus, Condition, Conditions as _, OperatorCondition};
use jiff::Timestamp;

use crate::acceptance::{Acceptance, AcceptanceState};
use crate::definition::{RiskDefinition, definition_hash, published};
use crate::ledger::{Ledger, LedgerEntry};
use crate::query_policy::QueryPolicy;
use crate::query_result::QueryOutcomes;
use crate::rules::{self, QueryContext, RuleResult};
use crate::status_limits::{self, EvaluatedUpdate, OmittedUpdate};
use crate::upgradeable;
use crate::verdict::{RiskExposure, UpdateVerdict};

/// Input of an evaluation.
#[derive(Clone, Copy, Debug)]
pub struct EvaluationInput<'a> {
    /// Outcomes of queries so far.
    pub outcomes: &'a QueryOutcomes,
    /// Policy for queries.
    pub policy: &'a QueryPolicy,
    /// Accepted risks.
    pub acceptance: &'a Acceptance,
    /// Previous evaluation, for transition times.
    pub previous: &'a PreviousEvaluation,
    /// Current time.
    pub now: Timestamp,
}

/// Previous evaluation: of this operator, or from the status that another operator wrote.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PreviousEvaluation {
    /// Updates with risks.
    pub conditional_updates: Vec<ConditionalUpdate>,
    /// Risks of the updates.
    pub conditional_update_risks: Vec<ConditionalUpdateRisk>,
    /// Condition `Upgradeable`.
    pub upgradeable: Option<OperatorCondition>,
}

/// Update-related parts of a ClusterVersion status. The API can store all of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LedgerEvaluation {
    /// Recommended updates, latest version first.
    pub available_updates: Vec<Release>,
    /// Updates with risks, latest version first.
    pub conditional_updates: Vec<ConditionalUpdate>,
    /// Risks of these updates, by name.
    pub conditional_update_risks: Vec<ConditionalUpdateRisk>,
    /// Condition `Upgradeable`; `None` if no risk blocks later minor versions.
    pub upgradeable: Option<OperatorCondition>,
    /// Queries that the evaluation depends on, for the scheduler. Those of the latest version come
    /// first.
    pub wanted_queries: Vec<String>,
    /// Updates that do not fit into the status.
    pub withheld: Vec<OmittedUpdate>,
}

impl From<&ClusterVersionStatus> for PreviousEvaluation {
    fn from(status: &ClusterVersionStatus) -> Self {
        Self {
            conditional_updates: status.conditional_updates.clone(),
            conditional_update_risks: status.conditional_update_risks.clone(),
            upgradeable: status.conditions.find(reason::upgradeable::TYPE).cloned(),
        }
    }
}

impl From<&LedgerEvaluation> for PreviousEvaluation {
    fn from(evaluated: &LedgerEvaluation) -> Self {
        Self {
            conditional_updates: evaluated.conditional_updates.clone(),
            conditional_update_risks: evaluated.conditional_update_risks.clone(),
            upgradeable: evaluated.upgradeable.clone(),
        }
    }
}

impl Ledger {
    /// Evaluates all risks, and returns the recommended updates of this cluster.
    pub fn evaluate(&self, input: EvaluationInput) -> LedgerEvaluation {
        let context = EvaluationContext::new(self, input);
        let risks = context.risks();
        let updates =
            self.offers.iter().map(|offer| context.evaluated_update(&offer.release)).collect();
        let (updates, withheld) =
            status_limits::limit(updates, |name| risks.get(name).map_or(0, status_limits::size));
        let shown: BTreeSet<&str> = updates.iter().flat_map(EvaluatedUpdate::risk_names).collect();
        let recommended = updates.iter().filter(|update| update.recommended);
        LedgerEvaluation {
            available_updates: recommended.map(|update| update.release.clone()).collect(),
            conditional_update_risks: shown
                .iter()
                .filter_map(|name| risks.get(name))
                .cloned()
                .collect(),
            conditional_updates: updates
                .into_iter()
                .filter_map(|update| update.conditional)
                .collect(),
            upgradeable: upgradeable::condition(&context, &risks),
            wanted_queries: context.wanted_queries(),
            withheld: self.withheld.iter().cloned().chain(withheld).collect(),
        }
    }

    /// Evaluates one update, which need not be offered.
    pub fn verdict(&self, release: &Release, input: EvaluationInput) -> UpdateVerdict {
        EvaluationContext::new(self, input).verdict(release)
    }
}

/// A ledger with the results of all its entries.
pub(crate) struct EvaluationContext<'a> {
    pub(crate) ledger: &'a Ledger,
    pub(crate) input: EvaluationInput<'a>,
    /// One result for each entry.
    results: Vec<RuleResult>,
    /// Risks in the API with their definition hashes, by name.
    published: BTreeMap<&'a str, (ConditionalUpdateRisk, String)>,
}

/// The definitions with one name and their results.
type DefinitionGroup<'a> = Vec<(&'a RiskDefinition, &'a RuleResult)>;

impl<'a> EvaluationContext<'a> {
    pub(crate) fn new(ledger: &'a Ledger, input: EvaluationInput<'a>) -> Self {
        let queries = queries(&input);
        let evaluate = |entry: &LedgerEntry| rules::evaluate(&entry.definition, queries);
        let with_hash = |(name, risk)| {
            let hash = definition_hash(&risk);
            (name, (risk, hash))
        };
        let mut context = Self {
            ledger,
            input,
            results: ledger.entries.iter().map(evaluate).collect(),
            published: ledger.published().into_iter().map(with_hash).collect(),
        };
        context.keep_previous_results();
        context
    }

    /// Evaluates an update.
    pub(crate) fn verdict(&self, release: &Release) -> UpdateVerdict {
        self.verdict_of(release, &self.groups_by_name(&self.ledger.affecting(release)))
    }

    /// The status entries of an offered update.
    pub(crate) fn evaluated_update(&self, release: &Release) -> EvaluatedUpdate {
        let groups = self.groups_by_name(&self.ledger.affecting(release));
        let verdict = self.verdict_of(release, &groups);
        EvaluatedUpdate {
            recommended: verdict.is_recommended(),
            conditional: (!groups.is_empty()).then(|| self.conditional_update(&verdict, &groups)),
            release: verdict.release,
        }
    }

    /// All risks with the condition `Applies`, by name.
    pub(crate) fn risks(&self) -> BTreeMap<&'a str, ConditionalUpdateRisk> {
        let all: Vec<usize> = (0..self.results.len()).collect();
        let mut risks = BTreeMap::new();
        for group in self.groups_by_name(&all) {
            let mut exposure = RiskExposure::new(&group, AcceptanceState::NotAccepted);
            let Some((name, (risk, hash))) = self.published.get_key_value(exposure.name.as_str())
            else {
                continue;
            };
            if self.input.acceptance.changed_since_acceptance(name, hash) {
                exposure
                    .message
                    .push_str(" The content of the risk has changed since it was accepted.");
            }
            let mut previous = self.input.previous.conditional_update_risks.iter();
            let previous = previous.find(|previous| previous.name == *name);
            risks.insert(*name, self.with_applies(risk.clone(), &exposure, previous));
        }
        risks
    }

    /// The queries that the recommendations depend on, those of the latest version first.
    pub(crate) fn wanted_queries(&self) -> Vec<String> {
        let offers = &self.ledger.offers;
        let indexes = offers.iter().flat_map(|offer| self.ledger.affecting(&offer.release));
        let mut visited = HashSet::new();
        let indexes = indexes.filter(|index| visited.insert(*index));
        let queries = queries(&self.input);
        let wanted_queries = indexes.flat_map(|index| {
            rules::wanted_queries(&self.ledger.entries[index].definition, queries)
        });
        let mut seen = HashSet::new();
        wanted_queries.filter(|query| seen.insert(*query)).map(str::to_owned).collect()
    }

    /// Groups entries by name. `indexes` must be sorted.
    fn groups_by_name(&self, indexes: &[usize]) -> Vec<DefinitionGroup<'_>> {
        let definition = |index: usize| &self.ledger.entries[index].definition;
        let pair = |index: &usize| (definition(*index), &self.results[*index]);
        indexes
            .chunk_by(|one, other| definition(*one).name == definition(*other).name)
            .map(|indexes| indexes.iter().map(pair).collect())
            .collect()
    }

    /// Keeps the previous status of a risk until its query is evaluated for the first time.
    /// Otherwise every restart of the operator would withdraw recommendations for a while. This
    /// requires the same definition, and no other definition with the same name, because their
    /// queries cannot be distinguished in the status.
    fn keep_previous_results(&mut self) {
        let previous = &self.input.previous.conditional_update_risks;
        let previous: BTreeMap<&str, &ConditionalUpdateRisk> =
            previous.iter().map(|risk| (risk.name.as_str(), risk)).collect();
        for (index, result) in self.results.iter_mut().enumerate() {
            let Some(entry) = self.ledger.only_entry_with_its_name(index) else { continue };
            let name = entry.definition.name.as_str();
            let (Some(previous), Some((_, hash))) = (previous.get(name), self.published.get(name))
            else {
                continue;
            };
            if result.is_pending && definition_hash(previous) == *hash {
                result.keep_previous(previous.conditions.find(applies::TYPE));
            }
        }
    }

    fn verdict_of(&self, release: &Release, groups: &[DefinitionGroup]) -> UpdateVerdict {
        let exposures = groups.iter().map(|group| {
            let name = group.first().map_or("", |(definition, _)| &definition.name);
            let hash = self.published.get(name).map_or("", |(_, hash)| hash);
            let EvaluationInput { acceptance, now, .. } = self.input;
            RiskExposure::new(group, acceptance.state(name, &release.version, hash, now))
        });
        UpdateVerdict { exposures: exposures.collect(), release: release.clone() }
    }

    fn conditional_update(
        &self,
        verdict: &UpdateVerdict,
        groups: &[DefinitionGroup],
    ) -> ConditionalUpdate {
        let UpdateVerdict { release, exposures } = verdict;
        let mut previous = self.input.previous.conditional_updates.iter();
        let previous = previous.find(|previous| previous.release.image == release.image);
        let risks = exposures.iter().zip(groups).map(|(exposure, group)| {
            let definitions: Vec<&RiskDefinition> = group.iter().map(|(one, _)| *one).collect();
            let mut previous = previous.iter().flat_map(|previous| &previous.risks);
            let previous = previous.find(|previous| previous.name == exposure.name);
            self.with_applies(published(&definitions), exposure, previous)
        });
        let conditions = previous.map_or(&[][..], |previous| &previous.conditions);
        ConditionalUpdate {
            release: release.clone(),
            risk_names: exposures.iter().map(|exposure| exposure.name.clone()).collect(),
            risks: risks.collect(),
            conditions: vec![
                with_transition_time(verdict.evaluating(), conditions, self.input.now),
                with_transition_time(verdict.recommended(), conditions, self.input.now),
            ],
            ..ConditionalUpdate::default()
        }
    }

    fn with_applies(
        &self,
        mut risk: ConditionalUpdateRisk,
        exposure: &RiskExposure,
        previous: Option<&ConditionalUpdateRisk>,
    ) -> ConditionalUpdateRisk {
        let RiskExposure { status, reason, message, since, .. } = exposure;
        let condition = Condition::new(applies::TYPE, status.clone(), reason, message);
        let start = since.map_or(self.input.now, |since| since.min(self.input.now));
        let previous = previous.map_or(&[][..], |previous| &previous.conditions);
        risk.conditions = vec![with_transition_time(condition, previous, start)];
        risk
    }
}

fn queries<'a>(input: &EvaluationInput<'a>) -> QueryContext<'a> {
    QueryContext { outcomes: input.outcomes, policy: input.policy }
}

/// Sets the transition time: that of the previous condition if the status is the same.
fn with_transition_time(
    mut condition: Condition,
    previous: &[Condition],
    start: Timestamp,
) -> Condition {
    let previous = previous.iter().find(|previous| previous.type_ == condition.type_);
    let since = previous
        .filter(|previous| previous.status == condition.status)
        .and_then(|previous| previous.last_transition_time.clone());
    condition.last_transition_time = Some(since.unwrap_or_else(|| wire_time(start)));
    condition
}
