//! Evaluation of rules: in order, and the first one that can be evaluated decides.

use fairway_api::reason::applies;
use fairway_api::{Condition, ConditionStatus};
use jiff::Timestamp;

use crate::definition::{RiskDefinition, RiskRule};
use crate::query_policy::QueryPolicy;
use crate::query_result::{QueryFailure, QueryOutcome, QueryOutcomes};
use crate::text;

/// Whether one definition of a risk applies to this cluster, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RuleResult {
    pub(crate) status: ConditionStatus,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) since: Option<Timestamp>,
    /// The risk is informational and blocks no update.
    pub(crate) advisory: bool,
    /// A query that is not evaluated yet will decide.
    pub(crate) is_pending: bool,
}

impl RuleResult {
    fn new(status: ConditionStatus, reason: impl AsRef<str>, message: impl Into<String>) -> Self {
        let reason = reason.as_ref().to_owned();
        let message = message.into();
        Self { status, reason, message, since: None, advisory: false, is_pending: false }
    }

    /// Whether the risk blocks updates unless it is accepted.
    pub(crate) fn blocks_updates(&self) -> bool {
        self.status != ConditionStatus::False && !self.advisory
    }

    /// Takes over the status of the previous evaluation, if it is known.
    pub(crate) fn keep_previous(&mut self, before: Option<&Condition>) {
        let (holds, reason, value) = match before.map(|before| &before.status) {
            Some(ConditionStatus::True) => (true, applies::MATCH, 1),
            Some(ConditionStatus::False) => (false, applies::NOT_MATCH, 0),
            _ => return,
        };
        let message = format!("The last evaluation of the query returned {value}.");
        *self = Self { is_pending: true, ..Self::new(holds.into(), reason, message) };
    }
}

/// Outcomes of queries and the query policy.
#[derive(Clone, Copy)]
pub(crate) struct QueryContext<'a> {
    pub(crate) outcomes: &'a QueryOutcomes,
    pub(crate) policy: &'a QueryPolicy,
}

impl QueryContext<'_> {
    fn is_allowed(&self, query: &str) -> bool {
        !matches!(self.outcome(query), Err(QueryFailure::Refused(_)))
    }

    fn outcome(&self, query: &str) -> QueryOutcome {
        if let Some(outcome) = self.outcomes.get(query) {
            return outcome.clone();
        }
        self.policy.check(query)?;
        Err(QueryFailure::Pending(None))
    }
}

/// Result of one rule.
enum RuleDecision {
    Matches(&'static str),
    DoesNotMatch(&'static str),
    /// The rule cannot be evaluated; the next one is tried.
    Skipped(String),
    /// The rule may still decide; the next one is not tried.
    Awaited(String),
}

fn decide(rule: &RiskRule, queries: QueryContext) -> RuleDecision {
    let query = match rule {
        RiskRule::Always => return RuleDecision::Matches("The risk applies to all clusters."),
        RiskRule::Unusable(why) => return RuleDecision::Skipped(why.clone()),
        RiskRule::PromQl(query) => query,
    };
    match queries.outcome(query) {
        Ok(true) => {
            RuleDecision::Matches("The query returned 1: the risk applies to this cluster.")
        }
        Ok(false) => RuleDecision::DoesNotMatch(
            "The query returned 0: the risk does not apply to this cluster.",
        ),
        Err(failure @ QueryFailure::Pending(_)) => RuleDecision::Awaited(failure.to_string()),
        Err(failure) => RuleDecision::Skipped(failure.to_string()),
    }
}

/// Evaluates a risk: the source's assessment decides, otherwise the rules.
pub(crate) fn evaluate(definition: &RiskDefinition, queries: QueryContext) -> RuleResult {
    if let Some(claim) = &definition.claim {
        let result = RuleResult::new(claim.status.clone(), &claim.reason, &claim.message);
        return RuleResult { since: claim.since, advisory: claim.advisory, ..result };
    }
    if definition.rules.is_empty() {
        let message = "The risk has no rules, so it applies to all clusters.";
        return RuleResult::new(ConditionStatus::True, applies::MATCH, message);
    }
    let mut undecided = Vec::new();
    let mut is_pending = false;
    for (index, rule) in definition.rules.iter().enumerate() {
        let describe = |why: String| match definition.rules.len() {
            1 => why,
            _ => format!("rule {}: {why}", index + 1),
        };
        let decided = |status, reason, message: &str| {
            RuleResult::new(status, reason, with_skipped(message, &undecided))
        };
        match decide(rule, queries) {
            RuleDecision::Matches(why) => {
                return decided(ConditionStatus::True, applies::MATCH, why);
            }
            RuleDecision::DoesNotMatch(why) => {
                return decided(ConditionStatus::False, applies::NOT_MATCH, why);
            }
            RuleDecision::Skipped(why) => undecided.push(describe(why)),
            RuleDecision::Awaited(why) => {
                undecided.push(describe(why));
                is_pending = true;
                break;
            }
        }
    }
    let message = text::sentence(&undecided.join("; "));
    RuleResult {
        is_pending,
        ..RuleResult::new(ConditionStatus::Unknown, applies::EVALUATION_FAILED, message)
    }
}

fn with_skipped(message: &str, skipped: &[String]) -> String {
    match skipped {
        [] => message.to_owned(),
        skipped => format!("{message} Skipped: {}.", skipped.join("; ")),
    }
}

/// The queries that determine whether the risk applies: those up to the deciding one.
pub(crate) fn wanted_queries<'a>(
    definition: &'a RiskDefinition,
    queries: QueryContext,
) -> impl Iterator<Item = &'a str> {
    let mut decided = definition.claim.is_some();
    definition.rules.iter().filter_map(move |rule| {
        if decided {
            return None;
        }
        let decision = decide(rule, queries);
        decided = !matches!(decision, RuleDecision::Skipped(_));
        match rule {
            RiskRule::PromQl(query) if queries.is_allowed(query) => Some(query.as_str()),
            _ => None,
        }
    })
}
