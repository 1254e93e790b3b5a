//! Text of the explanation of a risk.

use std::fmt;

use fairway_insight::explain::{
    Accepted, AffectedUpdate, Definition, EvaluationAvailability, Explained, ExplainedRisk,
    ReportedCondition, Rule, RuleEvaluation,
};
use fairway_insight::{Explanation, Exposure, ShellWord};
use fairway_risk::evaluations::EvaluationOutcome;
use fairway_risk::{AcceptanceState, RiskSource};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::acceptance::TermsSuffix;
use super::super::report::text::{AcceptanceSuffix, Age};
use super::update_text;
use crate::foreign_text::{OneLine, lines};

/// Explanation of a risk or an update.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct ExplanationText<'a> {
    pub(super) explanation: &'a Explanation,
}

impl fmt::Display for ExplanationText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.explanation.subject {
            Explained::Risk(risk) => self.write_risk(f, risk),
            Explained::Update(update) => update_text::write(f, update, self.explanation),
        }
    }
}

impl ExplanationText<'_> {
    fn write_risk(&self, f: &mut fmt::Formatter<'_>, risk: &ExplainedRisk) -> fmt::Result {
        write!(f, "{}: {}", OneLine(&risk.name), exposure(risk.exposure))?;
        if let Some(applies) = &risk.applies_condition {
            write_since(f, applies)?;
            write_indented(f, &applies.message, "  ")?;
        }
        if !risk.sources.is_empty() {
            write!(f, "\n\nSource: {}", Sources(&risk.sources))?;
        }
        for definition in &risk.definitions {
            self.write_definition(f, risk, definition)?;
        }
        write_updates(f, &risk.updates)?;
        write_acceptance(f, &risk.name, &risk.acceptance)
    }

    fn write_definition(
        &self,
        f: &mut fmt::Formatter<'_>,
        risk: &ExplainedRisk,
        definition: &Definition,
    ) -> fmt::Result {
        match &risk.definitions[..] {
            [_] => f.write_str("\n\nDescription:")?,
            _ => write!(f, "\n\nDescription for {}:", OneLine(&definition.updates.join(", ")))?,
        }
        write_indented(f, &definition.message, "  ")?;
        write!(f, "\n  {}", OneLine(&definition.url))?;
        // Only risks of the update service have rules.
        if risk.sources.contains(&RiskSource::Graph) {
            let evaluations = &self.explanation.evaluations;
            write!(f, "{}", Rules { rules: &definition.rules, evaluations })?;
        }
        Ok(())
    }
}

/// Text of an exposure.
pub(super) fn exposure(exposure: Exposure) -> &'static str {
    match exposure {
        Exposure::Exposed => "applies to this cluster",
        Exposure::NotExposed => "does not apply to this cluster",
        Exposure::Unknown => "may apply to this cluster",
        Exposure::NotReported | Exposure::NotEvaluated => "exposure not reported by the operator",
    }
}

fn write_since(f: &mut fmt::Formatter<'_>, condition: &ReportedCondition) -> fmt::Result {
    match condition.age_seconds {
        Some(age) => write!(f, ", since {} ({})", Age(age), OneLine(&condition.reason)),
        None => write!(f, " ({})", OneLine(&condition.reason)),
    }
}

/// Writes each line of a text on its own line.
pub(super) fn write_indented(f: &mut fmt::Formatter<'_>, text: &str, indent: &str) -> fmt::Result {
    for line in lines(text) {
        let line = line.to_string();
        if line.is_empty() { f.write_str("\n")? } else { write!(f, "\n{indent}{line}")? }
    }
    Ok(())
}

/// Publishers of a risk.
pub(super) struct Sources<'a>(pub(super) &'a [RiskSource]);

impl fmt::Display for Sources<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        write!(f, "{}", OneLine(&all.join(", ")))
    }
}

fn write_updates(f: &mut fmt::Formatter<'_>, updates: &[AffectedUpdate]) -> fmt::Result {
    if updates.is_empty() {
        return f.write_str("\n\nNo available update has this risk.");
    }
    f.write_str("\n\nAffected updates:")?;
    let width = updates.iter().map(|update| update.version.len()).max().unwrap_or_default();
    for update in updates {
        let version = OneLine(&update.version).to_string();
        let recommended = OneLine(&update.recommended);
        let against = if update.effect.blocking { ", because of this risk" } else { "" };
        let accepted = AcceptanceSuffix(&update.effect.acceptance_state);
        write!(f, "\n  {version:width$}  Recommended={recommended}{against}{accepted}")?;
    }
    Ok(())
}

fn write_acceptance(f: &mut fmt::Formatter<'_>, name: &str, accepted: &Accepted) -> fmt::Result {
    if !accepted.listed {
        let name = ShellWord(name).to_string();
        let name = OneLine(&name);
        return write!(f, "\n\nNot accepted. To accept it, run `fairway upgrade accept {name}`.");
    }
    write!(f, "\n\nAccepted{}", TermsSuffix(&accepted.terms))?;
    match &accepted.acceptance_state {
        AcceptanceState::Expired(_) => {
            f.write_str("\n  The acceptance has expired.")?;
        }
        AcceptanceState::TermsUnreadable(why) => {
            write!(
                f,
                "\n  The acceptance has no effect, its terms are invalid: {}.",
                OneLine(why)
            )?;
        }
        AcceptanceState::NotAccepted
        | AcceptanceState::Accepted { .. }
        | AcceptanceState::OutOfScope(_) => {}
    }
    if accepted.changed {
        f.write_str("\n  The risk has changed since it was accepted.")?;
    }
    Ok(())
}

/// Text of the rules of a risk.
struct Rules<'a> {
    rules: &'a [Rule],
    evaluations: &'a EvaluationAvailability,
}

impl fmt::Display for Rules<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rules {
            [] => return f.write_str("\n\nThe risk has no rules, so it applies to every cluster."),
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
                self.write_evaluation(f, rule.evaluation.as_ref())
            }
            (None, "Always") => write!(f, ": applies to every cluster{sign}"),
            (None, _) => f.write_str(": unknown rule type, skipped"),
        }
    }

    fn write_evaluation(
        &self,
        f: &mut fmt::Formatter<'_>,
        evaluation: Option<&RuleEvaluation>,
    ) -> fmt::Result {
        match (evaluation, &self.evaluations.message) {
            (Some(evaluation), _) => write!(f, "{}", EvaluationText(evaluation)),
            (None, Some(why)) => write!(f, "\n     Results are unavailable: {}.", OneLine(why)),
            (None, None) if self.evaluations.omitted > 0 => f.write_str(
                "\n     The result is not stored: the number of stored results is limited.",
            ),
            (None, None) => f.write_str("\n     Not evaluated yet."),
        }
    }
}

/// Result of a rule evaluation.
struct EvaluationText<'a>(&'a RuleEvaluation);

impl fmt::Display for EvaluationText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let evaluation = self.0;
        let age = Age(evaluation.age_seconds);
        match &evaluation.conclusion {
            EvaluationOutcome::Matches => {
                write!(f, "\n     This cluster is exposed: evaluated {age} ago")?;
            }
            EvaluationOutcome::DoesNotMatch => {
                write!(f, "\n     This cluster is not exposed: evaluated {age} ago")?;
            }
            EvaluationOutcome::Failed(why) => write!(
                f,
                "\n     No result for {age}: {}. The operator retries with a backoff of up to 10 \
                 minutes.",
                OneLine(why)
            )?,
        }
        self.write_next(f)?;
        for sample in &evaluation.samples {
            write!(f, "\n       {}", OneLine(&sample.to_string()))?;
        }
        match evaluation.series_count.saturating_sub(evaluation.samples.len()) {
            0 => Ok(()),
            more => write!(f, "\n       and {more} more"),
        }
    }
}

impl EvaluationText<'_> {
    fn write_next(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.next_evaluation_seconds {
            None => Ok(()),
            Some(left) if self.0.overdue => write!(
                f,
                "; the next evaluation has been overdue for {}: check that the operator is running",
                Age(-left)
            ),
            Some(left) if left <= 0 => f.write_str(", next evaluation now"),
            Some(left) => write!(f, ", next evaluation in {}", Age(left)),
        }
    }
}
