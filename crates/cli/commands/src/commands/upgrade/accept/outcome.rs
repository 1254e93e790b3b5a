//! What was accepted, and what comes of it, for people and for programs.

use std::fmt;

use fairway_risk::Terms;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::terms::AfterName;
use super::effect::{Effect, Held};
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;

/// What was accepted, and what comes of it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome {
    /// Whether it was only tried.
    pub(super) dry_run: bool,
    /// What is accepted now and was not before, or on other terms.
    pub(super) accepted: Vec<Accepted>,
    /// What is accepted no more.
    pub(super) removed: Vec<String>,
    /// What was accepted on the same terms before.
    pub(super) unchanged: Vec<String>,
    /// All that is accepted now.
    pub(super) accept_risks: Vec<String>,
    /// What it changes for updates.
    #[serde(flatten)]
    pub(super) effect: Effect,
    /// What may not be what was meant.
    pub(super) warnings: Vec<String>,
}

/// A risk that is accepted now.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Accepted {
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) terms: Terms,
    /// Whether it was accepted before, on other terms.
    pub(super) again: bool,
}

impl Outcome {
    /// How the command ends: whoever accepts risks for an update that waits, and has not known all
    /// of them, is told.
    pub(super) fn exit_status(&self) -> ExitStatus {
        let accepts = !self.accepted.is_empty();
        match &self.effect.still_waits {
            Some(_) if accepts => ExitStatus::NewRisks,
            _ => ExitStatus::Yes,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dry_run {
            f.write_str("Dry run, nothing changed. Without --dry-run:\n\n")?;
        }
        for risk in &self.accepted {
            let how = if risk.again { "Accepted with new terms" } else { "Accepted" };
            writeln!(f, "{how}: {}{}", OneLine(&risk.name), AfterName(&risk.terms))?;
        }
        for name in &self.unchanged {
            writeln!(f, "Already accepted: {}", OneLine(name))?;
        }
        for name in &self.removed {
            writeln!(f, "No longer accepted: {}", OneLine(name))?;
        }
        if self.accepted.is_empty() && self.removed.is_empty() {
            writeln!(f, "No change.")?;
        }
        write!(f, "{}", self.effect)?;
        if self.accept_risks.is_empty() {
            f.write_str("No risks are accepted.")
        } else {
            write!(f, "Accepted risks: {}", OneLine(&self.accept_risks.join(", ")))
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::default() {
            return Ok(());
        }
        writeln!(f, "\nAfter the operator has re-evaluated the updates:")?;
        if let Some(version) = &self.goes_on {
            writeln!(f, "  the pending update to {} continues", OneLine(version))?;
        }
        if let Some(held) = &self.still_waits {
            let version = OneLine(&held.version);
            writeln!(f, "  the requested update to {version} still waits for {held}")?;
        }
        for version in &self.become_recommended {
            writeln!(f, "  {} becomes recommended", OneLine(version))?;
        }
        for held in &self.stay_not_recommended {
            writeln!(f, "  {} is still not recommended because of {held}", OneLine(&held.version))?;
        }
        for held in &self.no_longer_recommended {
            writeln!(f, "  {} is no longer recommended because of {held}", OneLine(&held.version))?;
        }
        writeln!(f)
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", OneLine(&self.risks.join(", ")))
    }
}
