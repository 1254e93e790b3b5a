//! What was accepted, and what comes of it, for people and for programs.

use std::fmt;

use fairway_risk::Terms;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::terms::AfterName;
use super::effect::{BlockedUpdate, Effect};
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;

/// Changes of the accepted risks, and their effect on updates.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome {
    /// Whether this is a dry run.
    pub(super) dry_run: bool,
    /// Risks that are newly accepted, or accepted with other terms.
    pub(super) accepted: Vec<Accepted>,
    /// Names of risks that are no longer accepted.
    pub(super) removed: Vec<String>,
    /// Names of risks that were already accepted with the same terms.
    pub(super) unchanged: Vec<String>,
    /// Names of all accepted risks: `spec.desiredUpdate.acceptRisks`.
    pub(super) accept_risks: Vec<String>,
    /// Effect on updates.
    #[serde(flatten)]
    pub(super) effect: Effect,
    /// Probable mistakes in the arguments.
    pub(super) warnings: Vec<String>,
}

/// Newly accepted risk.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the JSON field is `previouslyAccepted`")]
pub(super) struct Accepted {
    /// Name of the risk.
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) terms: Terms,
    /// Whether the risk was already accepted with other terms.
    pub(super) previously_accepted: bool,
}

impl Outcome {
    /// How the command ends: whoever accepts risks for an update that waits, and has not known all
    /// of them, is told.
    pub(super) fn exit_status(&self) -> ExitStatus {
        let accepts = !self.accepted.is_empty();
        match &self.effect.blocked_update {
            Some(_) if accepts => ExitStatus::NewRisks,
            _ => ExitStatus::Success,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dry_run {
            f.write_str("Dry run, nothing changed. Without --dry-run:\n\n")?;
        }
        for risk in &self.accepted {
            let how = if risk.previously_accepted { "Accepted with new terms" } else { "Accepted" };
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
        if let Some(version) = &self.unblocked_update {
            writeln!(f, "  the pending update to {} continues", OneLine(version))?;
        }
        if let Some(held) = &self.blocked_update {
            let version = OneLine(&held.version);
            writeln!(f, "  the requested update to {version} still waits for {held}")?;
        }
        for version in &self.newly_recommended {
            writeln!(f, "  {} becomes recommended", OneLine(version))?;
        }
        for held in &self.not_recommended {
            writeln!(f, "  {} is still not recommended because of {held}", OneLine(&held.version))?;
        }
        for held in &self.no_longer_recommended {
            writeln!(f, "  {} is no longer recommended because of {held}", OneLine(&held.version))?;
        }
        writeln!(f)
    }
}

impl fmt::Display for BlockedUpdate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", OneLine(&self.risks.join(", ")))
    }
}
