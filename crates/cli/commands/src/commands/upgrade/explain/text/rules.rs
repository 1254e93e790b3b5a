//! The rules of a risk, and what came of their queries.

use std::fmt;

use fairway_insight::explain::{EvaluationAvailability, Rule, RuleEvaluation};
use fairway_risk::evaluations::Conclusion;

use super::super::super::report::text::Age;
use super::write_indented;
use crate::foreign_text::OneLine;

/// The rules of a risk.
pub(super) struct Rules<'a> {
    pub(super) rules: &'a [Rule],
    pub(super) notes: &'a EvaluationAvailability,
}

impl fmt::Display for Rules<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rules {
            [] => return f.write_str("\n\nIt has no rules, so it applies to every cluster."),
            [_] => f.write_str("\n\nEvaluation:")?,
            _ => f.write_str("\n\nEvaluation (the first rule with a result decides):")?,
        }
        self.rules.iter().enumerate().try_for_each(|(index, rule)| self.write(f, index + 1, rule))
    }
}

impl Rules<'_> {
    fn write(&self, f: &mut fmt::Formatter<'_>, number: usize, rule: &Rule) -> fmt::Result {
        write!(f, "\n  {number}. {}", OneLine(&rule.type_))?;
        let decides = rule.decisive && self.rules.len() > 1;
        let sign = if decides { " (decides)" } else { "" };
        match (&rule.promql, rule.type_.as_str()) {
            (Some(query), _) => {
                f.write_str(sign)?;
                write_indented(f, query, "     ")?;
                self.write_answer(f, rule.evaluation.as_ref())
            }
            (None, "Always") => write!(f, ": applies to every cluster{sign}"),
            (None, _) => f.write_str(": unknown rule type, skipped"),
        }
    }

    fn write_answer(
        &self,
        f: &mut fmt::Formatter<'_>,
        answer: Option<&RuleEvaluation>,
    ) -> fmt::Result {
        match (answer, &self.notes.message) {
            (Some(answer), _) => write!(f, "{}", Answer(answer)),
            (None, Some(why)) => write!(f, "\n     Results are unavailable: {}.", OneLine(why)),
            (None, None) if self.notes.omitted > 0 => f.write_str(
                "\n     The result is not stored: the number of stored results is limited.",
            ),
            (None, None) => f.write_str("\n     Not evaluated yet."),
        }
    }
}

/// What came of a query.
struct Answer<'a>(&'a RuleEvaluation);

impl fmt::Display for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answer = self.0;
        let asked = Age(answer.age_seconds);
        match &answer.conclusion {
            Conclusion::Matches => {
                write!(f, "\n     This cluster is exposed: evaluated {asked} ago")?;
            }
            Conclusion::DoesNotMatch => {
                write!(f, "\n     This cluster is not exposed: evaluated {asked} ago")?;
            }
            Conclusion::Failed(why) => write!(
                f,
                "\n     No result for {asked}: {}. The operator retries with a backoff of up to 10 \
                 minutes.",
                OneLine(why)
            )?,
        }
        self.write_next(f)?;
        for sample in &answer.samples {
            write!(f, "\n       {}", OneLine(&sample.to_string()))?;
        }
        match answer.series_count.saturating_sub(answer.samples.len()) {
            0 => Ok(()),
            more => write!(f, "\n       and {more} more"),
        }
    }
}

impl Answer<'_> {
    fn write_next(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.next_evaluation_seconds {
            None => Ok(()),
            Some(left) if self.0.overdue => write!(
                f,
                "; the next evaluation is overdue since {}: check that the operator is running",
                Age(-left)
            ),
            Some(left) if left <= 0 => f.write_str(", next evaluation now"),
            Some(left) => write!(f, ", next evaluation in {}", Age(left)),
        }
    }
}
