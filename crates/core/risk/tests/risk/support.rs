//! What several of these tests need.

use std::sync::Arc;

use fairway_api::cluster_version::{
    AcceptRisk, ConditionalUpdate, MatchingRule, MatchingRuleType, PromQl, Release, Update,
};
use fairway_api::{Condition, Conditions as _};
use fairway_risk::{
    Acceptance, Candidate, Concern, Evaluated, Failure, Ledger, Outcome, Outcomes, Previous,
    QueryPolicy, Risk, Round, Source, Targets,
};
use jiff::Timestamp;

/// The version of the cluster in these tests.
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

pub(crate) fn rule_of(type_: &str) -> MatchingRule {
    MatchingRule { type_: type_.into(), ..MatchingRule::default() }
}

/// A risk with texts made of its name.
pub(crate) fn risk(name: &str, matching_rules: Vec<MatchingRule>) -> Risk {
    Risk {
        name: name.to_owned(),
        message: format!("{name} goes wrong."),
        url: format!("https://example.com/{name}"),
        matching_rules,
        claim: None,
    }
}

/// A risk of which `outcomes` knows whether it applies: its query is its name.
pub(crate) fn queried(name: &str) -> Risk {
    risk(name, vec![promql(name)])
}

pub(crate) fn candidate(version: &str, risks: Vec<Risk>) -> Candidate {
    Candidate { release: release(version), risks: risks.into_iter().map(Arc::new).collect() }
}

pub(crate) fn concern(risk: Risk, targets: Targets) -> Concern {
    Concern { risk, source: Source::Preflight, targets }
}

pub(crate) fn outcomes<const N: usize>(outcomes: [(&str, Outcome); N]) -> Outcomes {
    outcomes.into_iter().map(|(query, outcome)| (query.to_owned(), outcome)).collect()
}

pub(crate) fn failed() -> Outcome {
    Err(Failure::NoSeries)
}

pub(crate) fn accepting(names: &[&str]) -> Acceptance {
    Acceptance::read(Some(&update_accepting(names)), None)
}

pub(crate) fn update_accepting(names: &[&str]) -> Update {
    let accept = |name: &&str| AcceptRisk { name: (*name).to_owned(), ..AcceptRisk::default() };
    Update { accept_risks: names.iter().map(accept).collect(), ..Update::default() }
}

/// Everything that one look at a ledger depends on, with nothing in it.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) outcomes: Outcomes,
    pub(crate) policy: QueryPolicy,
    pub(crate) acceptance: Acceptance,
    pub(crate) previous: Previous,
    pub(crate) second: i64,
}

impl World {
    pub(crate) fn knowing<const N: usize>(known: [(&str, Outcome); N]) -> Self {
        Self { outcomes: outcomes(known), ..Self::default() }
    }

    pub(crate) fn accepting(self, names: &[&str]) -> Self {
        Self { acceptance: accepting(names), ..self }
    }

    pub(crate) fn round(&self) -> Round<'_> {
        let Self { outcomes, policy, acceptance, previous, second } = self;
        Round { outcomes, policy, acceptance, previous, now: at(*second) }
    }

    /// One look at a ledger with one update.
    pub(crate) fn look(&self, risks: Vec<Risk>) -> Evaluated {
        let ledger = Ledger::new(CURRENT, vec![candidate("4.7.4", risks)], vec![]);
        ledger.evaluate(self.round())
    }
}

/// The only update with risks.
pub(crate) fn only(evaluated: &Evaluated) -> &ConditionalUpdate {
    let [update] = evaluated.conditional_updates.as_slice() else {
        panic!("one update was expected: {evaluated:?}")
    };
    update
}

/// A condition of an update.
pub(crate) fn condition<'a>(update: &'a ConditionalUpdate, type_: &str) -> &'a Condition {
    update.conditions.find(type_).unwrap()
}

pub(crate) fn recommended(evaluated: &Evaluated) -> &Condition {
    condition(only(evaluated), "Recommended")
}

/// `Type=Status Reason: message`.
pub(crate) fn line(condition: &Condition) -> String {
    let Condition { type_, status, reason, message, .. } = condition;
    format!("{type_}={status} {reason}: {message}")
}
