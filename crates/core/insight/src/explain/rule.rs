//! Rules of a risk and their evaluations.

use fairway_api::cluster_version::{MatchingRule, MatchingRuleType};
use fairway_risk::Sample;
use fairway_risk::evaluations::{self, Evaluation};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::StoredEvaluations;

/// Delay of an evaluation that is usual: a round of evaluations takes time.
const OVERDUE_GRACE_PERIOD: SignedDuration = SignedDuration::from_mins(10);

/// Rule that determines whether a risk applies to a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// `Always`, `PromQL`, or a type that Fairway does not support.
    #[serde(rename = "type")]
    pub type_: String,
    /// PromQL query.
    pub promql: Option<String>,
    /// Whether this is the first rule that can be evaluated, which decides.
    pub decisive: bool,
    /// Latest evaluation.
    pub evaluation: Option<RuleEvaluation>,
}

/// Evaluation of a rule.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleEvaluation {
    /// Outcome of the evaluation.
    #[serde(flatten, with = "EvaluationOutcome")]
    pub conclusion: evaluations::EvaluationOutcome,
    /// Time of the evaluation, or of the first of several identical failures.
    #[schemars(with = "String")]
    pub evaluation_time: Timestamp,
    /// Seconds since `evaluationTime`.
    pub age_seconds: i64,
    /// Time of the next evaluation, `null` after a failure: the operator retries failed evaluations
    /// with a short delay.
    #[schemars(with = "Option<String>")]
    pub next_evaluation_time: Option<Timestamp>,
    /// Seconds until `nextEvaluationTime`.
    pub next_evaluation_seconds: Option<i64>,
    /// Whether `nextEvaluationTime` has passed without an evaluation.
    pub overdue: bool,
    /// Number of series in the query result.
    pub series_count: usize,
    /// First series of the query result.
    pub samples: Vec<Sample>,
}

/// Outcome of an evaluation. [`evaluations::EvaluationOutcome`] is the format of a ConfigMap and has
/// another name for `message`.
#[derive(Serialize, JsonSchema)]
#[serde(
    remote = "evaluations::EvaluationOutcome",
    rename_all = "camelCase",
    tag = "outcome",
    content = "message"
)]
enum EvaluationOutcome {
    /// The risk applies.
    Matches,
    /// The risk does not apply.
    DoesNotMatch,
    /// The evaluation failed with this error.
    Failed(String),
}

impl RuleEvaluation {
    fn of(evaluation: &Evaluation, now: Timestamp) -> Self {
        let Evaluation { conclusion, at, next, series, samples, .. } = evaluation.clone();
        let left = next.map(|next| next.duration_since(now));
        Self {
            conclusion,
            evaluation_time: at,
            age_seconds: now.duration_since(at).as_secs(),
            next_evaluation_time: next,
            next_evaluation_seconds: left.map(|left| left.as_secs()),
            overdue: left.is_some_and(|left| left < -OVERDUE_GRACE_PERIOD),
            series_count: series,
            samples,
        }
    }
}

/// Rules in order, with their evaluations.
pub(super) fn all(
    rules: &[MatchingRule],
    evaluations: &StoredEvaluations,
    now: Timestamp,
) -> Vec<Rule> {
    let mut is_open = true;
    let mut explain = |rule: &MatchingRule| {
        let promql = rule.promql.as_ref().map(|promql| promql.promql.clone());
        let evaluation = promql.as_ref().and_then(|query| evaluations.evaluations()?.get(query));
        let is_skipped = match (&rule.type_, evaluation.map(|it| &it.conclusion)) {
            (MatchingRuleType::Always, _) => false,
            // A query without a result decides: the operator evaluates the next rule only after a
            // failure.
            (MatchingRuleType::PromQl, outcome) => {
                matches!(outcome, Some(evaluations::EvaluationOutcome::Failed(_)))
            }
            (MatchingRuleType::Other(_), _) => true,
        };
        let decisive = is_open && !is_skipped;
        is_open &= is_skipped;
        Rule {
            type_: rule.type_.to_string(),
            promql,
            decisive,
            evaluation: evaluation.map(|evaluation| RuleEvaluation::of(evaluation, now)),
        }
    };
    rules.iter().map(&mut explain).collect()
}
