//! The rules of a risk, and what came of asking them.

use fairway_api::cluster_version::{MatchingRule, MatchingRuleType};
use fairway_risk::Sample;
use fairway_risk::evaluations::{Conclusion, Evaluation};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::Notes;

/// For so long after its time nobody wonders that a query was not asked: a round takes a while.
const TOLERANCE: SignedDuration = SignedDuration::from_mins(10);

/// One way to find out whether a risk concerns a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// `Always`, `PromQL`, or something that nobody here knows.
    #[serde(rename = "type")]
    pub type_: String,
    /// The query that tells.
    pub promql: Option<String>,
    /// Whether it is the rule that decides: the first that can be evaluated.
    pub decides: bool,
    /// What came of the query.
    pub answer: Option<AnswerToQuery>,
}

/// What came of a query.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnswerToQuery {
    /// What it means.
    #[serde(flatten)]
    pub conclusion: Conclusion,
    /// When it was answered; of a failure that repeats itself, when it began.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// How long ago that was.
    pub age_seconds: i64,
    /// When it is asked again; none where it failed, for that is tried again soon.
    #[schemars(with = "Option<String>")]
    pub next: Option<Timestamp>,
    /// How long it is until then.
    pub next_in_seconds: Option<i64>,
    /// Whether that time is over, and nobody has asked.
    pub overdue: bool,
    /// How many series the answer has.
    pub series: usize,
    /// The first of them.
    pub samples: Vec<Sample>,
}

impl AnswerToQuery {
    fn of(evaluation: &Evaluation, now: Timestamp) -> Self {
        let Evaluation { conclusion, at, next, series, samples, .. } = evaluation.clone();
        let left = next.map(|next| next.duration_since(now));
        Self {
            conclusion,
            at,
            age_seconds: now.duration_since(at).as_secs(),
            next,
            next_in_seconds: left.map(|left| left.as_secs()),
            overdue: left.is_some_and(|left| left < -TOLERANCE),
            series,
            samples,
        }
    }
}

/// The rules in order, with what came of each.
pub(super) fn all(rules: &[MatchingRule], notes: &Notes, now: Timestamp) -> Vec<Rule> {
    let mut is_open = true;
    let mut explain = |rule: &MatchingRule| {
        let promql = rule.promql.as_ref().map(|promql| promql.promql.clone());
        let answer = promql.as_ref().and_then(|query| notes.evaluations()?.get(query));
        let is_skipped = match (&rule.type_, answer.map(|answer| &answer.conclusion)) {
            (MatchingRuleType::Always, _) => false,
            // Until it is answered, no other rule is looked at.
            (MatchingRuleType::PromQl, answer) => matches!(answer, Some(Conclusion::Failed(_))),
            (MatchingRuleType::Other(_), _) => true,
        };
        let decides = is_open && !is_skipped;
        is_open &= is_skipped;
        Rule {
            type_: rule.type_.to_string(),
            promql,
            decides,
            answer: answer.map(|answer| AnswerToQuery::of(answer, now)),
        }
    };
    rules.iter().map(&mut explain).collect()
}
