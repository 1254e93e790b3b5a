//! Whether a risk applies: its rules in order, and the first that can be evaluated decides.

use fairway_api::reason::applies;
use fairway_api::{Condition, ConditionStatus};
use jiff::Timestamp;

use crate::answer::{Failure, Outcome, Outcomes};
use crate::definition::{Definition, Rule};
use crate::policy::QueryPolicy;
use crate::text;

/// Whether one definition of a risk applies to this cluster, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) status: ConditionStatus,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) since: Option<Timestamp>,
    /// It is shown, and stands against no update.
    pub(crate) advisory: bool,
    /// A query that has not been answered yet will decide.
    pub(crate) awaited: bool,
}

impl Finding {
    fn new(status: ConditionStatus, reason: impl AsRef<str>, message: impl Into<String>) -> Self {
        let reason = reason.as_ref().to_owned();
        let message = message.into();
        Self { status, reason, message, since: None, advisory: false, awaited: false }
    }

    /// Whether it stands against updates, for those who have not accepted it.
    pub(crate) fn counts(&self) -> bool {
        self.status != ConditionStatus::False && !self.advisory
    }

    /// Takes over what a query said before, where it said something.
    pub(crate) fn continue_as(&mut self, before: Option<&Condition>) {
        let (holds, reason, value) = match before.map(|before| &before.status) {
            Some(ConditionStatus::True) => (true, applies::MATCH, 1),
            Some(ConditionStatus::False) => (false, applies::NOT_MATCH, 0),
            _ => return,
        };
        let message = format!("The last evaluation of the query returned {value}.");
        *self = Self { awaited: true, ..Self::new(holds.into(), reason, message) };
    }
}

/// What is known about queries.
#[derive(Clone, Copy)]
pub(crate) struct Queries<'a> {
    pub(crate) outcomes: &'a Outcomes,
    pub(crate) policy: &'a QueryPolicy,
}

impl Queries<'_> {
    fn may_be_asked(&self, query: &str) -> bool {
        !matches!(self.outcome(query), Err(Failure::Refused(_)))
    }

    fn outcome(&self, query: &str) -> Outcome {
        if let Some(outcome) = self.outcomes.get(query) {
            return outcome.clone();
        }
        self.policy.check(query)?;
        Err(Failure::Pending(None))
    }
}

/// What one rule says.
enum Ruling {
    Matches(&'static str),
    DoesNotMatch(&'static str),
    /// It cannot be evaluated, so the next one is looked at.
    Skipped(String),
    /// It may still decide, so the next one is not looked at.
    Awaited(String),
}

fn apply(rule: &Rule, queries: Queries) -> Ruling {
    let query = match rule {
        Rule::Always => return Ruling::Matches("The risk applies to all clusters."),
        Rule::Unusable(why) => return Ruling::Skipped(why.clone()),
        Rule::PromQl(query) => query,
    };
    match queries.outcome(query) {
        Ok(true) => Ruling::Matches("The query returned 1: the risk applies to this cluster."),
        Ok(false) => {
            Ruling::DoesNotMatch("The query returned 0: the risk does not apply to this cluster.")
        }
        Err(failure @ Failure::Pending(_)) => Ruling::Awaited(failure.to_string()),
        Err(failure) => Ruling::Skipped(failure.to_string()),
    }
}

/// Whether the risk applies. What the source claims stands; else the rules decide.
pub(crate) fn evaluate(definition: &Definition, queries: Queries) -> Finding {
    if let Some(claim) = &definition.claim {
        let finding = Finding::new(claim.status.clone(), &claim.reason, &claim.message);
        return Finding { since: claim.since, advisory: claim.advisory, ..finding };
    }
    if definition.rules.is_empty() {
        let message = "The risk has no rules, so it applies to all clusters.";
        return Finding::new(ConditionStatus::True, applies::MATCH, message);
    }
    let mut undecided = Vec::new();
    let mut awaited = false;
    for (index, rule) in definition.rules.iter().enumerate() {
        let place = |why: String| match definition.rules.len() {
            1 => why,
            _ => format!("rule {}: {why}", index + 1),
        };
        let decided = |status, reason, message: &str| {
            Finding::new(status, reason, with_skipped(message, &undecided))
        };
        match apply(rule, queries) {
            Ruling::Matches(why) => return decided(ConditionStatus::True, applies::MATCH, why),
            Ruling::DoesNotMatch(why) => {
                return decided(ConditionStatus::False, applies::NOT_MATCH, why);
            }
            Ruling::Skipped(why) => undecided.push(place(why)),
            Ruling::Awaited(why) => {
                undecided.push(place(why));
                awaited = true;
                break;
            }
        }
    }
    let message = text::sentence(&undecided.join("; "));
    Finding {
        awaited,
        ..Finding::new(ConditionStatus::Unknown, applies::EVALUATION_FAILED, message)
    }
}

fn with_skipped(message: &str, skipped: &[String]) -> String {
    match skipped {
        [] => message.to_owned(),
        skipped => format!("{message} Skipped: {}.", skipped.join("; ")),
    }
}

/// The queries on which it depends whether the risk applies: those up to the one that decides.
pub(crate) fn wanted<'a>(
    definition: &'a Definition,
    queries: Queries,
) -> impl Iterator<Item = &'a str> {
    let mut decided = definition.claim.is_some();
    definition.rules.iter().filter_map(move |rule| {
        if decided {
            return None;
        }
        let ruling = apply(rule, queries);
        decided = !matches!(ruling, Ruling::Skipped(_));
        match rule {
            Rule::PromQl(query) if queries.may_be_asked(query) => Some(query.as_str()),
            _ => None,
        }
    })
}
