//! Shared helpers.

use std::sync::Arc;

use fairway_api::cluster_version::{
    AcceptRisk, ConditionalUpdate, MatchingRule, MatchingRuleType, PromQl, Release, Update,
};
use fairway_api::{Condition, Conditions as _};
use fairway_risk::{
    Acceptance, AffectedUpdates, CandidateUpdate, EvaluationInput, Ledger, LedgerEvaluation,
    PreviousEvaluation, QueryFailure, QueryOutcome, QueryOutcomes, QueryPolicy, ReportedRisk, Risk,
    RiskSource,
};
use jiff::Timestamp;

/// Version of the cluster.
pub(crate) const CURRENT: &str = "4.6.23";

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_630_112_400 + second).unwrap()
}

pub(crate) fn release(version: &str) -> Release {
    Release {
        version: version.to_owned(),
        image: format!("registry.example/release@sha256:{version}"),
        ..Release::default()
    }
}

pub(crate) fn promql(query: &str) -> MatchingRule {
    let promql = PromQl { promql: query.to_owned(), ..PromQl::default() };
    let type_ = MatchingRuleType::PromQl;
    MatchingRule { type_, promql: Some(promql), ..MatchingRule::default() }
}

pub(crate) fn always() -> MatchingRule {
    MatchingRule { type_: MatchingRuleType::Always, ..MatchingRule::default() }
}

pub(crate) fn rule_with_type(type_: &str) -> MatchingRule {
    MatchingRule { type_: type_.into(), ..MatchingRule::default() }
}

/// A risk with texts derived from its name.
pub(crate) fn risk(name: &str, matching_rules: Vec<MatchingRule>) -> Risk {
    Risk {
        name: name.to_owned(),
        message: format!("{name} goes wrong."),
        url: format!("https://example.com/{name}"),
        matching_rules,
        claim: None,
    }
}

/// A risk with its name as query, so that `outcomes` determines whether it applies.
pub(crate) fn query_risk(name: &str) -> Risk {
    risk(name, vec![promql(name)])
}

pub(crate) fn candidate(version: &str, risks: Vec<Risk>) -> CandidateUpdate {
    CandidateUpdate { release: release(version), risks: risks.into_iter().map(Arc::new).collect() }
}

pub(crate) fn reported_risk(risk: Risk, targets: AffectedUpdates) -> ReportedRisk {
    ReportedRisk { risk, source: RiskSource::Preflight, targets }
}

pub(crate) fn outcomes<const N: usize>(outcomes: [(&str, QueryOutcome); N]) -> QueryOutcomes {
    outcomes.into_iter().map(|(query, outcome)| (query.to_owned(), outcome)).collect()
}

pub(crate) fn failed() -> QueryOutcome {
    Err(QueryFailure::NoSeries)
}

pub(crate) fn accepting(names: &[&str]) -> Acceptance {
    Acceptance::read(Some(&update_accepting(names)), None)
}

pub(crate) fn update_accepting(names: &[&str]) -> Update {
    let accept = |name: &&str| AcceptRisk { name: (*name).to_owned(), ..AcceptRisk::default() };
    Update { accept_risks: names.iter().map(accept).collect(), ..Update::default() }
}

/// Input of an evaluation; the default is empty.
#[derive(Default)]
pub(crate) struct TestInput {
    pub(crate) outcomes: QueryOutcomes,
    pub(crate) policy: QueryPolicy,
    pub(crate) acceptance: Acceptance,
    pub(crate) previous: PreviousEvaluation,
    pub(crate) second: i64,
}

impl TestInput {
    pub(crate) fn with_outcomes<const N: usize>(known: [(&str, QueryOutcome); N]) -> Self {
        Self { outcomes: outcomes(known), ..Self::default() }
    }

    pub(crate) fn accepting(self, names: &[&str]) -> Self {
        Self { acceptance: accepting(names), ..self }
    }

    pub(crate) fn input(&self) -> EvaluationInput<'_> {
        let Self { outcomes, policy, acceptance, previous, second } = self;
        EvaluationInput { outcomes, policy, acceptance, previous, now: at(*second) }
    }

    /// Evaluates a ledger with one update.
    pub(crate) fn evaluate(&self, risks: Vec<Risk>) -> LedgerEvaluation {
        let ledger = Ledger::new(CURRENT, vec![candidate("4.7.4", risks)], vec![]);
        ledger.evaluate(self.input())
    }
}

/// The only update with risks.
pub(crate) fn only(evaluated: &LedgerEvaluation) -> &ConditionalUpdate {
    let [update] = evaluated.conditional_updates.as_slice() else {
        panic!("one update was expected: {evaluated:?}")
    };
    update
}

/// A condition of an update.
pub(crate) fn condition<'a>(update: &'a ConditionalUpdate, type_: &str) -> &'a Condition {
    update.conditions.find(type_).unwrap()
}

pub(crate) fn recommended(evaluated: &LedgerEvaluation) -> &Condition {
    condition(only(evaluated), "Recommended")
}

/// `Type=Status Reason: message`.
pub(crate) fn condition_line(condition: &Condition) -> String {
    let Condition { type_, status, reason, message, .. } = condition;
    format!("{type_}={status} {reason}: {message}")
}
