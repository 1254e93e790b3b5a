//! The risk gate: whether an update to a retrieved release may start.

use std::collections::BTreeSet;

use fairway_api::Version;
use fairway_api::cluster_version::{Release, UpdateHistory};
use fairway_risk::{RiskExposure, UpdateVerdict};
use fairway_risk::{UnacceptedRisks, may_update};
use jiff::{SignedDuration, Timestamp};

use super::accepted_risks::{self, OverriddenRisks};
use super::decision::{self, Decision, ReleaseName};
use super::desired_release::UpdateRequest;
use super::preconditions::{self, CompletedOrigin, PreconditionFailure, UpdateStep};
use crate::settings::{OnUpdate, UnacceptedRiskPolicy};
use crate::stage::preflight::PreflightOutcome;

/// Maximum age of a preflight that allows to skip a minor version: an administrator reviews its
/// result on one day and updates on the next.
const MAX_PREFLIGHT_AGE: SignedDuration = SignedDuration::from_hours(24);

/// An update to a retrieved release, with all that decides whether it may start.
pub(super) struct ProposedUpdate<'a> {
    /// The request.
    pub(super) request: &'a UpdateRequest,
    /// Version of the accepted release.
    pub(super) from: Version,
    /// The newest completed version, if it is another one.
    pub(super) completed: Option<Version>,
    /// Version from which the update service offers updates: that of the operator.
    pub(super) offered_from: Option<Version>,
    /// The requested release, from its own metadata.
    pub(super) release: Release,
    /// Its version.
    pub(super) to: &'a Version,
    /// The release before the accepted one.
    pub(super) previous: Option<&'a UpdateHistory>,
    /// Verdict of the risk ledger.
    pub(super) verdict: UpdateVerdict,
    /// Names of the risks that only the update service and alerts report.
    pub(super) advice: BTreeSet<String>,
    /// Whether the update service offers the update.
    pub(super) offered: bool,
    /// Result of its preflight, if there was one.
    pub(super) preflight: Option<&'a PreflightOutcome>,
    /// Handling of preflight results.
    pub(super) on_update: OnUpdate,
    /// Whether the update graph was retrieved.
    pub(super) is_answered: bool,
    /// Whether `spec.channel` is set.
    pub(super) has_channel: bool,
    /// Error of the signature verification, if the update is forced.
    pub(super) unverified: Option<&'a str>,
    /// Handling of unaccepted risks.
    pub(super) unaccepted: UnacceptedRiskPolicy,
    /// Time of the decision.
    pub(super) now: Timestamp,
}

impl ProposedUpdate<'_> {
    /// Verifies that the release has the requested version.
    pub(super) fn verify_version(&self) -> Result<(), Decision> {
        let is_other = |version: &String| *version != self.release.version;
        if self.request.version.as_ref().is_some_and(is_other) {
            let name = ReleaseName::from(self.request);
            return Err(decision::other_version(&name, &self.release.version));
        }
        Ok(())
    }

    /// Preconditions that fail.
    pub(super) fn failed_preconditions(&self) -> Vec<PreconditionFailure> {
        let Self { from, to, previous, offered, .. } = self;
        let (previous, offered, checked) = (*previous, *offered, self.is_checked());
        let completed = self.completed.as_ref().map(|version| CompletedOrigin {
            version,
            offered: offered && self.offered_from.as_ref() == Some(version),
        });
        preconditions::check(UpdateStep { from, completed, to, previous, offered, checked })
    }

    /// Risks that must be accepted and are not.
    pub(super) fn unaccepted_risks(&self) -> Option<UnacceptedRisks> {
        may_update(&self.binding()).err()
    }

    /// Decides whether the update may start. Returns the text for the history about what it
    /// overrides.
    pub(super) fn check(
        &self,
        failures: &[PreconditionFailure],
        risks: Option<&UnacceptedRisks>,
    ) -> Result<Option<String>, Decision> {
        let is_evaluated = || !self.verdict.unaccepted().any(|risk| risk.awaited);
        let name = ReleaseName { version: Some(&self.release.version), image: &self.request.image };
        match (failures, risks) {
            _ if self.request.forced => {}
            // Also if risks are only recorded: the record must have the results of their rules.
            ([], _) if !self.request.withdrawn && !is_evaluated() => {
                return Err(decision::waiting());
            }
            ([], None) => {}
            ([], Some(risks)) => return Err(decision::unaccepted_risks(risks)),
            (failures, risks) => {
                return Err(decision::preconditions_failed(&name, failures, risks));
            }
        }
        Ok(accepted_risks::text(&OverriddenRisks {
            from: &self.from.to_string(),
            to: &self.release.version,
            verdict: &self.verdict,
            offered: self.offered,
            is_answered: self.is_answered,
            has_channel: self.has_channel,
            on_update: self.on_update,
            forced: failures,
            unaccepted: risks,
            unverified: self.unverified,
        }))
    }

    /// Whether a complete and recent preflight of this release has no unaccepted findings.
    fn is_checked(&self) -> bool {
        let is_accepted = |name: &String| {
            let mut exposures = self.verdict.exposures.iter();
            exposures.any(|risk| risk.name == *name && risk.acceptance_state.is_accepted())
        };
        // An end time in the future has no age: the clock was set back since.
        let recent = SignedDuration::ZERO..=MAX_PREFLIGHT_AGE;
        let is_recent = |left: Timestamp| recent.contains(&self.now.duration_since(left));
        self.preflight.is_some_and(|it| {
            it.complete && it.left.is_none_or(is_recent) && it.findings.iter().all(is_accepted)
        })
    }

    /// The verdict with the risks that must be accepted. A withdrawal needs no acceptance, because
    /// risks are about the update ahead.
    fn binding(&self) -> UpdateVerdict {
        let binds = |risk: &&RiskExposure| match self.unaccepted {
            _ if self.request.withdrawn => false,
            UnacceptedRiskPolicy::Gate => true,
            UnacceptedRiskPolicy::Record => !self.advice.contains(&risk.name),
        };
        let exposures = self.verdict.exposures.iter().filter(binds).cloned().collect();
        UpdateVerdict { release: self.verdict.release.clone(), exposures }
    }
}

#[cfg(test)]
mod tests;
