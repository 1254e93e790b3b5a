//! Explanations as administrators read them.

mod rules;
mod update;

use std::fmt;

use fairway_insight::explain::{
    Accepted, ConcernedUpdate, Definition, Explained, ExplainedRisk, ReportedCondition,
};
use fairway_insight::{Explanation, Exposure, Word};
use fairway_risk::{Source, Standing};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::report::text::{Afterwards, Age};
use super::super::terms::AfterName;
use crate::foreign_text::{OneLine, lines};
use rules::Rules;

/// Explanation with its text output.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct Shown<'a> {
    pub(super) explanation: &'a Explanation,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.explanation.subject {
            Explained::Risk(risk) => self.write_risk(f, risk),
            Explained::Update(update) => update::write(f, update, self.explanation),
        }
    }
}

impl Shown<'_> {
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
        // What others publish has no rules of its own: they say that it is so.
        if risk.sources.contains(&Source::Graph) {
            let notes = &self.explanation.evaluations;
            write!(f, "{}", Rules { rules: &definition.rules, notes })?;
        }
        Ok(())
    }
}

/// Whether a risk concerns this cluster.
fn exposure(exposure: Exposure) -> &'static str {
    match exposure {
        Exposure::Exposed => "applies to this cluster",
        Exposure::NotExposed => "does not apply to this cluster",
        Exposure::Unknown => "may apply to this cluster",
        Exposure::NotReported => "exposure not reported by the operator",
    }
}

fn write_since(f: &mut fmt::Formatter<'_>, condition: &ReportedCondition) -> fmt::Result {
    match condition.age_seconds {
        Some(age) => write!(f, ", since {} ({})", Age(age), OneLine(&condition.reason)),
        None => write!(f, " ({})", OneLine(&condition.reason)),
    }
}

/// Each line of a text on a line of its own.
fn write_indented(f: &mut fmt::Formatter<'_>, text: &str, indent: &str) -> fmt::Result {
    for line in lines(text) {
        let line = line.to_string();
        if line.is_empty() { f.write_str("\n")? } else { write!(f, "\n{indent}{line}")? }
    }
    Ok(())
}

/// Who publishes a risk.
struct Sources<'a>(&'a [Source]);

impl fmt::Display for Sources<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        write!(f, "{}", OneLine(&all.join(", ")))
    }
}

fn write_updates(f: &mut fmt::Formatter<'_>, updates: &[ConcernedUpdate]) -> fmt::Result {
    if updates.is_empty() {
        return f.write_str("\n\nNo available update has this risk.");
    }
    f.write_str("\n\nAffected updates:")?;
    let width = updates.iter().map(|update| update.version.len()).max().unwrap_or_default();
    for update in updates {
        let version = OneLine(&update.version).to_string();
        let recommended = OneLine(&update.recommended);
        let against = if update.meaning.blocking { ", because of this risk" } else { "" };
        let accepted = Afterwards(&update.meaning.standing);
        write!(f, "\n  {version:width$}  Recommended={recommended}{against}{accepted}")?;
    }
    Ok(())
}

fn write_acceptance(f: &mut fmt::Formatter<'_>, name: &str, accepted: &Accepted) -> fmt::Result {
    if !accepted.listed {
        let name = Word(name).to_string();
        let name = OneLine(&name);
        return write!(f, "\n\nNot accepted. To accept it, run `fairway upgrade accept {name}`.");
    }
    write!(f, "\n\nAccepted{}", AfterName(&accepted.terms))?;
    match &accepted.standing {
        Standing::Expired(_) => {
            f.write_str("\n  The acceptance has expired.")?;
        }
        Standing::TermsUnreadable(why) => {
            write!(
                f,
                "\n  The acceptance has no effect, its terms are invalid: {}.",
                OneLine(why)
            )?;
        }
        Standing::NotAccepted | Standing::Accepted { .. } | Standing::OutOfScope(_) => {}
    }
    if accepted.changed {
        f.write_str("\n  The risk has changed since it was accepted.")?;
    }
    Ok(())
}
